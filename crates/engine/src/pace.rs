//! Whether an open leaf with a backlog needs more users. It needs none while its backlog drains without them. If its worker cannot generate the rate
//! at all, it needs more only as long as more users end more iterations.

use loadstone_metrics::Nanos;

/// Time over which due and ended arrivals are compared.
const PACE_INTERVAL_MIN_NS: Nanos = 1_000_000;
/// A comparison over a longer time is not representative of the present.
const PACE_INTERVAL_MAX_NS: Nanos = 100_000_000;
/// Time over which one number of users is compared with another.
const CEILING_INTERVAL_MIN_NS: Nanos = 100_000_000;
/// This many users keep any worker busy if the target's latency is low.
const CEILING_INITIAL_USERS: u64 = 64;

/// Cumulative counts of a leaf and its worker at an instant.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LeafProgress {
    pub(crate) at: Nanos,
    pub(crate) due: u64,
    pub(crate) started: u64,
    pub(crate) ended: u64,
    /// Time that the worker spent in its turns.
    pub(crate) worked_ns: u64,
}

/// The last comparison, and the progress at that time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    since: LeafProgress,
    drains: bool,
    is_beyond: bool,
}

impl Pace {
    /// The comparison as of now.
    pub(crate) fn at(self, now: LeafProgress) -> Self {
        let elapsed = now.at.saturating_sub(self.since.at);
        if elapsed < PACE_INTERVAL_MIN_NS {
            return self;
        }
        let (due, started, ended) = (now.due - self.since.due, now.started - self.since.started, now.ended - self.since.ended);
        // Before the first comparison, the backlog is assumed to drain.
        let drains = elapsed >= PACE_INTERVAL_MAX_NS || ended > due;
        let worked = now.worked_ns - self.since.worked_ns;
        let is_beyond = match started {
            _ if elapsed >= PACE_INTERVAL_MAX_NS => false,
            // Without a started iteration, the cost of an iteration is unknown.
            0 => self.is_beyond,
            // Nine tenths: between turns, the rest of the time goes to reading what has arrived.
            started => u128::from(worked) * u128::from(due) * 10 >= u128::from(elapsed) * u128::from(started) * 9,
        };
        Self { since: now, drains, is_beyond }
    }

    /// Iterations end faster than arrivals come due.
    pub(crate) fn drains(self) -> bool {
        self.drains
    }

    /// Starting everything that comes due would take the worker more time than there is, at the cost that its iterations had.
    pub(crate) fn is_beyond(self) -> bool {
        self.is_beyond
    }

    pub(crate) fn next_check(self) -> Nanos {
        self.since.at + PACE_INTERVAL_MIN_NS
    }
}

/// How many users a leaf may have if its rate exceeds what its worker can generate. Such a backlog never drains, and more users cannot fix it. When
/// the target or the worker is saturated, further users would only wait, each with a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ceiling {
    users: u64,
    since: Nanos,
    ended: u64,
    /// The highest rate of ended iterations per second. It decays a little with each comparison, as the target may have become slower.
    best: f64,
}

impl Default for Ceiling {
    fn default() -> Self {
        Self { users: CEILING_INITIAL_USERS, since: 0, ended: 0, best: 0.0 }
    }
}

impl Ceiling {
    /// The ceiling as of now, for a leaf with this many users.
    pub(crate) fn at(self, now: Nanos, ended: u64, users: u64) -> Self {
        let elapsed = now.saturating_sub(self.since);
        if elapsed < CEILING_INTERVAL_MIN_NS {
            return self;
        }
        if elapsed > 2 * CEILING_INTERVAL_MIN_NS {
            return Self { since: now, ended, ..self };
        }
        let rate = (ended - self.ended) as f64 * 1e9 / elapsed as f64;
        // No iteration ended at all: the target holds up all users.
        let is_more = rate > 1.05 * self.best || ended == self.ended;
        let ceiling = if is_more && users >= self.users { self.users.saturating_mul(2) } else { self.users };
        Self { users: ceiling, since: now, ended, best: rate.max(0.97 * self.best) }
    }

    pub(crate) fn users(self) -> u64 {
        self.users
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn progress(at: Nanos, due: u64, started: u64, ended: u64, worked_ns: u64) -> LeafProgress {
        LeafProgress { at, due, started, ended, worked_ns }
    }

    #[test]
    fn a_backlog_drains_while_more_iterations_end_than_come_due() {
        let first = Pace::default().at(progress(100 * MS, 100, 90, 90, 0));
        assert!(first.drains(), "assumed to drain");
        assert!(first.at(progress(100 * MS + 10, 200, 90, 90, 0)).drains(), "too soon to compare");
        assert!(!first.at(progress(101 * MS, 110, 100, 100, 0)).drains(), "as many ended as came due");
        assert!(first.at(progress(101 * MS, 110, 100, 101, 0)).drains());
        assert_eq!(first.at(progress(101 * MS, 110, 100, 100, 0)).next_check(), 102 * MS);
    }

    #[test]
    fn a_rate_is_beyond_a_worker_that_needs_more_time_than_there_is() {
        let first = Pace::default().at(progress(100 * MS, 0, 0, 0, 0));
        // 10 µs each: 100 of them per millisecond occupy a core.
        assert!(first.at(progress(101 * MS, 200, 50, 50, MS / 2)).is_beyond(), "half a core for a quarter of the load");
        assert!(!first.at(progress(101 * MS, 80, 50, 50, MS / 2)).is_beyond(), "the target is full, the worker is not");
        assert!(!first.at(progress(101 * MS, 10, 100, 100, MS)).is_beyond(), "the worker drains its backlog at full speed");
        let beyond = first.at(progress(101 * MS, 200, 50, 50, MS / 2));
        assert!(beyond.at(progress(102 * MS, 400, 50, 50, MS / 2)).is_beyond(), "a pause of the target is no evidence about the worker");
    }

    /// The ceiling after ten seconds at it. `rate`: iterations that the target ends per second with this many users.
    fn settled(rate: fn(f64) -> f64) -> u64 {
        let (mut ceiling, mut ended) = (Ceiling::default(), 0.0);
        for interval in 10..110 {
            ended += rate(ceiling.users() as f64) / 10.0;
            ceiling = ceiling.at(interval * CEILING_INTERVAL_MIN_NS, ended as u64, ceiling.users());
        }
        ceiling.users()
    }

    #[test]
    fn users_are_added_as_long_as_the_throughput_grows() {
        assert_eq!(settled(|_| 80_000.0), 128, "a full target: the first step shows it");
        // 100 ms each, at most 50,000 per second: 5,000 users.
        assert_eq!(settled(|users| (users * 10.0).min(50_000.0)), 16_384);
        assert!(settled(|_| 0.0) > 1_000_000, "a target that hangs occupies all users");
    }
}
