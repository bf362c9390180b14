//! What one stream is made of: gathered by the story of its run, and taken apart by the stream. It does nothing itself.

use std::{cell::Cell, rc::Rc};

use crate::{
    agui::{Encoding, Event},
    config::{Budget, Fault},
    gateway::{drain::Drain, socket::Line, source::Source, standing::Standing, tally::Tally, timers::Timers},
    pipeline::{Peers, Pipeline},
    wire::Writer,
};

/// What a stream is made of. Nothing has been read of it yet.
pub struct Parts {
    /// The agent's body.
    pub source: Source,
    /// The endpoint that sends it, to be told of the first event.
    pub standing: Option<Standing>,
    /// Whether the request's body was the input of a run; else the first event decides.
    pub is_run: bool,
    /// The largest event, in bytes.
    pub frame_limit: usize,
    /// What the agent may send.
    pub budget: Budget,
    /// Whether anything is kept from the client.
    pub has_a_policy: bool,
    /// The encoding of the agent's body.
    pub agent_encoding: Encoding,
    /// Learns whether the agent speaks protobuf of 1.0.
    pub speaks_protobuf: Rc<Cell<bool>>,
    /// What becomes of each event.
    pub pipeline: Pipeline,
    /// Whether the agent is read on while the client does not read, for the pipeline to merge what waits.
    pub reads_ahead: bool,
    /// How events are written.
    pub writer: Writer,
    /// What the two ends speak.
    pub peers: Peers,
    /// Whether what a version cannot be shown is told in a comment.
    pub announces: bool,
    /// What the run's input lost on its way to the agent.
    pub input_losses: Vec<&'static str>,
    /// What has to be before a `RUN_ERROR` that comes first, for clients that know none without a run.
    pub started: Option<Event>,
    /// What a stream without a terminal event ends with.
    pub truncated: Fault,
    /// The clocks.
    pub timers: Timers,
    /// What is measured.
    pub tally: Tally,
    /// The client's socket, if it is this stream's alone.
    pub line: Option<Rc<Line>>,
    /// The order to shut down.
    pub drain: Rc<Drain>,
}
