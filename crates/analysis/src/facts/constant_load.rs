//! A load of one level, of which most requests wait for each other: the queue that is always there.
//!
//! Such a run has no low load. It still shows a queue: each request waits for those before it, so that even the fastest ones take far longer than the first
//! ones of the run, which met no queue. Requests whose own times merely scatter are sometimes as fast as those. Where users begin at once, their first requests
//! show the queue as well: more of them are fast than later, since it was empty at first. By the utilisation law the throughput of a
//! queue that never empties is the limit. By the asymptotic bounds (Denning and Buzen 1978) N* = X · (Z + R₀) users reach it. Arrivals above the limit leave
//! more and more requests in the system.

use loadstone_metrics::{Histogram, SeriesKey, SeriesKind, Snapshot};
use loadstone_run_directory::Run;

use super::in_service::{self, InService};
use super::load_stretches;
use crate::RunTally;
use crate::statistics::binomial_at_least;

/// Seconds of load that the comparison needs.
const LOADED_SECONDS_MIN: usize = 12;
/// Highest load over lowest of the thirds of its second half, up to which it is constant.
const SAME_LOAD_FACTOR_MAX: f64 = 1.2;
/// Standard deviations of the number of requests in the system (Poisson) by which it must grow under arrivals.
const GROWN_DEVIATIONS_MIN: f64 = 2.0;
/// Part of that growth that each quarter of the load must have: a queue grows all along, and the number in the system follows a step of times at once.
const GROWTH_OF_QUARTER_MIN: f64 = 0.2;
/// Requests of one name in the second half. With fewer, their fastest tenth is no request.
const REQUESTS_MIN: u64 = 10;
/// The quantile of the fastest requests.
const FAST_QUANTILE: f64 = 0.1;
/// Part of the mean time by which even the fast ones exceed the shortest time, from which each request waits.
const WAITING_SHARE_MIN: f64 = 0.5;
/// The same while the queue grows, where the fast ones are those of its beginning, and where the first requests of users show that it was empty at first.
const GROWING_WAITING_SHARE_MIN: f64 = 0.2;
/// Below this part, requests do not wait in a common queue.
const NO_WAIT_SHARE_MAX: f64 = 0.2;
/// Probability that as few requests of any name are fast, from which some of them wait.
const TOO_FEW_FAST_P_VALUE: f64 = 0.05;
/// Probability that as many of the first requests are fast by chance, up to which users who begin at once have met a shorter queue than later.
const FILLS_P_VALUE_MAX: f64 = 0.001;
/// And the least wait. Seconds.
const WAIT_MIN_S: f64 = 0.02;
/// Time over the shortest one from which a request has waited.
const WAITED_FACTOR_MIN: f64 = 2.0;
/// Requests that wait at any time.
const WAITING_MIN: f64 = 1.5;
/// Times up to these multiples of the shortest one are as long as it, and nearly as long. Times are stored to 0.4 %.
const AS_LONG_FACTORS: [f64; 2] = [1.01, AS_LONG_FACTOR_MAX];
const AS_LONG_FACTOR_MAX: f64 = 1.25;
/// Multiples of the shortest time near which the first requests of a queue end if all take equally long, and the distance, as a part of that time.
const MULTIPLES: u32 = 6;
const MULTIPLE_WITHIN: f64 = 0.2;
/// Probability, for each of three patterns, that times which scatter like exponential ones show it.
const EQUAL_BY_CHANCE_MAX: f64 = 0.015;
/// Part by which a shortest time of few may exceed the mean.
const FEW_ABOVE_MEAN_PART: f64 = 0.1;
/// Part of the time for which a single queue is busy at most in a system that is far from its limit. Evenly distributed times queue less than exponential
/// ones, so that a queue that is busy for 90 % of the time may seem to be so for 80 %.
const FAR_FROM_LIMIT_PART_MAX: f64 = 0.8;
/// Part of the requests in the system that the waiting ones must make up. Otherwise the shortest times of others may include a wait for the same places.
const WAITING_OF_ALL_MIN: f64 = 0.9;

/// How long the requests of a constant load took, and how long all of them waited.
#[derive(Debug, Clone)]
pub(crate) struct ConstantLoad {
    /// Users; `None`: arrivals.
    pub(crate) users: Option<f64>,
    /// Arrivals per second that were planned, or users.
    pub(crate) asked: f64,
    /// Whether the load was constant in the first half, too.
    pub(super) was_constant: bool,
    /// Whether the number of requests in the system grew all along, or is bounded by the users.
    has_growing_queue: bool,
    /// Whether the requests of users who began at once were faster than later ones: the queue was empty at first.
    has_filled_queue: bool,
    in_service: Option<InService>,
    /// The second half of the load. Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) requests: Vec<ConstantRequest>,
    /// Requests in flight, mean.
    pub(crate) in_flight: f64,
    /// Iterations that ended per second.
    pub(crate) iterations: f64,
}

/// One request name. Seconds.
#[derive(Debug, Clone)]
pub(crate) struct ConstantRequest {
    pub(crate) name: String,
    /// Requests that ended per second.
    pub(crate) throughput: f64,
    /// The shortest time in the run.
    pub(crate) shortest: f64,
    /// Requests of the second half, and those that took about as long as the shortest.
    late: (u64, u64),
    /// The time of the fast ones in the second half.
    fast: f64,
    pub(crate) mean: f64,
    /// Other requests of the run that took as long as the shortest, within each of [`AS_LONG_FACTORS`].
    as_long: [u64; 2],
    /// Requests that took up to [`MULTIPLES`] times as long, and how many of them took about a whole multiple.
    few_times_as_long: (u64, u64),
}

/// Requests that always wait.
pub(crate) struct ConstantQueue<'a> {
    pub(crate) waiting: Vec<&'a ConstantRequest>,
    /// Of these requests, per second.
    pub(crate) throughput: f64,
    /// How long each of them waits at least, and its shortest time. Means, in seconds.
    pub(crate) least_wait_s: f64,
    pub(crate) shortest_s: f64,
    /// Throughput × shortest time: places, if each request holds one for the same time.
    pub(crate) places: f64,
    /// The whole numbers of places that the shortest times allow, if they show that each request holds a place for about the same time.
    pub(crate) places_if_equal: Option<(f64, f64)>,
    /// The most places, if several names wait, one of them shows that it takes equally long, and the others do, too: their shortest times may include a wait.
    pub(crate) places_at_most: Option<f64>,
    /// How many requests are in service, by the first responses of users who began at once.
    pub(crate) in_service: Option<&'a InService>,
    /// Users that would reach the same throughput, or more than that: the shortest times may include a wait. `None`: arrivals.
    pub(crate) users_needed: Option<f64>,
}

/// `None`: too short, the load varied, or it consists of arrivals and users.
pub(super) fn find(run: &Run, tally: &RunTally) -> Option<ConstantLoad> {
    let users_asked = |slice: &Snapshot| slice.leaves.iter().map(|leaf| leaf.users_asked).sum::<u64>() as f64;
    let is_open = run.slices.iter().flat_map(|slice| &slice.leaves).any(|leaf| leaf.arrivals_due > 0);
    let planned = if is_open { load_stretches::planned_in_all(run)? } else { run.slices.iter().map(users_asked).collect() };
    let loaded: Vec<(&Snapshot, f64)> = run.slices.iter().zip(planned).filter(|(_, load)| *load > 0.0).collect();
    if loaded.len() < LOADED_SECONDS_MIN {
        return None;
    }
    let half = loaded.get(loaded.len() / 2..loaded.len() - 1)?;
    // Even arrivals at 1.5/s are one or two in a second.
    let load_of = |third: &[(&Snapshot, f64)]| third.iter().map(|(_, load)| load).sum::<f64>() / third.len() as f64;
    let least_and_most = |part: &[(&Snapshot, f64)]| {
        let loads = part.chunks_exact(part.len() / 3).take(3).map(load_of);
        loads.fold((f64::INFINITY, 0.0_f64), |(least, most), load| (least.min(load), most.max(load)))
    };
    let (least, most) = least_and_most(half);
    let (least_ever, most_ever) = least_and_most(&loaded[1..loaded.len() - 1]);
    if most > SAME_LOAD_FACTOR_MAX * least {
        return None;
    }
    let quarter = |number: usize| {
        let slices = &loaded[number * loaded.len() / 4..(number + 1) * loaded.len() / 4];
        mean_in_system(&slices.iter().map(|(slice, _)| *slice).collect::<Vec<_>>())
    };
    let in_system = [quarter(0), quarter(1), quarter(2), quarter(3)];
    let (grown, last) = (in_system[3] - in_system[1], in_system[3]);
    let grows_in_each = in_system.windows(2).all(|pair| pair[1] - pair[0] >= GROWTH_OF_QUARTER_MIN * grown);
    let has_growing_queue = !is_open || (grown >= GROWN_DEVIATIONS_MIN * last.sqrt() && grows_in_each);
    let asked = load_of(half);
    let was_constant = most_ever <= SAME_LOAD_FACTOR_MAX * least_ever;
    let loaded_slices: Vec<&Snapshot> = loaded.iter().map(|(slice, _)| *slice).collect();
    let half: Vec<&Snapshot> = half.iter().map(|(slice, _)| *slice).collect();
    let seconds = half.iter().map(|slice| slice.end - slice.start).sum::<u64>() as f64 / 1e9;
    let requests =
        tally.of_kind(SeriesKind::Request).filter_map(|series| request(&series.merged.key, &series.merged.service, &half, seconds));
    let requests: Vec<ConstantRequest> = requests.collect();
    let iterations = half.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.ended).sum::<u64>() as f64 / seconds;
    let (from, to) = (half.first()?.start as f64 / 1e9, half.last()?.end as f64 / 1e9);
    Some(ConstantLoad {
        users: (!is_open).then_some(most),
        asked,
        was_constant,
        has_growing_queue,
        has_filled_queue: !is_open && has_filled_queue(loaded[0].0, most, &requests),
        in_service: if is_open || !was_constant { None } else { in_service::find(&loaded_slices, most) },
        from,
        to,
        requests,
        in_flight: mean_in_system(&half),
        iterations,
    })
}

/// Requests in progress, mean.
fn mean_in_system(slices: &[&Snapshot]) -> f64 {
    let seconds = slices.iter().map(|slice| slice.end - slice.start).sum::<u64>() as f64;
    slices.iter().flat_map(|slice| &slice.generator).map(|worker| worker.in_flight_ns).sum::<u64>() as f64 / seconds.max(1.0)
}

/// Whether more of the first second's requests were as fast as the fast tenth of later ones than chance allows. Users who begin at once send one request each,
/// and another one for each that ends. If none waits for another, each of them is as fast as that with the same probability, whenever it ends.
fn has_filled_queue(first: &Snapshot, users: f64, requests: &[ConstantRequest]) -> bool {
    let (mut ended, mut fast) = (0, 0);
    for series in first.series.iter().filter(|series| series.key.kind == SeriesKind::Request) {
        ended += series.service.count();
        let later = requests.iter().find(|request| *request.name == *series.key.name);
        fast += later.map_or(0, |later| series.service.count_at_or_below((later.fast * 1e9) as u64));
    }
    let began_at_once = first.leaves.iter().map(|leaf| leaf.users_asked).sum::<u64>() as f64 >= users / SAME_LOAD_FACTOR_MAX;
    began_at_once && binomial_at_least(fast, ended + users as u64, FAST_QUANTILE) <= FILLS_P_VALUE_MAX
}

fn request(key: &SeriesKey, all: &Histogram, half: &[&Snapshot], seconds: f64) -> Option<ConstantRequest> {
    let mut late = Histogram::new();
    half.iter().flat_map(|slice| &slice.series).filter(|series| series.key == *key).for_each(|series| late.merge(&series.service));
    (late.count() >= REQUESTS_MIN).then_some(())?;
    let shortest = all.min() as f64;
    let (shortest_s, mean) = (shortest / 1e9, late.mean()? / 1e9);
    let up_to = |times: f64| all.count_at_or_below((times * shortest) as u64).saturating_sub(1);
    let around = |multiple: f64| up_to(multiple + MULTIPLE_WITHIN).saturating_sub(up_to((multiple - MULTIPLE_WITHIN).max(1.0)));
    Some(ConstantRequest {
        name: key.name.to_string(),
        throughput: late.count() as f64 / seconds,
        shortest: shortest_s,
        fast: late.quantile(FAST_QUANTILE)? as f64 / 1e9,
        mean,
        late: (late.count(), late.count_at_or_below(((shortest_s + no_wait_max(mean)) * 1e9) as u64)),
        as_long: AS_LONG_FACTORS.map(up_to),
        few_times_as_long: (
            up_to(f64::from(MULTIPLES) + MULTIPLE_WITHIN),
            (1..=MULTIPLES).map(|multiple| around(f64::from(multiple))).sum(),
        ),
    })
}

/// The longest wait that counts as none. Seconds.
fn no_wait_max(mean_s: f64) -> f64 {
    f64::max(NO_WAIT_SHARE_MAX * mean_s, WAIT_MIN_S / 2.0)
}

impl ConstantRequest {
    fn least_wait_s(&self) -> f64 {
        (self.fast - self.shortest).max(0.0)
    }

    /// Whether the shortest times show that the requests take about equally long without waiting, which these patterns do:
    ///
    /// - Several requests took as long as the shortest. Of n exponential times, the number up to f times the shortest is k or more with a probability of (1 −
    ///   1/f)ᵏ, whatever n is: the excess over a minimum of exponential times is exponential again.
    /// - The first requests of a queue took one, two, three … times as long. Times without such steps are near a multiple by chance.
    fn takes_equally_long(&self) -> bool {
        let by_chance = |(factor, count): (f64, u64)| (1.0 - 1.0 / factor).powf(count as f64);
        let (all, near) = self.few_times_as_long;
        AS_LONG_FACTORS.into_iter().zip(self.as_long).map(by_chance).any(|chance| chance <= EQUAL_BY_CHANCE_MAX)
            || binomial_at_least(near, all, 2.0 * MULTIPLE_WITHIN) <= EQUAL_BY_CHANCE_MAX
    }
}

impl ConstantLoad {
    /// Requests that ended per second.
    pub(crate) fn throughput(&self) -> f64 {
        self.requests.iter().map(|request| request.throughput).sum()
    }

    /// Whether arrivals of one rate came all along, and no queue of them was always there.
    pub(crate) fn is_constant_without_queue(&self) -> bool {
        self.users.is_none() && self.was_constant && self.queue().is_none()
    }

    /// Time between the requests of an iteration: N / X − R (the response time law). Seconds.
    pub(crate) fn think_s(&self) -> f64 {
        (self.users.unwrap_or(self.in_flight) - self.in_flight).max(0.0) / self.iterations.max(1e-9)
    }

    /// The least time of a request alone, if a queue is there in all of the run: the mean of the shortest times, in seconds.
    pub(crate) fn alone_s(&self) -> Option<f64> {
        self.queue().filter(|_| self.was_constant)?;
        let alone: f64 = self.requests.iter().map(|request| request.throughput * request.shortest).sum();
        Some(alone / self.throughput())
    }

    /// The requests that always wait, if more than one does at any time.
    pub(crate) fn queue(&self) -> Option<ConstantQueue<'_>> {
        let is_queue_certain = self.users.is_none() || self.has_filled_queue;
        let share = if is_queue_certain { GROWING_WAITING_SHARE_MIN } else { WAITING_SHARE_MIN };
        let waits = |of: &&ConstantRequest| of.least_wait_s() >= f64::max(share * of.mean, WAIT_MIN_S);
        let waiting: Vec<&ConstantRequest> = self.requests.iter().filter(waits).collect();
        let sum = |of: &dyn Fn(&ConstantRequest) -> f64| waiting.iter().map(|request| request.throughput * of(request)).sum::<f64>();
        let (throughput, wait) = (sum(&|_| 1.0), sum(&ConstantRequest::least_wait_s));
        let places = sum(&|request| request.shortest);
        // A scenario whose iterations do not end has no N*.
        let alone: f64 = self.requests.iter().map(|request| request.throughput * request.shortest).sum();
        let users_needed = self.users.map(|users| users - self.in_flight + alone);
        (wait >= WAITING_MIN && self.iterations > 0.0 && self.has_growing_queue).then(|| ConstantQueue {
            throughput,
            least_wait_s: wait / throughput,
            shortest_s: places / throughput,
            places,
            places_if_equal: self.places_if_equal(&waiting, places),
            places_at_most: self.places_at_most(&waiting, places),
            in_service: self.in_service.as_ref(),
            users_needed,
            waiting,
        })
    }

    /// The first requests of one name meet no queue. Those of a later name may meet the one that has begun meanwhile, so several names show no number.
    fn places_if_equal(&self, waiting: &[&ConstantRequest], places: f64) -> Option<(f64, f64)> {
        let [one] = waiting else { return None };
        let in_system = |request: &ConstantRequest| request.throughput * request.mean;
        let all: f64 = self.requests.iter().map(in_system).sum();
        if in_system(one) < WAITING_OF_ALL_MIN * all || !one.takes_equally_long() {
            return None;
        }
        let (low, high) = ((places * (1.0 - FEW_ABOVE_MEAN_PART)).ceil(), (places * AS_LONG_FACTOR_MAX).floor());
        (low <= high).then_some((low.max(1.0), high))
    }

    /// Several names share their places. The first request of the run met no queue, and those of other names may have met the one that began meanwhile. Their
    /// shortest times are then too long, and the number is too large.
    fn places_at_most(&self, waiting: &[&ConstantRequest], places: f64) -> Option<f64> {
        let in_system = |request: &ConstantRequest| request.throughput * request.mean;
        let (all, own): (f64, f64) = (self.requests.iter().map(in_system).sum(), waiting.iter().map(|one| in_system(one)).sum());
        let is_shown = waiting.len() > 1 && own >= WAITING_OF_ALL_MIN * all && waiting.iter().any(|one| one.takes_equally_long());
        is_shown.then(|| (places * AS_LONG_FACTOR_MAX).floor().max(1.0)).filter(|most| *most <= self.in_flight / 2.0)
    }

    /// Whether a request of this name waited as long as this even before times changed.
    pub(crate) fn waited_at(&self, name: &str, time_s: f64) -> bool {
        self.requests.iter().any(|request| request.name == name && time_s >= WAITED_FACTOR_MIN * request.shortest)
    }

    /// Whether requests were as fast as the first ones again and again, so that no queue was always there.
    pub(crate) fn is_free(&self) -> bool {
        // As few of one name may be fast by chance: the binomial distribution, with the error divided among the names (Bonferroni).
        let error = TOO_FEW_FAST_P_VALUE / self.requests.len().max(1) as f64;
        let is_too_slow = |of: &ConstantRequest| {
            let (all, fast) = of.late;
            let is_less = (fast as f64) < FAST_QUANTILE * all as f64;
            let is_beyond_chance = 1.0 - binomial_at_least(fast + 1, all, FAST_QUANTILE) < error;
            // With less than one of them in progress, no queue of them is always there.
            is_less && (is_beyond_chance || of.throughput * of.mean >= 1.0)
        };
        let (all, fast) = self.requests.iter().fold((0, 0), |sum, of| (sum.0 + of.late.0, sum.1 + of.late.1));
        fast > 0 && fast as f64 >= FAST_QUANTILE * all as f64 && !self.requests.iter().any(is_too_slow)
    }

    /// Whether the system would not be at its limit even if all of the response time were spent in a single queue.
    pub(crate) fn is_far_from_limit(&self) -> bool {
        self.was_constant && self.least_ceiling().is_some_and(|ceiling| self.iterations <= FAR_FROM_LIMIT_PART_MAX * ceiling)
    }

    /// Iterations per second that the system reaches at least, even if all of the response time were spent in a single queue: mean-value analysis (Reiser and
    /// Lavenberg, "Mean-value analysis of closed multichain queuing networks", 1980), solved for the demand D that gives this response time. Times are
    /// assumed exponential; evenly distributed ones queue less, so that their D is larger.
    pub(crate) fn least_ceiling(&self) -> Option<f64> {
        let users = self.users? as u64;
        let (think, response) = (self.think_s(), self.in_flight / self.iterations.max(1e-9));
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

    fn users(users: f64, iterations: f64, in_flight: f64) -> ConstantLoad {
        let (asked, users, was_constant, has_growing_queue, has_filled_queue) = (users, Some(users), true, true, false);
        let requests = Vec::new();
        ConstantLoad {
            users,
            asked,
            was_constant,
            has_growing_queue,
            has_filled_queue,
            in_service: None,
            from: 0.0,
            to: 60.0,
            requests,
            in_flight,
            iterations,
        }
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
        let request = |fast: f64| request(fast, (0, 0));
        let of = |fast: f64| ConstantLoad { requests: vec![request(fast)], ..users(20.0, 6.0, 6.0) };
        assert!(of(0.2).is_free() && of(0.2).queue().is_none());
        let waits = of(0.9);
        let queue = waits.queue().unwrap();
        assert!(!waits.is_free() && (queue.least_wait_s - 0.8).abs() < 1e-9 && (queue.places - 0.98).abs() < 1e-9);
        // 14 users are between requests, and 0.98 requests need the time of one that does not wait.
        assert!((queue.users_needed.unwrap() - 14.98).abs() < 1e-9);
    }

    fn request(fast: f64, few_times_as_long: (u64, u64)) -> ConstantRequest {
        ConstantRequest {
            name: "Buy".into(),
            throughput: 9.8,
            shortest: 0.1,
            late: (100, if fast < 0.3 { 10 } else { 0 }),
            fast,
            mean: 1.0,
            as_long: [0, 0],
            few_times_as_long,
        }
    }

    /// Closed form: P(K ≥ 2) = (1/5)² of one geometric number, and 0.4⁵ of five that are all near a multiple.
    #[test]
    fn times_are_equal_only_beyond_chance() {
        let of = |as_long: [u64; 2], few: (u64, u64)| {
            let request = ConstantRequest { as_long, ..request(0.9, few) };
            ConstantLoad { requests: vec![request], ..users(20.0, 9.8, 6.0) }.queue().unwrap().places_if_equal
        };
        assert_eq!(of([0, 2], (0, 0)), None, "4 % by chance");
        assert_eq!((of([0, 3], (0, 0)), of([1, 1], (0, 0))), (Some((1.0, 1.0)), Some((1.0, 1.0))), "0.8 % and 1 % by chance");
        assert_eq!((of([0, 0], (4, 4)), of([0, 0], (7, 5))), (None, None), "2.6 % and 10 % by chance");
        assert_eq!(of([0, 0], (5, 5)), Some((1.0, 1.0)), "1 % by chance");
    }
}
