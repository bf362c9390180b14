//! The codes of the errors that the gateway itself writes, each with the text a client may see (I9).

use super::closed::closed_set;

closed_set! {
    /// The `code` of a `RUN_ERROR`, or of a problem before a stream starts. Codes are stable.
    Code {
        /// The agent's stream ended before a terminal event.
        UpstreamTruncated = "UPSTREAM_TRUNCATED",
        /// No first event in time.
        FirstEventTimeout = "FIRST_EVENT_TIMEOUT",
        /// Silence, or no progress, for too long.
        IdleTimeout = "IDLE_TIMEOUT",
        /// The run as a whole took too long.
        RunTimeout = "RUN_TIMEOUT",
        /// The run spent what it was allowed.
        BudgetExceeded = "BUDGET_EXCEEDED",
        /// One event is larger than a frame may be.
        FrameTooLarge = "FRAME_TOO_LARGE",
        /// A frame that cannot be read.
        MalformedFrame = "MALFORMED_FRAME",
        /// Events in an order that the protocol forbids.
        ProtocolViolation = "PROTOCOL_VIOLATION",
        /// A tool call that policy forbids.
        ToolDenied = "TOOL_DENIED",
        /// The gateway had to stop.
        GatewayShutdown = "GATEWAY_SHUTDOWN",
        /// The agent answered something other than a stream.
        UpstreamStatus = "UPSTREAM_STATUS",
        /// No connection to the agent.
        UpstreamUnreachable = "UPSTREAM_UNREACHABLE",
        /// An error of the agent's in a shape that is not AG-UI's.
        UpstreamError = "UPSTREAM_ERROR",
    }
}

impl Code {
    /// One plain sentence for the client; it tells nothing about the inside of the gateway or the agent.
    pub const fn message(self) -> &'static str {
        match self {
            Self::UpstreamTruncated => "The agent's stream ended before the run was over.",
            Self::FirstEventTimeout => "The agent did not begin to answer in time.",
            Self::IdleTimeout => "The agent was silent for too long.",
            Self::RunTimeout => "The run took longer than it may.",
            Self::BudgetExceeded => "The run used more than it may.",
            Self::FrameTooLarge => "The agent sent an event that is too large.",
            Self::MalformedFrame => "The agent sent an event that cannot be read.",
            Self::ProtocolViolation => "The agent sent events in an order that is not allowed.",
            Self::ToolDenied => "The run was ended because of a tool call that is not allowed.",
            Self::GatewayShutdown => "The gateway is shutting down; the run was ended.",
            Self::UpstreamStatus => "The agent did not answer with an event stream.",
            Self::UpstreamUnreachable => "The agent cannot be reached.",
            Self::UpstreamError => "The agent reported an error.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_one_plain_sentence_of_its_own() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            let message = code.message();
            assert!(message.ends_with('.') && !message.contains(['"', '\\', '\n']), "{message}");
            assert!(seen.insert(message), "{message}");
        }
    }
}
