//! Handover of a lost agent's share: which workers take it over, and from when on.
//!
//! All remaining workers receive the same handover and compute the new owners independently, so each arrival has one owner. A worker that learns of
//! it late generates fewer arrivals, and never those of another worker. Arrivals of a remaining worker never change owner.

use std::ops::Range;
use std::sync::Arc;

use loadstone_metrics::Nanos;

/// Workers whose share of the load moves to others at an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handover {
    pub(crate) lost: Range<u64>,
    /// The workers that remained at that time, ascending.
    pub(crate) remaining: Arc<[u64]>,
    /// On the run's clock. The lost workers have started nothing, and will start nothing, that is due from here on.
    pub(crate) from: Nanos,
    /// `false`: the others take over only the work that is done once, before and after the load.
    pub(crate) is_of_load: bool,
}

impl Handover {
    /// `firsts`: the first worker of each agent. `of`: the number of workers of all agents. `lost` and `remaining` are agents.
    pub fn of_agents(firsts: &[u32], of: u32, lost: u32, remaining: &[u32], from: Nanos, is_of_load: bool) -> Self {
        let first = |agent: u32| u64::from(firsts.get(agent as usize).copied().unwrap_or(of));
        let workers = |agent: u32| first(agent)..first(agent + 1);
        let mut remaining: Vec<u64> = remaining.iter().flat_map(|agent| workers(*agent)).collect();
        remaining.sort_unstable();
        Self { lost: workers(lost), remaining: remaining.into(), from, is_of_load }
    }

    /// The remaining worker that takes over the arrivals of this turn, and the turn that selects the next successor if that worker is lost, too.
    pub(crate) fn successor(&self, of: u64, turn: u64) -> Option<(u64, u64)> {
        let remaining = self.remaining_of(of);
        let successor = remaining.get((turn % remaining.len().max(1) as u64) as usize)?;
        Some((*successor, turn / remaining.len() as u64))
    }

    /// The remaining workers among the first `of`.
    fn remaining_of(&self, of: u64) -> &[u64] {
        &self.remaining[..self.remaining.partition_point(|worker| *worker < of)]
    }
}

/// How many of all users the worker `index` of `of` has, after these handovers.
pub(crate) fn users_of(users: u64, index: u64, of: u64, handovers: &[Handover]) -> u64 {
    let own = |worker: u64| users / of + u64::from(users % of > worker);
    let Some(last) = handovers.last() else { return own(index) };
    let remaining = last.remaining_of(of);
    let Some(rank) = remaining.iter().position(|worker| *worker == index) else { return own(index) };
    let lost: u64 = handovers.iter().flat_map(|handover| handover.lost.clone()).filter(|worker| *worker < of).map(own).sum();
    own(index) + lost / remaining.len() as u64 + u64::from(lost % remaining.len() as u64 > rank as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_lost_workers_move_to_the_remaining_workers() {
        // Three agents with two workers, three workers, and one worker.
        let firsts = [0, 2, 5];
        let first = Handover::of_agents(&firsts, 6, 1, &[0, 2], 7, true);
        assert_eq!((first.lost.clone(), &first.remaining[..]), (2..5, &[0, 1, 5][..]));
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
