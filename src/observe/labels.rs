//! The closed sets that label values come from (I10): a fact comes in as a member, its text goes out.

use super::closed::closed_set;

closed_set! {
    /// How a run ended; decided by who ended it.
    Outcome {
        /// `RUN_FINISHED`, with success or without an outcome.
        Finished = "finished",
        /// `RUN_FINISHED` that waits for an answer to its interrupts.
        Interrupted = "interrupted",
        /// `RUN_FINISHED` whose agent says that the run was cancelled.
        Cancelled = "cancelled",
        /// `RUN_ERROR` from the agent.
        AgentError = "agent_error",
        /// The agent's stream ended before a terminal event.
        Truncated = "truncated",
        /// The guard refused the stream.
        Violation = "violation",
        /// The client left.
        ClientGone = "client_gone",
        /// No first event in time.
        TimeoutFirstEvent = "timeout_first_event",
        /// Silence, or no progress, for too long.
        TimeoutIdle = "timeout_idle",
        /// The run as a whole took too long.
        TimeoutRun = "timeout_run",
        /// The run spent what it was allowed.
        Budget = "budget",
        /// A tool call that policy forbids ended the run.
        ToolDenied = "tool_denied",
        /// The gateway had to stop.
        Drained = "drained",
        /// No connection to the agent.
        AgentUnreachable = "agent_unreachable",
        /// The agent answered something other than a stream.
        AgentStatus = "agent_status",
    }
}

closed_set! {
    /// Which way an event went.
    Direction {
        /// From the agent.
        In = "in",
        /// To the client.
        Out = "out",
    }
}

closed_set! {
    /// Why a request was answered without asking an agent.
    Refusal {
        /// It is not known who asks, or they may not.
        Auth = "auth",
        /// A page of its origin may not ask.
        Origin = "origin",
        /// It comes too early after others.
        Rate = "rate",
        /// As many runs are in flight as may be.
        Runs = "runs",
        /// Its address has as many connections as it may have.
        Connections = "connections",
        /// The client and the gateway did not agree on TLS, so that no request was read.
        Tls = "tls",
        /// Its body is too large.
        Body = "body",
        /// No route wants it.
        NotFound = "not_found",
        /// Its client reads neither encoding.
        NotAcceptable = "not_acceptable",
        /// The gateway is about to stop.
        Draining = "draining",
        /// It is no request that a run can be started from.
        Malformed = "malformed",
    }
}

closed_set! {
    /// What the tool policy did with a call.
    Decision {
        /// Passed on.
        Allowed = "allowed",
        /// Left out of the stream.
        Dropped = "dropped",
        /// Shown without arguments and result.
        Masked = "masked",
        /// The run was ended.
        Refused = "refused",
    }
}

closed_set! {
    /// What a model was charged for, as `usage` names it.
    TokenKind {
        /// Read by the model.
        Input = "input",
        /// Written by the model.
        Output = "output",
        /// Of the input, read from a cache.
        CachedInput = "cached_input",
        /// Of the input, written to a cache.
        CacheWriteInput = "cache_write_input",
        /// Of the output, spent on reasoning.
        Reasoning = "reasoning",
    }
}

closed_set! {
    /// What came of opening a connection to an agent.
    Connect {
        /// It stands.
        Ok = "ok",
        /// The endpoint refused it.
        Refused = "refused",
        /// It took too long.
        Timeout = "timeout",
        /// Anything else: no route, no such name, TLS.
        Error = "error",
    }
}

closed_set! {
    /// What came of sending a request to an agent, up to the head of its answer.
    Attempt {
        /// A stream began.
        Stream = "stream",
        /// An answer that is no stream.
        Status = "status",
        /// No connection, so that another endpoint may be tried.
        Unreachable = "unreachable",
        /// No answer in time.
        Timeout = "timeout",
        /// The connection broke before the answer.
        Broken = "broken",
        /// The client left before the answer.
        ClientGone = "client_gone",
    }
}

closed_set! {
    /// What came of reading the configuration again.
    Reload {
        /// The new one is in use.
        Success = "success",
        /// The old one stays.
        Failure = "failure",
    }
}

closed_set! {
    /// What became of a change to the shared state.
    StatePatch {
        /// It fitted.
        Applied = "applied",
        /// It did not fit the state before it.
        Failed = "failed",
        /// It was sent as a snapshot, or a snapshot as a patch, whichever is shorter.
        Compacted = "compacted",
        /// A snapshot was sent in its place.
        Resynced = "resynced",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_has_a_place_and_a_text_of_its_own() {
        let texts: std::collections::BTreeSet<_> = Outcome::ALL.iter().map(|o| o.as_str()).collect();
        assert_eq!(texts.len(), Outcome::COUNT);
        for (place, outcome) in Outcome::ALL.iter().enumerate() {
            assert_eq!(outcome.index(), place);
        }
    }
}
