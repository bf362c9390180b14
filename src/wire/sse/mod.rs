//! Server-sent events: chunks of a body come in and frames go out, frames come in and canonical text goes out.
//! Only `data` counts; what a payload means is not asked here.

mod decode;
mod encode;
mod escape;

pub use decode::{Decoder, Frame, FrameTooLarge};
pub use encode::{Encoder, Escape};

#[cfg(test)]
mod tests;
