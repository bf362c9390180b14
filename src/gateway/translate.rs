//! The body of a run's request comes in; the same goes out, without the tools that a policy denies, and as an agent of
//! another version reads it. For that the body is read whole, within its limit. A body that needs no change goes on as it
//! came, with its content coding.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};

use super::{
    agent::Failure,
    source::{is_coded, undo_coding},
    upload::Upload,
};
use crate::pipeline::{
    input::{self, Between},
    tools,
};

/// For what a body has to be read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Between which versions it is translated, if it is.
    pub between: Option<Between>,
    /// What is taken out of it.
    pub tools: Option<Arc<tools::Policy>>,
    /// It is of a request that asks for something, so that nothing is no input either.
    pub asks: bool,
}

/// Reads the body, filters and translates it; `headers` are made to fit what goes out.
///
/// # Errors
///
/// The body did not come whole, is too large once it is decoded, has a coding that cannot be undone, or cannot be read by
/// the tool policy.
pub async fn translated(upload: Upload, headers: &mut HeaderMap, reading: &Reading) -> Result<Upload, Failure> {
    let (raw, intake) = upload.read().await.map_err(|_| Failure::BodyBroken)?;
    let mut plain = raw.clone();
    if is_coded(headers) {
        plain = decoded(raw.clone(), headers, intake.limit()).await?;
        intake.is_decoded(&plain);
    }
    let mut text = None;
    // Whatever is said of a body: an agent may take for an input what does not look like one.
    if let Some(policy) = reading.tools.as_ref().filter(|_| reading.asks || !plain.is_empty()) {
        let filtered = tools::input::filter(&plain, policy).map_err(|_| Failure::BodyUnreadable)?;
        text = filtered.body.clone();
        intake.is_filtered(filtered);
    }
    if let Some(between) = reading.between.as_ref().filter(|_| intake.is_run()) {
        let converted = input::convert(text.as_deref().unwrap_or(&plain), between);
        intake.is_translated(&converted, between.agent);
        text = converted.text.or(text);
    }
    let Some(text) = text else { return Ok(Upload::whole(raw, intake)) };
    headers.remove(header::CONTENT_ENCODING);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(text.len()));
    Ok(Upload::whole(text.into(), intake))
}

/// Reads a body whose content coding hides it, so that its [`Intake`](super::upload::Intake) knows what is in it. It goes
/// on as it came, also where the coding cannot be undone: nobody needs to know.
///
/// # Errors
///
/// The body did not come whole.
pub async fn looked_into(upload: Upload, headers: &HeaderMap) -> Result<Upload, Failure> {
    let (raw, intake) = upload.read().await.map_err(|_| Failure::BodyBroken)?;
    if let Ok(plain) = decoded(raw.clone(), headers, intake.limit()).await {
        intake.is_decoded(&plain);
    }
    Ok(Upload::whole(raw, intake))
}

/// The body without its content coding, of at most `limit` bytes.
async fn decoded(raw: Bytes, headers: &HeaderMap, limit: u64) -> Result<Bytes, Failure> {
    let mut coded = Response::new(Full::new(raw));
    for coding in headers.get_all(header::CONTENT_ENCODING) {
        coded.headers_mut().append(header::CONTENT_ENCODING, coding.clone());
    }
    let plain = undo_coding(coded).await.ok_or(Failure::BodyCoding)?;
    // A coding that is not known stays.
    if plain.headers().contains_key(header::CONTENT_ENCODING) {
        return Err(Failure::BodyCoding);
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    match Limited::new(plain.into_body(), limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Failure::BodyTooLarge),
        Err(_) => Err(Failure::BodyBroken),
    }
}
