//! Closed load of a constant number of users, most of whom wait for each other: the queue that is always there.
//!
//! Such a run has no low load. It still shows a queue: each request waits for those before it, so that even the fastest ones take far longer than the first
//! ones of the run, which met no queue. Requests whose own times merely scatter are sometimes as fast as those. By the utilisation law the throughput of a
//! queue that never empties is the limit, and by the asymptotic bounds (Denning and Buzen 1978) N* = X · (Z + R₀) users reach it.

use loadstone_metrics::{Histogram, SeriesKey, SeriesKind, Snapshot};
use loadstone_run_directory::Run;

use crate::RunTally;

/// Seconds of load that the comparison needs.
const LOADED_SECONDS_MIN: usize = 12;
/// Most users over fewest in the second half of the load, up to which their number is constant.
const SAME_USERS_FACTOR_MAX: f64 = 1.2;
/// Requests of one name in the second half. With fewer, their fastest tenth is no request.
const REQUESTS_MIN: u64 = 10;
/// The quantile of the fastest requests.
const FAST_QUANTILE: f64 = 0.1;
/// Part of the mean time by which even the fast ones exceed the shortest time, from which each request waits.
const WAITING_SHARE_MIN: f64 = 0.5;
/// Below this part, requests do not wait in a common queue.
const NO_WAIT_SHARE_MAX: f64 = 0.2;
/// And the least wait. Seconds.
const WAIT_MIN_S: f64 = 0.02;
/// Requests that wait at any time.
const WAITING_MIN: f64 = 1.5;

/// How long the requests of a constant level of users took, and how long all of them waited.
#[derive(Debug, Clone)]
pub(crate) struct ConstantUsers {
    pub(crate) users: f64,
    /// The second half of the load. Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) requests: Vec<RequestOfUsers>,
    /// Requests in flight, mean.
    pub(crate) in_flight: f64,
    /// Iterations that ended per second.
    pub(crate) iterations: f64,
}

/// One request name. Seconds.
#[derive(Debug, Clone)]
pub(crate) struct RequestOfUsers {
    pub(crate) name: String,
    /// Requests that ended per second.
    pub(crate) throughput: f64,
    /// The shortest time in the run.
    pub(crate) shortest: f64,
    /// The time of the fast ones in the second half.
    fast: f64,
    pub(crate) mean: f64,
}

/// Requests that always wait.
pub(crate) struct UserQueue<'a> {
    pub(crate) waiting: Vec<&'a RequestOfUsers>,
    /// Of these requests, per second.
    pub(crate) throughput: f64,
    /// How long each of them waits at least, and its shortest time. Means, in seconds.
    pub(crate) least_wait_s: f64,
    pub(crate) shortest_s: f64,
    /// Throughput × shortest time: places, if each request holds one for the same time.
    pub(crate) places: f64,
    /// Users that would reach the same throughput, or more than that: the shortest times may include a wait.
    pub(crate) users_needed: f64,
}

/// `None`: arrivals, too short, or the number of users varied.
pub(super) fn find(run: &Run, tally: &RunTally) -> Option<ConstantUsers> {
    let asked = |slice: &Snapshot| slice.leaves.iter().map(|leaf| leaf.users_asked).sum::<u64>();
    let is_open = run.slices.iter().flat_map(|slice| &slice.leaves).any(|leaf| leaf.arrivals_due > 0);
    let loaded: Vec<&Snapshot> = run.slices.iter().filter(|slice| asked(slice) > 0).collect();
    if is_open || loaded.len() < LOADED_SECONDS_MIN {
        return None;
    }
    let half = loaded.get(loaded.len() / 2..loaded.len() - 1)?;
    let (least, most) = (half.iter().map(|slice| asked(slice)).min()?, half.iter().map(|slice| asked(slice)).max()?);
    if most as f64 > SAME_USERS_FACTOR_MAX * least as f64 {
        return None;
    }
    let seconds = half.iter().map(|slice| slice.end - slice.start).sum::<u64>() as f64 / 1e9;
    let requests =
        tally.of_kind(SeriesKind::Request).filter_map(|series| request(&series.merged.key, &series.merged.service, half, seconds));
    let in_flight = half.iter().flat_map(|slice| &slice.generator).map(|worker| worker.in_flight_ns).sum::<u64>() as f64 / 1e9 / seconds;
    let iterations = half.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.ended).sum::<u64>() as f64 / seconds;
    let (from, to) = (half.first()?.start as f64 / 1e9, half.last()?.end as f64 / 1e9);
    Some(ConstantUsers { users: most as f64, from, to, requests: requests.collect(), in_flight, iterations })
}

fn request(key: &SeriesKey, all: &Histogram, half: &[&Snapshot], seconds: f64) -> Option<RequestOfUsers> {
    let mut late = Histogram::new();
    half.iter().flat_map(|slice| &slice.series).filter(|series| series.key == *key).for_each(|series| late.merge(&series.service));
    (late.count() >= REQUESTS_MIN).then_some(())?;
    Some(RequestOfUsers {
        name: key.name.to_string(),
        throughput: late.count() as f64 / seconds,
        shortest: all.min() as f64 / 1e9,
        fast: late.quantile(FAST_QUANTILE)? as f64 / 1e9,
        mean: late.mean()? / 1e9,
    })
}

impl RequestOfUsers {
    fn least_wait_s(&self) -> f64 {
        (self.fast - self.shortest).max(0.0)
    }
}

impl ConstantUsers {
    /// Requests that ended per second.
    pub(crate) fn throughput(&self) -> f64 {
        self.requests.iter().map(|request| request.throughput).sum()
    }

    /// Time between the requests of an iteration: N / X − R (the response time law). Seconds.
    pub(crate) fn think_s(&self) -> f64 {
        (self.users - self.in_flight).max(0.0) / self.iterations.max(1e-9)
    }

    /// The requests that always wait, if that takes up more users than one.
    pub(crate) fn queue(&self) -> Option<UserQueue<'_>> {
        let waits = |of: &&RequestOfUsers| of.least_wait_s() >= f64::max(WAITING_SHARE_MIN * of.mean, WAIT_MIN_S);
        let waiting: Vec<&RequestOfUsers> = self.requests.iter().filter(waits).collect();
        let sum = |of: &dyn Fn(&RequestOfUsers) -> f64| waiting.iter().map(|request| request.throughput * of(request)).sum::<f64>();
        let (throughput, wait) = (sum(&|_| 1.0), sum(&RequestOfUsers::least_wait_s));
        let places = sum(&|request| request.shortest);
        // A scenario whose iterations do not end has no N*.
        let alone: f64 = self.requests.iter().map(|request| request.throughput * request.shortest).sum();
        let users_needed = self.users - self.in_flight + alone;
        (wait >= WAITING_MIN && self.iterations > 0.0).then(|| UserQueue {
            throughput,
            least_wait_s: wait / throughput,
            shortest_s: places / throughput,
            places,
            users_needed,
            waiting,
        })
    }

    /// Whether requests were as fast as the first ones again and again, so that no queue was always there.
    pub(crate) fn is_free(&self) -> bool {
        let is_fast = |of: &RequestOfUsers| of.least_wait_s() <= f64::max(NO_WAIT_SHARE_MAX * of.mean, WAIT_MIN_S / 2.0);
        !self.requests.is_empty() && self.requests.iter().all(is_fast)
    }

    /// Iterations per second that the system reaches at least, even if all of the response time were spent in a single queue: mean-value analysis (Reiser and
    /// Lavenberg, "Mean-value analysis of closed multichain queuing networks", 1980), solved for the demand D that gives this response time. Times are
    /// assumed exponential; evenly distributed ones queue less, so that their D is larger.
    pub(crate) fn least_ceiling(&self) -> Option<f64> {
        let (think, response) = (self.think_s(), self.in_flight / self.iterations.max(1e-9));
        let users = self.users as u64;
        let time_with = |demand: f64| {
            let (mut queue, mut time) = (0.0, demand);
            for n in 1..=users {
                time = demand * (1.0 + queue);
                queue = n as f64 / (time + think) * time;
            }
            time
        };
        let (mut low, mut high) = (0.0, response);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if time_with(middle) > response { high = middle } else { low = middle }
        }
        (low > 0.0).then(|| 1.0 / low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(users: f64, iterations: f64, in_flight: f64) -> ConstantUsers {
        ConstantUsers { users, from: 0.0, to: 60.0, requests: Vec::new(), in_flight, iterations }
    }

    /// One exponential server of 0.1 s, ten users that think for a second: R = 0.1·(1 + Q(9)), from the exact recursion.
    #[test]
    fn mean_value_analysis_gives_back_the_demand_of_a_single_queue() {
        let (mut queue, mut time, mut rate) = (0.0, 0.0, 0.0);
        for n in 1..=10 {
            time = 0.1 * (1.0 + queue);
            rate = f64::from(n) / (time + 1.0);
            queue = rate * time;
        }
        let found = users(10.0, rate, rate * time);
        assert!((found.think_s() - 1.0).abs() < 1e-9 && (found.least_ceiling().unwrap() - 10.0).abs() < 1e-6);
    }

    #[test]
    fn a_request_whose_fast_ones_are_as_fast_as_the_first_does_not_wait() {
        let request = |fast: f64| RequestOfUsers { name: "Buy".into(), throughput: 6.0, shortest: 0.1, fast, mean: 1.0 };
        let of = |fast: f64| ConstantUsers { requests: vec![request(fast)], ..users(20.0, 6.0, 6.0) };
        assert!(of(0.2).is_free() && of(0.2).queue().is_none());
        let waits = of(0.9);
        let queue = waits.queue().unwrap();
        assert!(!waits.is_free() && (queue.least_wait_s - 0.8).abs() < 1e-9 && (queue.places - 0.6).abs() < 1e-9);
        // 14 users are between requests, and 0.6 requests need the time of one that does not wait.
        assert!((queue.users_needed - 14.6).abs() < 1e-9);
    }
}
