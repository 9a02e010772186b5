//! Whether an open leaf that is behind needs more users: not while its backlog drains without, and where its worker cannot make the rate at all,
//! only as long as more users end more iterations.

use loadstone_metrics::Nanos;

/// Time over which due and ended are compared.
const LOOK_NS: Nanos = 1_000_000;
/// A comparison over a longer time says nothing of the present.
const STALE_NS: Nanos = 100_000_000;
/// Time over which one number of users is compared with another.
const CEILING_LOOK_NS: Nanos = 100_000_000;
/// As many users keep any worker busy with a target that is near.
const CEILING_FIRST: u64 = 64;

/// What a leaf and its worker have done until an instant: counts that only grow.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LeafProgress {
    pub(crate) at: Nanos,
    pub(crate) due: u64,
    pub(crate) started: u64,
    pub(crate) ended: u64,
    /// Time that the worker spent in its turns.
    pub(crate) worked_ns: u64,
}

/// The last comparison, and the progress since.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    since: LeafProgress,
    drains: bool,
    is_beyond: bool,
}

impl Pace {
    /// The comparison as of now.
    pub(crate) fn at(self, now: LeafProgress) -> Self {
        let looked = now.at.saturating_sub(self.since.at);
        if looked < LOOK_NS {
            return self;
        }
        let (due, started, ended) = (now.due - self.since.due, now.started - self.since.started, now.ended - self.since.ended);
        // Until there is a comparison, the backlog is given the chance to drain.
        let drains = looked >= STALE_NS || ended > due;
        let worked = now.worked_ns - self.since.worked_ns;
        let is_beyond = match started {
            _ if looked >= STALE_NS => false,
            // What an iteration costs is not known from none.
            0 => self.is_beyond,
            // Nine tenths: the rest of the time goes to the reading of what has arrived, between turns.
            started => u128::from(worked) * u128::from(due) * 10 >= u128::from(looked) * u128::from(started) * 9,
        };
        Self { since: now, drains, is_beyond }
    }

    /// Iterations end faster than arrivals come due.
    pub(crate) fn drains(self) -> bool {
        self.drains
    }

    /// To start all that comes due would take the worker more time than there is, by what its iterations took it.
    pub(crate) fn is_beyond(self) -> bool {
        self.is_beyond
    }

    pub(crate) fn next_look(self) -> Nanos {
        self.since.at + LOOK_NS
    }
}

/// How many users a leaf may have whose rate is beyond its worker. Such a backlog never drains, and users cannot mend it; once the target or the
/// worker is full, further ones would only wait there, each with a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ceiling {
    users: u64,
    since: Nanos,
    ended: u64,
    /// The most that ended per second, a little less with each look: the target may have become slower.
    best: f64,
}

impl Default for Ceiling {
    fn default() -> Self {
        Self { users: CEILING_FIRST, since: 0, ended: 0, best: 0.0 }
    }
}

impl Ceiling {
    /// The ceiling as of now, for a leaf with so many users.
    pub(crate) fn at(self, now: Nanos, ended: u64, users: u64) -> Self {
        let looked = now.saturating_sub(self.since);
        if looked < CEILING_LOOK_NS {
            return self;
        }
        if looked > 2 * CEILING_LOOK_NS {
            return Self { since: now, ended, ..self };
        }
        let rate = (ended - self.ended) as f64 * 1e9 / looked as f64;
        // None at all: the target holds all of them up.
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
    fn a_backlog_drains_while_more_ends_than_comes() {
        let first = Pace::default().at(progress(100 * MS, 100, 90, 90, 0));
        assert!(first.drains(), "given the chance");
        assert!(first.at(progress(100 * MS + 10, 200, 90, 90, 0)).drains(), "too soon to tell");
        assert!(!first.at(progress(101 * MS, 110, 100, 100, 0)).drains(), "as much ended as came");
        assert!(first.at(progress(101 * MS, 110, 100, 101, 0)).drains());
        assert_eq!(first.at(progress(101 * MS, 110, 100, 100, 0)).next_look(), 102 * MS);
    }

    #[test]
    fn a_rate_is_beyond_a_worker_that_would_need_more_time_for_it_than_there_is() {
        let first = Pace::default().at(progress(100 * MS, 0, 0, 0, 0));
        // 10 µs each: 100 of them in a millisecond are a core.
        assert!(first.at(progress(101 * MS, 200, 50, 50, MS / 2)).is_beyond(), "half a core for a quarter of the load");
        assert!(!first.at(progress(101 * MS, 80, 50, 50, MS / 2)).is_beyond(), "the target is full, the worker is not");
        assert!(!first.at(progress(101 * MS, 10, 100, 100, MS)).is_beyond(), "a backlog is worked off at full speed");
        let beyond = first.at(progress(101 * MS, 200, 50, 50, MS / 2));
        assert!(beyond.at(progress(102 * MS, 400, 50, 50, MS / 2)).is_beyond(), "a pause of the target says nothing of the worker");
    }

    /// The ceiling after ten seconds at it, with a target that ends so many per second with so many users.
    fn settled(rate: fn(f64) -> f64) -> u64 {
        let (mut ceiling, mut ended) = (Ceiling::default(), 0.0);
        for look in 10..110 {
            ended += rate(ceiling.users() as f64) / 10.0;
            ceiling = ceiling.at(look * CEILING_LOOK_NS, ended as u64, ceiling.users());
        }
        ceiling.users()
    }

    #[test]
    fn users_are_added_as_long_as_more_of_them_end_more() {
        assert_eq!(settled(|_| 80_000.0), 128, "a full target: the first step shows it");
        // 100 ms each, at most 50,000 per second: 5,000 users.
        assert_eq!(settled(|users| (users * 10.0).min(50_000.0)), 16_384);
        assert!(settled(|_| 0.0) > 1_000_000, "a target that hangs takes all there are");
    }
}
