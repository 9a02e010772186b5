//! Whether the backlog of an open leaf drains: its iterations end faster than arrivals come due.

use metrics::Nanos;

/// Time over which the two are compared.
const LOOK_NS: Nanos = 1_000_000;
/// A comparison over a longer time says nothing of the present.
const STALE_NS: Nanos = 100_000_000;

/// The last comparison, and the counts since.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    since: Nanos,
    due: u64,
    ended: u64,
    drains: bool,
}

impl Pace {
    /// The comparison as of now, from the counts of all arrivals that came due and all iterations that ended.
    pub(crate) fn at(self, now: Nanos, due: u64, ended: u64) -> Self {
        let looked = now.saturating_sub(self.since);
        if looked < LOOK_NS {
            return self;
        }
        // Until there is a comparison, the backlog is given the chance to drain.
        let drains = looked >= STALE_NS || ended - self.ended > due - self.due;
        Self { since: now, due, ended, drains }
    }

    pub(crate) fn drains(self) -> bool {
        self.drains
    }

    pub(crate) fn next_look(self) -> Nanos {
        self.since + LOOK_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    #[test]
    fn a_backlog_drains_while_more_ends_than_comes() {
        let first = Pace::default().at(100 * MS, 100, 90);
        assert!(first.drains(), "given the chance");
        assert!(first.at(100 * MS + 10, 200, 90).drains(), "too soon to tell");
        assert!(!first.at(101 * MS, 110, 100).drains(), "as much ended as came");
        assert!(first.at(101 * MS, 110, 101).drains());
        assert_eq!(first.at(101 * MS, 110, 100).next_look(), 102 * MS);
    }
}
