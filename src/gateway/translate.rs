//! The body of a run's request comes in; the same goes out, as an agent of another version reads it. For that the body
//! is read whole, within its limit. A body that needs no change goes on as it came, with its content coding.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};

use super::{
    agent::Failure,
    source::{is_coded, undo_coding},
    upload::Upload,
};
use crate::pipeline::input::{self, Between};

/// Reads the body and translates it; `headers` are made to fit what goes out.
///
/// # Errors
///
/// The body did not come whole, is too large once it is decoded, or has a coding that cannot be undone.
pub async fn translated(upload: Upload, headers: &mut HeaderMap, between: &Between) -> Result<Upload, Failure> {
    let (raw, intake) = upload.read().await.map_err(|_| Failure::BodyBroken)?;
    let plain = match headers.get(header::CONTENT_ENCODING).filter(|_| is_coded(headers)) {
        Some(coding) => {
            let plain = decoded(raw.clone(), coding, intake.limit()).await?;
            intake.is_decoded(&plain);
            plain
        }
        None => raw.clone(),
    };
    if !intake.is_run() {
        return Ok(Upload::whole(raw, intake));
    }
    let converted = input::convert(&plain, between);
    intake.is_translated(&converted, between.agent);
    let Some(text) = converted.text else { return Ok(Upload::whole(raw, intake)) };
    headers.remove(header::CONTENT_ENCODING);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(text.len()));
    Ok(Upload::whole(text.into(), intake))
}

/// The body without its content coding, of at most `limit` bytes.
async fn decoded(raw: Bytes, coding: &HeaderValue, limit: u64) -> Result<Bytes, Failure> {
    let mut coded = Response::new(Full::new(raw));
    coded.headers_mut().insert(header::CONTENT_ENCODING, coding.clone());
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
