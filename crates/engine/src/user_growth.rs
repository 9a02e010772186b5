//! How many users an open leaf may create while all its users are busy.
//!
//! [`decide`] is a pure function of [`PoolState`] and the time. `open` collects the state and applies the decision. The target's slowness must not
//! delay the load, so arrivals that are on time create as many users as they need. Late arrivals may be late because of the generator itself. They
//! create users slowly, and none while the backlog drains without new users. Otherwise a stall of the generator would become a burst of connections.

use loadstone_metrics::Nanos;

use crate::pace::{Ceiling, LeafProgress, Pace};

/// An arrival that starts later than this was held up.
pub(crate) const ON_TIME_LAG_MAX_NS: Nanos = 1_000_000;
/// Late arrivals create at most this many users per turn. A turn is long when it serves other leaves, and one user for it would be too few.
const LATE_USERS_PER_TURN_MAX: u64 = 8;

/// What to do about arrivals that wait while all users are busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrowthDecision {
    /// Create no user now, and decide again at this instant.
    Wait(Nanos),
    /// Each arrival with an index below this may create a user. The index counts the arrivals of this worker in the order in which they start.
    AllowUsersBelow(u64),
    /// The pool has as many users as it may have. Arrivals wait until one of them is free.
    Saturated,
}

/// The pool of an open leaf, after a whole turn of the event loop in which no iteration of the leaf ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolState {
    pub(crate) users: u64,
    pub(crate) users_max: u64,
    /// When the oldest arrival that waits was due.
    pub(crate) oldest_due_at: Nanos,
    /// When the dispatcher began to wait for the turn.
    pub(crate) turn_requested_at: Nanos,
    /// Arrivals that have started.
    pub(crate) started: u64,
    /// Arrivals that have come due.
    pub(crate) due: u64,
    pub(crate) pace: Pace,
    pub(crate) ceiling: Ceiling,
}

impl PoolState {
    fn is_saturated(&self) -> bool {
        self.users >= self.users_max
    }

    fn is_on_time(&self, now: Nanos) -> bool {
        self.oldest_due_at + ON_TIME_LAG_MAX_NS >= now
    }

    /// The state with its pace and ceiling as of `progress`. Both are only measured while the pool is late and may grow.
    pub(crate) fn measured(mut self, progress: LeafProgress) -> Self {
        if self.is_saturated() || self.is_on_time(progress.at) {
            return self;
        }
        self.pace = self.pace.at(progress);
        if !self.pace.drains() && self.pace.is_beyond() {
            self.ceiling = self.ceiling.at(progress.at, progress.ended, self.users);
        }
        self
    }
}

/// Decides whether arrivals that wait may create users.
pub(crate) fn decide(state: &PoolState, now: Nanos) -> GrowthDecision {
    if state.is_saturated() {
        return GrowthDecision::Saturated;
    }
    if state.is_on_time(now) {
        return GrowthDecision::AllowUsersBelow(state.due);
    }
    let is_at_ceiling = state.pace.is_beyond() && state.users >= state.ceiling.users();
    if state.pace.drains() || is_at_ceiling {
        return GrowthDecision::Wait(state.pace.next_check());
    }
    // One user, or one for each millisecond of a long turn.
    let turn_ns = now - state.turn_requested_at;
    GrowthDecision::AllowUsersBelow(state.started + (turn_ns / ON_TIME_LAG_MAX_NS).clamp(1, LATE_USERS_PER_TURN_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;
    const S: Nanos = 1_000 * MS;

    /// At 1 s: 500 arrivals are due, 400 have started on 10 users of at most 100, and the oldest of the others has waited for `waited_ns`.
    fn waiting_for(waited_ns: Nanos) -> PoolState {
        PoolState {
            users: 10,
            users_max: 100,
            oldest_due_at: S - waited_ns,
            turn_requested_at: S,
            started: 400,
            due: 500,
            pace: Pace::default(),
            ceiling: Ceiling::default(),
        }
    }

    fn progress(at: Nanos, due: u64, started: u64, ended: u64, worked_ns: u64) -> LeafProgress {
        LeafProgress { at, due, started, ended, worked_ns }
    }

    /// The last millisecond before 1 s: 10 arrivals came due and 10 started, at a cost of `worked_ns`, and `ended` iterations ended.
    fn paced(ended: u64, worked_ns: u64) -> Pace {
        Pace::default().at(progress(S - MS, 490, 390, 380, 0)).at(progress(S, 500, 400, 380 + ended, worked_ns))
    }

    #[test]
    fn a_pool_with_all_its_users_is_saturated_whether_it_is_late_or_not() {
        for waited_ns in [0, MS, 50 * MS] {
            assert_eq!(decide(&PoolState { users: 100, ..waiting_for(waited_ns) }, S), GrowthDecision::Saturated);
        }
        assert_ne!(decide(&PoolState { users: 99, ..waiting_for(0) }, S), GrowthDecision::Saturated);
    }

    #[test]
    fn arrivals_on_time_create_one_user_each() {
        assert_eq!(decide(&waiting_for(0), S), GrowthDecision::AllowUsersBelow(500));
        assert_eq!(decide(&waiting_for(MS), S), GrowthDecision::AllowUsersBelow(500));
        assert_eq!(decide(&waiting_for(MS + 1), S), GrowthDecision::AllowUsersBelow(401));
    }

    #[test]
    fn late_arrivals_create_one_user_for_each_millisecond_of_the_turn() {
        for (turn_ns, allowed) in [(0, 1), (MS - 1, 1), (2 * MS, 2), (8 * MS, 8), (50 * MS, 8)] {
            let state = PoolState { turn_requested_at: S - turn_ns, ..waiting_for(60 * MS) };
            assert_eq!(decide(&state, S), GrowthDecision::AllowUsersBelow(400 + allowed), "after a turn of {turn_ns} ns");
        }
    }

    #[test]
    fn a_backlog_that_drains_waits_for_the_next_comparison() {
        let draining = PoolState { pace: paced(11, 0), ..waiting_for(60 * MS) };
        assert_eq!(decide(&draining, S), GrowthDecision::Wait(S + MS));
        let steady = PoolState { pace: paced(10, 0), ..waiting_for(60 * MS) };
        assert_eq!(decide(&steady, S), GrowthDecision::AllowUsersBelow(401));
    }

    #[test]
    fn a_pool_whose_rate_is_beyond_its_worker_waits_at_its_ceiling() {
        let ceiling = Ceiling::default();
        let at_ceiling = PoolState { users: ceiling.users(), pace: paced(10, MS), ..waiting_for(60 * MS) };
        assert_eq!(decide(&at_ceiling, S), GrowthDecision::Wait(S + MS));
        let below = PoolState { users: ceiling.users() - 1, ..at_ceiling };
        assert_eq!(decide(&below, S), GrowthDecision::AllowUsersBelow(401));
        // Half a core for the whole rate: the worker is not the limit, and the ceiling does not apply.
        let within = PoolState { pace: paced(10, MS / 2), ..at_ceiling };
        assert_eq!(decide(&within, S), GrowthDecision::AllowUsersBelow(401));
    }

    #[test]
    fn pace_and_ceiling_are_measured_only_while_a_pool_is_late_and_may_grow() {
        let now = progress(S, 500, 400, 400, 0);
        // A first comparison assumes that the backlog drains.
        assert!(waiting_for(60 * MS).measured(now).pace.drains());
        assert!(!waiting_for(0).measured(now).pace.drains(), "on time");
        assert!(!PoolState { users: 100, ..waiting_for(60 * MS) }.measured(now).pace.drains(), "saturated");
        // 64 users for one tenth of a second, and again: the first step shows that 80,000 per second end, and doubles the ceiling.
        let beyond =
            PoolState { users: 64, pace: paced(10, MS), ceiling: Ceiling::default().at(S - 101 * MS, 0, 64), ..waiting_for(60 * MS) };
        assert_eq!(beyond.measured(now).ceiling.users(), 128);
        let within = PoolState { pace: paced(10, MS / 2), ..beyond };
        assert_eq!(within.measured(now).ceiling.users(), 64);
    }
}
