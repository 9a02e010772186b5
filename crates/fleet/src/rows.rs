//! Which numbers of a feeder go to which agent: blocks, each number once.
//!
//! A block is a part of what is left (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Computers C-36, 1987): few questions while
//! there is much, and single rows at the end, so that no agent keeps what others would need.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Most numbers of one block.
const BLOCK_MAX: u64 = 1_000;

/// What an agent asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowRequest {
    /// Number of the feeder in the test.
    pub feeder: u64,
    pub rows: u64,
    /// Every row is given out only once.
    pub ends: bool,
}

/// What has been given out of each feeder.
#[derive(Debug, Default)]
pub(crate) struct RowLeases {
    next: BTreeMap<u64, u64>,
    /// By agent and feeder: the block that it may not have used up.
    open: BTreeMap<(usize, u64), Range<u64>>,
}

impl RowLeases {
    /// The next numbers for an agent; none where there are no more.
    pub(crate) fn take(&mut self, agent: usize, agents: usize, request: RowRequest) -> Range<u64> {
        let RowRequest { feeder, rows, ends } = request;
        let next = self.next.entry(feeder).or_default();
        let left = if ends { rows.saturating_sub(*next) } else { rows.max(1) };
        let block = left.div_ceil(2 * agents.max(1) as u64).min(BLOCK_MAX);
        let lease = *next..*next + block;
        *next = lease.end;
        self.open.insert((agent, feeder), lease.clone());
        lease
    }

    /// Rows that an agent which is gone may have used or not. They are given to nobody: no row is to be used twice.
    pub(crate) fn in_doubt(&self, agent: usize) -> u64 {
        self.open.iter().filter(|((of, _), _)| *of == agent).map(|(_, lease)| lease.end - lease.start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_block() {
        for (rows, agents) in [(0, 1), (1, 4), (100, 3), (50_000, 8)] {
            let mut leases = RowLeases::default();
            let (mut given, mut questions) = (0, 0);
            loop {
                let lease = leases.take(questions % agents, agents, RowRequest { feeder: 3, rows, ends: true });
                assert_eq!(lease.start, given);
                if lease.is_empty() {
                    break;
                }
                given = lease.end;
                questions += 1;
            }
            assert_eq!(given, rows);
            assert!(questions <= agents * 2 * 24 + rows as usize / 1_000, "{rows} rows took {questions} questions");
        }
    }

    #[test]
    fn feeders_that_begin_again_never_end() {
        let mut leases = RowLeases::default();
        let request = RowRequest { feeder: 0, rows: 10, ends: false };
        let given: Vec<_> = (0..5).map(|agent| leases.take(agent % 2, 2, request)).collect();
        assert_eq!(given, [0..3, 3..6, 6..9, 9..12, 12..15]);
    }

    #[test]
    fn what_a_lost_agent_held_is_in_doubt_and_stays_away() {
        let mut leases = RowLeases::default();
        let request = RowRequest { feeder: 0, rows: 40, ends: true };
        let lost = leases.take(0, 2, request);
        assert_eq!((lost.clone(), leases.in_doubt(0), leases.in_doubt(1)), (0..10, 10, 0));
        assert_eq!(leases.take(1, 2, request).start, lost.end);
    }
}
