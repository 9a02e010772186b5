//! What becomes of the part of an agent that was lost: who makes it, and from when on.
//!
//! All that are left hear the same and work it out for themselves, so that each arrival has one owner. Whoever hears of it late makes less, and
//! never what is another's: what somebody who is left owns stays with them.

use std::ops::Range;
use std::sync::Arc;

use loadstone_metrics::Nanos;

/// Workers whose part of the load is made by others, from an instant on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handover {
    pub(crate) lost: Range<u64>,
    /// Those that were left then, ascending.
    pub(crate) left: Arc<[u64]>,
    /// On the run's clock. Nothing that is due from here on was or will be started by those that were lost.
    pub(crate) from: Nanos,
    /// Otherwise only what is done once, before and after the load, is made by others.
    pub(crate) is_of_load: bool,
}

impl Handover {
    /// `firsts`: the first worker of each agent; `of`: workers of them all. `lost` and `left` are agents.
    pub fn of_agents(firsts: &[u32], of: u32, lost: u32, left: &[u32], from: Nanos, is_of_load: bool) -> Self {
        let first = |agent: u32| u64::from(firsts.get(agent as usize).copied().unwrap_or(of));
        let workers = |agent: u32| first(agent)..first(agent + 1);
        let mut left: Vec<u64> = left.iter().flat_map(|agent| workers(*agent)).collect();
        left.sort_unstable();
        Self { lost: workers(lost), left: left.into(), from, is_of_load }
    }

    /// Of those that are left, whoever makes the arrivals of this turn, and the turn by which one is chosen should they be lost, too.
    pub(crate) fn heir(&self, of: u64, turn: u64) -> Option<(u64, u64)> {
        let left = self.left_of(of);
        let heir = left.get((turn % left.len().max(1) as u64) as usize)?;
        Some((*heir, turn / left.len() as u64))
    }

    /// Those that are left of the first `of` workers.
    fn left_of(&self, of: u64) -> &[u64] {
        &self.left[..self.left.partition_point(|worker| *worker < of)]
    }
}

/// How many of all users the worker `index` of `of` has, after these handovers.
pub(crate) fn users_of(users: u64, index: u64, of: u64, handovers: &[Handover]) -> u64 {
    let own = |worker: u64| users / of + u64::from(users % of > worker);
    let Some(last) = handovers.last() else { return own(index) };
    let left = last.left_of(of);
    let Some(rank) = left.iter().position(|worker| *worker == index) else { return own(index) };
    let lost: u64 = handovers.iter().flat_map(|handover| handover.lost.clone()).filter(|worker| *worker < of).map(own).sum();
    own(index) + lost / left.len() as u64 + u64::from(lost % left.len() as u64 > rank as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_those_that_are_lost_go_to_those_that_are_left() {
        // Agents of two workers, three, and one.
        let firsts = [0, 2, 5];
        let first = Handover::of_agents(&firsts, 6, 1, &[0, 2], 7, true);
        assert_eq!((first.lost.clone(), &first.left[..]), (2..5, &[0, 1, 5][..]));
        let second = Handover::of_agents(&firsts, 6, 2, &[0], 9, true);
        for users in [0, 1, 5, 6, 7, 100] {
            for handovers in [&[][..], std::slice::from_ref(&first), &[first.clone(), second.clone()]] {
                let lost = |worker: &u64| handovers.iter().any(|handover| handover.lost.contains(worker));
                let all = (0..6).filter(|worker| !lost(worker)).map(|index| users_of(users, index, 6, handovers));
                assert_eq!(all.sum::<u64>(), users, "after {} losses", handovers.len());
            }
        }
    }
}
