//! What an agent has sent so far comes in; whether that is more than it may goes out. The counts are kept elsewhere.

use crate::config;

/// What an agent has sent in one answer, for all runs in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Events.
    pub events: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Tool calls that were begun.
    pub tool_calls: u64,
}

impl Spent {
    /// Whether that is more than `budget` allows.
    pub fn exceeds(&self, budget: &config::Budget) -> bool {
        let over = |spent: u64, most: Option<u64>| most.is_some_and(|most| spent > most);
        over(self.events, budget.events) || over(self.bytes, budget.bytes) || over(self.tool_calls, budget.tool_calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_budget_counts_alone_and_may_be_spent_to_the_last() {
        let spent = Spent { events: 5, bytes: 100, tool_calls: 1 };
        let budget = |events, bytes, tool_calls| config::Budget { events, bytes, tool_calls };
        assert!(!spent.exceeds(&config::Budget::default()));
        assert!(!spent.exceeds(&budget(Some(5), Some(100), Some(1))));
        assert!(spent.exceeds(&budget(Some(4), None, None)));
        assert!(spent.exceeds(&budget(None, Some(99), None)));
        assert!(spent.exceeds(&budget(None, None, Some(0))));
    }
}
