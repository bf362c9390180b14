//! Any body, between any two versions: valid JSON stays valid, once is enough, losses are names, and no body grows by
//! more than a few times its size.
#![no_main]

mod inputs;
mod made;
mod messages;

use std::fmt;

use libfuzzer_sys::{
    arbitrary::{Arbitrary, Result, Unstructured},
    fuzz_target,
};
use serde::de::IgnoredAny;
use tidegate::{
    agui::Version,
    pipeline::input::{Between, Resume, convert, needed},
};

/// Whether this is one JSON object, in its encoding too.
fn is_object(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    std::str::from_utf8(body)
        .is_ok_and(|text| text.trim_ascii_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// A body and between whom it goes.
struct Case {
    between: Between,
    body: Vec<u8>,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        let versions: Vec<_> = Version::all().chain([Version::NEWER]).collect();
        let between = Between {
            client: *made::pick(bytes, &versions),
            agent: *made::pick(bytes, &versions),
            resume: *made::pick(bytes, &[Resume::Native, Resume::ForwardedProps]),
        };
        let kind = made::byte(bytes);
        if kind < 64 {
            return Ok(Self { between, body: bytes.bytes(bytes.len())?.to_vec() });
        }
        let mut text = String::new();
        if kind == 64 {
            text.push('\u{feff}');
        }
        made::value(bytes, &inputs::INPUT, &mut text);
        Ok(Self { between, body: text.into_bytes() })
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#?}\n{}", self.between, String::from_utf8_lossy(&self.body))
    }
}

fuzz_target!(|case: Case| {
    let Case { between, body } = case;
    let converted = convert(&body, &between);

    let is_name = |loss: &&str| loss.len() < 24 && loss.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    assert!(converted.losses.iter().all(is_name) && converted.losses.len() < 24, "{:?}", converted.losses);
    let is_object = is_object(&body);
    let Some(text) = converted.text else {
        assert!(!is_object || converted.losses.is_empty(), "{:?} of nothing", converted.losses);
        return;
    };
    assert!(needed(&between) || converted.client.is_old(), "said to need nothing");
    assert!(text.len() <= 256 + 4 * body.len(), "{} of {}", text.len(), body.len());
    if is_object {
        let shown = String::from_utf8_lossy(&text);
        assert!(self::is_object(&text), "{shown}");
        let again = convert(&text, &Between { client: converted.client, ..between });
        assert!(again.losses.is_empty(), "{:?} of\n{shown}", again.losses);
        assert!(again.text.is_none(), "{}\nof\n{shown}", String::from_utf8_lossy(&again.text.unwrap_or_default()));
    }
});
