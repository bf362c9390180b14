//! A breach comes in, what the client is told goes out: the rule, and the member or the item that it is about. Nothing of
//! the agent's text but an identifier is repeated.

use super::{Rule, Weight, members::Seen, state::Breach};
use crate::{
    agui::EventKind,
    pipeline::{Fault, Refused},
};

/// How much of an identifier is repeated.
const QUOTED_MAX: usize = 80;

/// How a run ends that was stopped for this breach.
pub fn refusal(breach: &Breach, seen: &Seen<'_>) -> Refused {
    let Breach { rule, member } = *breach;
    let kind = match seen.kind {
        EventKind::Other => "frame",
        kind => kind.as_str(),
    };
    let what = match rule {
        Rule::MissingMember => format!("{kind} without {member}"),
        Rule::NullMember => format!("{kind} with null for {member}"),
        Rule::WrongType => format!("{kind} with a value for {member} that the protocol does not take"),
        _ if rule.weight() == Weight::Malformed => kind.to_owned(),
        _ => match seen.text(member).filter(|_| member != "type") {
            Some(value) => format!("{kind} with {member} '{}'", value.chars().take(QUOTED_MAX).collect::<String>()),
            None if member == "type" => kind.to_owned(),
            None => format!("{kind} without {member}"),
        },
    };
    let message = format!("The agent's stream breaks the rule {}: {what}.", rule.as_str());
    let malformed = rule.weight() == Weight::Malformed;
    Refused { fault: if malformed { Fault::Malformed } else { Fault::Violation }, rule: rule.as_str(), message }
}
