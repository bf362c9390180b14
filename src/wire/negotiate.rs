//! What the client's `accept` says and what route and agent are configured to comes in; what the agent is asked for and
//! what the client gets goes out. One function decides, and one table of tests tells its rules.

use super::media::{self, Accept};
use crate::agui::Encoding;

/// The media type of a protobuf body. To clients exactly this: they compare the whole value.
pub const PROTOBUF: &str = "application/vnd.ag-ui.event+proto";

/// What an agent is asked for that may answer with protobuf: both, for the client can be given either.
const PROTOBUF_OR_SSE: &str = "application/vnd.ag-ui.event+proto, text/event-stream;q=0.5";

impl Encoding {
    /// The encoding of a body with this `content-type`; `None` if it is no stream of events.
    pub fn of(content_type: &[u8]) -> Option<Self> {
        if media::is_event_stream(content_type) {
            Some(Self::Sse)
        } else {
            media::essence(content_type).eq_ignore_ascii_case(PROTOBUF.as_bytes()).then_some(Self::Protobuf)
        }
    }

    /// The media type, as it is sent.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Sse => media::EVENT_STREAM,
            Self::Protobuf => PROTOBUF,
        }
    }
}

/// A configured `encoding`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wanted {
    /// Whatever comes of the rules.
    #[default]
    Auto,
    /// Server-sent events.
    Sse,
    /// Protobuf.
    Protobuf,
}

/// What is known of the two sides before the agent is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sides {
    /// The route's `encoding`.
    pub route: Wanted,
    /// The agent's `encoding`.
    pub agent: Wanted,
    /// Whether the client's version is known to be below 1.0.
    pub client_is_old: bool,
    /// Whether the agent's version is known to be below 1.0.
    pub agent_is_old: bool,
    /// Whether the agent has answered with protobuf before.
    pub agent_speaks_protobuf: bool,
}

/// The client admits neither encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client accepts neither {} nor {PROTOBUF}", media::EVENT_STREAM)]
pub struct NotAcceptable;

/// What was agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The `accept` of the request to the agent.
    pub ask: &'static str,
    client: Wanted,
}

impl Agreed {
    /// What the client gets, now that the agent answers with this encoding.
    pub fn answer(self, agent: Encoding) -> Encoding {
        match self.client {
            Wanted::Auto => agent,
            Wanted::Sse => Encoding::Sse,
            Wanted::Protobuf => Encoding::Protobuf,
        }
    }
}

/// What a client's `accept` says of the two encodings.
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    sse: Accept,
    protobuf: Accept,
}

impl Accepted {
    /// Reads every line of that header.
    pub fn of<'a, L>(lines: L) -> Self
    where
        L: IntoIterator<Item = &'a [u8]>,
        L::IntoIter: Clone,
    {
        let lines = lines.into_iter();
        Self { sse: Accept::of(lines.clone(), media::EVENT_STREAM), protobuf: Accept::of(lines, PROTOBUF) }
    }

    /// Whether the client names one of the two, so that a run is what it wants or refuses.
    pub fn names_one(self) -> bool {
        [self.sse, self.protobuf].iter().any(|accept| matches!(accept, Accept::Named { .. }))
    }
}

/// Decides between the two encodings.
///
/// - The client's: of the types that it names, the one with the higher weight, at equal weights the agent's own. A type
///   that only a wildcard covers, or a client that says nothing, gets SSE as long as that is not refused.
/// - The route's `encoding` stands above that. `sse` is for every client, since each has to read it; `protobuf` is for
///   all who do not rule it out, wildcards and silence included.
/// - A client below 1.0 gets SSE unless the route says `protobuf`.
/// - The agent is asked for SSE, unless its `encoding` says `protobuf`; left alone, one that has spoken protobuf and is
///   not below 1.0 is asked for both once the client names protobuf and may get it.
///
/// # Errors
///
/// [`NotAcceptable`] if the client admits neither of the two, whatever is configured.
pub fn negotiate(accepted: Accepted, sides: Sides) -> Result<Agreed, NotAcceptable> {
    let Accepted { sse, protobuf } = accepted;
    if !sse.admits() && !protobuf.admits() {
        return Err(NotAcceptable);
    }
    let client = match sides.route {
        Wanted::Sse => Wanted::Sse,
        Wanted::Protobuf if protobuf.admits() => Wanted::Protobuf,
        Wanted::Protobuf => Wanted::Sse,
        Wanted::Auto if sides.client_is_old => Wanted::Sse,
        Wanted::Auto => by_weight(sse, protobuf),
    };
    let asks_protobuf = match sides.agent {
        Wanted::Sse => false,
        Wanted::Protobuf => true,
        Wanted::Auto => {
            sides.agent_speaks_protobuf && !sides.agent_is_old && protobuf.is_named() && client != Wanted::Sse
        }
    };
    Ok(Agreed { ask: if asks_protobuf { PROTOBUF_OR_SSE } else { media::EVENT_STREAM }, client })
}

/// The `accept` of a request that may be a run: what was agreed, and after it the other types that the client names,
/// so that an agent that answers with JSON or a page still may. Of wildcards, only that for JSON is left: early agents
/// take one for a wish for protobuf.
pub fn ask_for<'a>(accept: impl IntoIterator<Item = &'a [u8]>, agreed: &str) -> Vec<u8> {
    let mut ask = agreed.as_bytes().to_vec();
    let mut any = false;
    let mut anything = true;
    for range in media::ranges(accept).map(<[u8]>::trim_ascii) {
        let essence = media::essence(range);
        anything = false;
        any |= essence == b"*/*" || essence.eq_ignore_ascii_case(b"application/*");
        if !essence.is_empty() && !essence.contains(&b'*') && Encoding::of(essence).is_none() {
            ask.extend_from_slice(b", ");
            ask.extend_from_slice(range);
        }
    }
    if any || anything {
        ask.extend_from_slice(b", application/json;q=0.9");
    }
    ask
}

fn by_weight(sse: Accept, protobuf: Accept) -> Wanted {
    match (sse, protobuf) {
        (Accept::Named { q: sse @ 1.. }, Accept::Named { q: protobuf @ 1.. }) => match protobuf.cmp(&sse) {
            std::cmp::Ordering::Less => Wanted::Sse,
            std::cmp::Ordering::Equal => Wanted::Auto,
            std::cmp::Ordering::Greater => Wanted::Protobuf,
        },
        (_, Accept::Named { q: 1.. }) => Wanted::Protobuf,
        (sse, _) if sse.admits() => Wanted::Sse,
        // SSE is refused by name and protobuf covered by a wildcard.
        _ => Wanted::Protobuf,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = "application/vnd.ag-ui.event+proto";
    const BOTH: &str = "application/vnd.ag-ui.event+proto, text/event-stream";

    /// What the client gets from an agent that answers with SSE, and from one that answers with protobuf.
    #[derive(Debug, PartialEq, Eq)]
    enum Gets {
        Sse,
        Protobuf,
        AgentsOwn,
        Nothing,
    }

    fn gets(lines: &[&str], sides: Sides) -> Gets {
        let Ok(agreed) = negotiate(Accepted::of(lines.iter().map(|line| line.as_bytes())), sides) else {
            return Gets::Nothing;
        };
        match (agreed.answer(Encoding::Sse), agreed.answer(Encoding::Protobuf)) {
            (Encoding::Sse, Encoding::Sse) => Gets::Sse,
            (Encoding::Protobuf, Encoding::Protobuf) => Gets::Protobuf,
            (Encoding::Sse, Encoding::Protobuf) => Gets::AgentsOwn,
            (Encoding::Protobuf, Encoding::Sse) => unreachable!("the other one than the agent's"),
        }
    }

    #[test]
    fn an_agent_is_asked_for_what_was_agreed_and_for_nothing_that_reads_as_protobuf() {
        let cases: &[(&[&str], &str)] = &[
            (&[], "text/event-stream, application/json;q=0.9"),
            (&["*/*"], "text/event-stream, application/json;q=0.9"),
            (&["text/event-stream"], "text/event-stream"),
            (&["text/*"], "text/event-stream"),
            (&[EVENT], "text/event-stream"),
            (&["application/json, text/event-stream"], "text/event-stream, application/json"),
            (
                &["text/html;q=0.3", "application/vnd.ag-ui.event+proto, */*;q=0.1"],
                "text/event-stream, text/html;q=0.3, application/json;q=0.9",
            ),
        ];
        for (lines, asked) in cases {
            let ask = ask_for(lines.iter().map(|line| line.as_bytes()), "text/event-stream");
            assert_eq!(std::str::from_utf8(&ask), Ok(*asked), "{lines:?}");
        }
    }

    #[test]
    fn the_client_gets_what_it_names_and_the_configuration_allows() {
        use Gets::{AgentsOwn, Nothing, Protobuf, Sse};
        const AUTO: Wanted = Wanted::Auto;
        let cases: &[(&[&str], Wanted, Gets)] = &[
            (&[], AUTO, Sse),
            (&["*/*"], AUTO, Sse),
            (&["text/*"], AUTO, Sse),
            (&["application/*"], AUTO, Protobuf),
            (&["text/event-stream"], AUTO, Sse),
            (&["application/json, text/event-stream"], AUTO, Sse),
            (&[EVENT], AUTO, Protobuf),
            (&["APPLICATION/VND.AG-UI.EVENT+PROTO"], AUTO, Protobuf),
            (&["application/vnd.ag-ui.event+proto, */*"], AUTO, Protobuf),
            (&["application/vnd.ag-ui.event+proto;q=0.1, */*"], AUTO, Protobuf),
            (&[BOTH], AUTO, AgentsOwn),
            (&["text/event-stream;q=0.7", "application/vnd.ag-ui.event+proto;q=0.7"], AUTO, AgentsOwn),
            (&["application/vnd.ag-ui.event+proto;q=0.1, text/event-stream"], AUTO, Sse),
            (&["text/event-stream;q=0.5, application/vnd.ag-ui.event+proto"], AUTO, Protobuf),
            (&["text/event-stream;q=0.2", EVENT], AUTO, Protobuf),
            (&["application/vnd.ag-ui.event+proto;q=0, */*"], AUTO, Sse),
            (&["text/event-stream;q=0, */*"], AUTO, Protobuf),
            (&["text/event-stream;q=0, application/vnd.ag-ui.event+proto"], AUTO, Protobuf),
            (&["application/vnd.ag-ui.event+proto;q=0"], AUTO, Nothing),
            (&["application/json"], AUTO, Nothing),
            (&["*/*;q=0"], AUTO, Nothing),
            (&[], Wanted::Sse, Sse),
            (&["*/*"], Wanted::Sse, Sse),
            (&[EVENT], Wanted::Sse, Sse),
            (&[BOTH], Wanted::Sse, Sse),
            (&["application/json"], Wanted::Sse, Nothing),
            (&[], Wanted::Protobuf, Protobuf),
            (&["*/*"], Wanted::Protobuf, Protobuf),
            (&[BOTH], Wanted::Protobuf, Protobuf),
            (&["application/vnd.ag-ui.event+proto;q=0.1, text/event-stream"], Wanted::Protobuf, Protobuf),
            (&["text/event-stream"], Wanted::Protobuf, Sse),
            (&["application/vnd.ag-ui.event+proto;q=0, */*"], Wanted::Protobuf, Sse),
            (&["application/json"], Wanted::Protobuf, Nothing),
        ];
        for (lines, route, expected) in cases {
            assert_eq!(gets(lines, Sides { route: *route, ..Sides::default() }), *expected, "{lines:?} {route:?}");
        }
    }

    #[test]
    fn an_old_client_gets_sse_unless_the_route_says_otherwise() {
        let old = Sides { client_is_old: true, ..Sides::default() };
        for lines in [&[EVENT][..], &[BOTH], &["*/*"], &[]] {
            assert_eq!(gets(lines, old), Gets::Sse, "{lines:?}");
            assert_eq!(gets(lines, Sides { route: Wanted::Protobuf, ..old }), Gets::Protobuf, "{lines:?}");
        }
    }

    #[test]
    fn the_agent_is_asked_for_sse_unless_it_speaks_protobuf_and_the_client_reads_it() {
        const AUTO: Wanted = Wanted::Auto;
        // The route's and the agent's encoding, whether it has spoken protobuf, whether it is old, what the client says.
        let cases: &[(Wanted, Wanted, bool, bool, &str, bool)] = &[
            (AUTO, AUTO, false, false, EVENT, false),
            (AUTO, AUTO, true, false, EVENT, true),
            (AUTO, AUTO, true, false, BOTH, true),
            (AUTO, AUTO, true, false, "text/event-stream, application/vnd.ag-ui.event+proto;q=0.1", false),
            (AUTO, AUTO, true, false, "*/*", false),
            (AUTO, AUTO, true, false, "text/event-stream", false),
            (AUTO, AUTO, true, true, EVENT, false),
            (Wanted::Sse, AUTO, true, false, EVENT, false),
            (Wanted::Protobuf, AUTO, true, false, EVENT, true),
            (AUTO, Wanted::Sse, true, false, EVENT, false),
            (AUTO, Wanted::Protobuf, false, false, EVENT, true),
            (AUTO, Wanted::Protobuf, false, true, EVENT, true),
            (AUTO, Wanted::Protobuf, false, false, "text/event-stream", true),
        ];
        for (route, agent, agent_speaks_protobuf, agent_is_old, accept, protobuf) in cases.iter().copied() {
            let sides = Sides { route, agent, agent_speaks_protobuf, agent_is_old, client_is_old: false };
            let ask = negotiate(Accepted::of([accept.as_bytes()]), sides).map(|agreed| agreed.ask);
            let expected = if protobuf { PROTOBUF_OR_SSE } else { "text/event-stream" };
            assert_eq!(ask, Ok(expected), "{sides:?} {accept}");
        }
    }

    #[test]
    fn a_body_is_known_by_its_content_type() {
        for (value, expected) in [
            (EVENT, Some(Encoding::Protobuf)),
            ("Application/VND.ag-ui.event+proto ; v=1; charset=utf-8", Some(Encoding::Protobuf)),
            ("text/event-stream; charset=utf-8", Some(Encoding::Sse)),
            ("application/vnd.ag-ui.event+proto2", None),
            ("application/vnd.ag-ui.event+proto, text/event-stream", None),
            ("application/x-protobuf", None),
            ("application/json", None),
            ("", None),
        ] {
            assert_eq!(Encoding::of(value.as_bytes()), expected, "{value}");
        }
        for encoding in [Encoding::Sse, Encoding::Protobuf] {
            assert_eq!(Encoding::of(encoding.media_type().as_bytes()), Some(encoding));
        }
    }
}
