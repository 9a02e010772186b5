//! Requests whose throughput stopped following the load while their times grew, and how many of them are served at a time.
//!
//! Behind a pool of k slots, a lock (k = 1) or k workers with service time S, throughput cannot exceed k/S. Once the load asks for more, throughput remains
//! there, and response times grow by the wait for a slot. By Little's law k = X_max · S₀, where S₀ is the service time under low load.

use loadstone_metrics::{SeriesKind, Snapshot};
use loadstone_run_directory::Run;

use super::joint_response::{self, JointResponse};
use super::load_blocks::{LoadBlock, LoadStretch};
use super::load_response::{CALM_REQUESTS_MIN, LoadResponse, SLOWER_FACTOR_MIN};
use super::pace::Evenness;
use crate::Evidence;
use crate::instant::named;
use crate::statistics::{Z_95, Z_95_ONE_SIDED, quantile, student_t};

/// Factor by which an unaffected request may take longer than under low load.
const UNAFFECTED_INFLATION_MAX: f64 = 1.25;
/// Factor of growth from which the plateau is certain, if its size is known well enough.
const STRONG_GROWTH_FACTOR_MIN: f64 = 3.0;
/// Throughput of a plateau as a part of the throughput that the load asks for, going by low load. Above it, nothing limits the throughput noticeably.
const REACHED_PART_MAX: f64 = 0.90;
/// The same at the top of a load that ends just above the limit.
const JUST_ABOVE_REACHED_PART_MAX: f64 = 0.95;
/// Relative growth of throughput that counts as none.
const NO_GROWTH_MAX: f64 = 0.04;
/// Factor by which the throughput of a plateau may still grow while the load grows by more.
const FLAT_GROWTH_FACTOR_MAX: f64 = 1.15;
/// Longest service time over the shortest from which an even pace excludes slots: slots would give each request its own time.
const DIFFERENT_SERVICE_FACTOR_MIN: f64 = 2.0;
/// Seconds that an even pace needs. Independent counts are as even in about one of a hundred runs (chi-squared with five degrees of freedom).
const EVEN_SECONDS_MIN: usize = 6;
/// Part of the longest growth from which a request waits with the others.
const WAITS_WITH_PART_MIN: f64 = 0.05;
/// Part of the longest growth from which a request has begun to wait.
const ONSET_PART: f64 = 0.1;
/// Blocks within which requests of one queue begin to wait.
const TOGETHER_BLOCKS: f64 = 4.0;
/// Users from which they may wait for each other.
const CROWD_USERS_MIN: f64 = 2.0;
/// Part of the plateau's throughput from which closed load with few users is near the limit, and does not show how long a request takes alone.
const NEAR_LIMIT_PART_MIN: f64 = 0.75;
/// Factor of users over which equal times show that none of them waits.
const MORE_USERS_FACTOR_MIN: f64 = 1.5;
/// Factor within which times count as equal.
const SAME_TIME_FACTOR_MAX: f64 = 1.1;
/// Part of the wait of others below which a request does not wait in their queue.
const LESS_WAIT_PART_MAX: f64 = 0.5;
/// Blocks that a plateau needs.
const PLATEAU_BLOCKS_MIN: usize = 4;
/// Requests that a limit holds back: one at least, less the error of the estimate.
const HELD_BACK_MIN: f64 = 0.9;
/// Share of failed requests of a block above which it shows failures, and not how many requests are served.
const FAILED_SHARE_MAX: f64 = 0.20;

/// All plateaus of a run, and the other requests during the first of them.
pub(crate) struct Plateaus {
    pub(crate) limited: Vec<Plateau>,
    /// Requests whose times were stable meanwhile.
    pub(crate) unaffected: Vec<UnaffectedRequest>,
    /// How many other requests took clearly longer.
    pub(crate) grown: usize,
    /// Throughput × time of the other requests of the same scenarios that did not clearly wait less: they may hold the same places.
    others_places: f64,
    /// How evenly all limited requests together leave the plateau.
    pub(crate) pace: Option<Evenness>,
}

/// A request whose throughput stopped following the load.
pub(crate) struct Plateau {
    pub(crate) name: String,
    is_open: bool,
    pub(crate) low: LoadStretch,
    /// The very lowest load, long enough for a few requests.
    pub(crate) lowest: LoadStretch,
    /// Times were equal while the load grew within `lowest`. Under closed load no request waited there then: N users that wait take N / X seconds per turn
    /// (Little 1961), so that with half as many users more the times would be half as long again.
    is_alone: bool,
    /// The shortest time of any of them. Seconds.
    shortest: f64,
    /// Mean time of the first requests, under the fewest users; `None` of fewer than two. Seconds.
    first: Option<f64>,
    pub(crate) high: LoadStretch,
    /// Throughput of the plateau over the throughput that the load asks for, going by low load.
    pub(crate) reached: f64,
    /// Seconds, and the throughput that the load asks for from then on, going by low load.
    asked: Vec<(f64, f64)>,
}

/// A request whose times were stable while others were limited.
pub(crate) struct UnaffectedRequest {
    pub(crate) name: String,
    /// Its time over that under low load.
    pub(crate) inflation: f64,
}

/// How many requests are served at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotEstimate {
    pub(crate) slots: f64,
    /// Half of the 95 % interval.
    pub(crate) half: f64,
    /// The most places that there may be: some may be idle, and other requests may hold some. Below one, there is no such place.
    pub(crate) most: f64,
}

impl Plateaus {
    pub(super) fn of(responses: &[LoadResponse], run: &Run) -> Self {
        let mut limited: Vec<Plateau> = responses.iter().filter_map(plateau).collect();
        for joint in joint_response::find(responses) {
            limited = with_members(limited, &joint);
        }
        let mut others: Vec<&LoadResponse> =
            responses.iter().filter(|response| limited.iter().all(|plateau| plateau.name != response.name)).collect();
        // A request that hardly takes longer, compared with the others, does not wait in their queue: its users are held up elsewhere.
        let most = limited.iter().map(Plateau::growth).fold(0.0, f64::max);
        limited.retain(|plateau| plateau.growth() >= WAITS_WITH_PART_MIN * most);
        if held_back(&limited) < HELD_BACK_MIN {
            limited.clear();
        }
        // Requests that began to wait clearly later only followed.
        let later = remove_later(&mut limited, responses);
        let Some(first) = limited.first() else {
            return Self { limited, unaffected: Vec::new(), grown: 0, others_places: 0.0, pace: None };
        };
        let (from, to) = (first.high.from, later.iter().map(|(_, onset)| *onset).fold(first.high.to, f64::min));
        others.extend(responses.iter().filter(|response| later.iter().any(|(name, _)| *name == response.name)));
        let unaffected = others.iter().filter_map(|response| {
            let inflation = response.inflation(from, to).filter(|inflation| *inflation <= UNAFFECTED_INFLATION_MAX)?;
            Some(UnaffectedRequest { name: response.name.clone(), inflation })
        });
        let unaffected = unaffected.collect();
        let carries = |response: &&&LoadResponse| response.growth(from, to).is_none_or(|growth| growth >= WAITS_WITH_PART_MIN * most);
        let grown = others.iter().filter(|response| response.has_grown(SLOWER_FACTOR_MIN, from, to)).filter(carries).count();
        let others_places = others.iter().map(|other| places_of_other(other, &limited, responses)).sum();
        let pace = pace(&limited, run);
        Self { limited, unaffected, grown, others_places, pace }
    }

    /// The pace of the limited requests, if it is even, whether or not their service times differ.
    pub(crate) fn paced(&self) -> Option<Evenness> {
        self.pace.filter(Evenness::is_even)
    }

    /// The pace, if it is even though service times differ: requests then leave at a rate, regardless of their times.
    pub(crate) fn even(&self) -> Option<Evenness> {
        self.paced().filter(|_| self.service_times_apart() >= DIFFERENT_SERVICE_FACTOR_MIN)
    }

    /// Standard deviation of their times under low load. Seconds.
    pub(crate) fn service_scatter(&self) -> f64 {
        let sum =
            |of: &dyn Fn(&LoadStretch) -> f64| self.limited.iter().map(|plateau| plateau.high.throughput * of(&plateau.low)).sum::<f64>();
        let rate = sum(&|_| 1.0).max(1e-9);
        let squares = sum(&|low| low.service.powi(2) + low.service_deviation.powi(2));
        (squares / rate - (sum(&|low| low.service) / rate).powi(2)).max(0.0).sqrt()
    }

    /// The longest service time of limited requests over the shortest.
    pub(crate) fn service_times_apart(&self) -> f64 {
        service_times_apart(&self.limited)
    }

    /// From the begin of the first plateau to the end of the last.
    pub(crate) fn span(&self) -> Option<(f64, f64)> {
        let from = self.limited.iter().map(|plateau| plateau.high.from).reduce(f64::min)?;
        Some((from, self.limited.iter().map(|plateau| plateau.high.to).fold(from, f64::max)))
    }

    /// How many requests are served at a time. Requests of one pool share its slots: their parts add up, and relative errors combine in quadrature.
    pub(crate) fn concurrency(&self) -> SlotEstimate {
        let mut total = 0.0;
        let mut variance = 0.0;
        for plateau in &self.limited {
            let (service, systematic) = service_without_waiting(plateau);
            let (alone, high) = (plateau.nearest_to_alone(), &plateau.high);
            let slots = high.throughput * service;
            total += slots;
            let relative =
                (alone.mean_error() / alone.service).powi(2) + (high.throughput_error / high.throughput).powi(2) + systematic.powi(2);
            variance += slots * slots * relative;
        }
        let half = student_t(SLOTS_FREEDOM) * f64::sqrt(variance);
        SlotEstimate { slots: total, half, most: self.most_places(total + half + self.others_places) }
    }

    /// The most places at which so many are busy while as many requests wait as observed: with more places, fewer would wait. Before k places at utilisation ρ,
    /// ρ^√(2(k+1)) / (1 − ρ) · c requests wait on average (Sakasegawa, "An approximation formula L_q ≃ α·ρ^β/(1 − ρ)", 1977), with c from the scatter of
    /// service times under low load and random arrivals. The users of closed load arrive less randomly, so that fewer wait at the same utilisation.
    fn most_places(&self, busy: f64) -> f64 {
        let sum = |of: &dyn Fn(&Plateau) -> f64| self.limited.iter().map(of).sum::<f64>();
        let rate = sum(&|plateau| plateau.high.throughput);
        let mean = sum(&|plateau| plateau.high.throughput * plateau.low.service) / rate.max(1e-9);
        let scatter = (self.service_scatter() / mean.max(1e-9)).powi(2);
        let random = f64::midpoint(1.0, scatter);
        let waiting = sum(&|plateau| plateau.high.throughput * plateau.growth());
        let expected = |places: f64| if busy >= places { f64::INFINITY } else { expected_waiting(busy, places) * random };
        if busy < 1.0 && expected(1.0) < waiting {
            return busy;
        }
        let mut most = busy.max(1.0);
        while most < 2.0 * busy.max(1.0) && expected(most.floor() + 1.0) >= waiting {
            most = most.floor() + 1.0;
        }
        most
    }

    /// The request that holds most of the places, and its share of them: throughput × its time under low load.
    pub(crate) fn busiest(&self) -> Option<(&Plateau, f64)> {
        let places = |plateau: &Plateau| plateau.high.throughput * plateau.low.service;
        let all: f64 = self.limited.iter().map(places).sum();
        let most = self.limited.iter().max_by(|a, b| places(a).total_cmp(&places(b)))?;
        Some((most, places(most) / all.max(1e-9)))
    }

    /// Whether the plateau shows this number of places.
    pub(crate) fn are_places(&self, number: f64) -> bool {
        let concurrency = self.concurrency();
        let holds = |(low, high): (f64, f64)| (low..=high).contains(&number.round());
        !self.limited.is_empty() && concurrency.is_known() && concurrency.whole().is_some_and(holds)
    }

    /// Whether so many places explain the plateau: its number, or fewer where places that are held for part of the time explain it as well.
    pub(crate) fn are_explained_by(&self, number: f64) -> bool {
        let concurrency = self.concurrency();
        let allows = |(low, high): (f64, f64)| number.round() <= high && (number.round() >= low || !concurrency.is_size_known());
        !self.limited.is_empty() && concurrency.is_known() && concurrency.whole().is_some_and(allows)
    }

    /// Whether so many places, held for a part of each request, explain a rate at which no whole number is served at a time. By the utilisation law, each is
    /// held for the number over the rate, and for no longer than the request takes.
    pub(crate) fn is_rate_of(&self, number: f64) -> bool {
        let concurrency = self.concurrency();
        !self.limited.is_empty() && concurrency.whole().is_none() && number.round() <= concurrency.slots + concurrency.half
    }

    /// How many places there are if each request holds one for the same time under any load. The fastest request then did not wait, and throughput × its time
    /// is the number of places (Little 1961). `None`: it is no whole number, or may be one by chance.
    pub(crate) fn places_of_equal_times(&self) -> Option<f64> {
        let places: f64 = self.limited.iter().map(|plateau| plateau.high.throughput * plateau.shortest).sum();
        (places >= ONE_SLOT_MIN && (places - places.round()).abs() <= WHOLE_WITHIN).then(|| places.round())
    }

    /// The same, if all requests take as long as the fastest while there is no queue: under the fewest users they did.
    pub(crate) fn places_of_first(&self) -> Option<f64> {
        let as_fast = |plateau: &Plateau| plateau.first.is_some_and(|first| first <= SAME_TIME_FACTOR_MAX * plateau.shortest);
        self.places_of_equal_times().filter(|_| self.limited.iter().all(as_fast))
    }

    /// How many places there are at most, where closed load was never low enough to show their number. Even under the fewest users some requests may have
    /// waited, so that throughput × time (Little 1961) includes them. `None`: the load was low enough, or the bound is not informative.
    pub(crate) fn places_at_most(&self) -> Option<f64> {
        let most = self.limited.iter().map(|plateau| plateau.high.throughput * upper_mean(&plateau.lowest)).sum::<f64>();
        let (low, high) =
            self.limited.iter().fold((0.0, 0.0), |(low, high), plateau| (low + plateau.low.throughput, high + plateau.high.throughput));
        let is_unseen = self.limited.iter().all(|plateau| !plateau.is_open) && low >= NEAR_LIMIT_PART_MIN * high;
        let fewest = |of: fn(&Plateau) -> f64| self.limited.iter().map(of).fold(f64::INFINITY, f64::min);
        // It is at most the few users that completed as many requests as all users later.
        let says_something = most <= PLACES_PER_LOWEST_USER_MAX * fewest(|plateau| plateau.lowest.load)
            || most <= PLACES_PER_USER_MAX * fewest(|plateau| plateau.high.load);
        (is_unseen && most >= ONE_SLOT_MIN && says_something).then(|| (most - ROUNDED_DOWN).ceil().max(1.0))
    }

    /// The range of whole numbers of places: by throughput × time without waiting, or, if that leaves it open, by the times of the first and the fastest
    /// requests.
    pub(crate) fn seen_places(&self) -> Option<(f64, f64)> {
        let concurrency = self.concurrency();
        let of_first = || {
            let (places, most) = self.places_of_first().zip(self.places_at_most())?;
            (places <= most).then_some((places, places))
        };
        if concurrency.is_known() { concurrency.whole() } else { of_first().or_else(|| concurrency.whole()) }
    }

    /// The names of the limited requests, quoted: all of them, or the first ones and the number of the others.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.limited.iter().map(|plateau| plateau.name.as_str()).collect();
        if names.len() <= NAMED_MAX {
            let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            match quoted.split_last() {
                Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
                _ => quoted.concat(),
            }
        } else {
            named(&names)
        }
    }
}

/// Requests that are listed by name.
const NAMED_MAX: usize = 3;
/// Places for each user of a plateau up to which an upper bound on the places is informative.
const PLACES_PER_USER_MAX: f64 = 0.25;
/// Places for each user under the lowest load up to which it is informative. Little's law bounds the places of any system by the number of users.
const PLACES_PER_LOWEST_USER_MAX: f64 = 0.65;

/// Distance to a whole number that chance gives in one of four cases.
const WHOLE_WITHIN: f64 = 0.125;
/// Part of a place that is added by time spent without a place, by some waiting, and by the width of the interval.
const ROUNDED_DOWN: f64 = 0.35;

/// The upper end of the 95 % interval of the mean service time.
fn upper_mean(stretch: &LoadStretch) -> f64 {
    stretch.service + Z_95 * stretch.service_deviation / (stretch.count.max(1) as f64).sqrt()
}

/// Part by which an estimate may miss the whole number that it means: some waiting under low load, and time without a slot, count as service time.
const NEAR_WHOLE_WITHIN: f64 = 0.10;
/// Degrees of freedom of the estimate: there are at least three blocks of low load and four of high load.
const SLOTS_FREEDOM: f64 = 6.0;
/// From this estimate on there is one slot: the estimate may be a little low.
pub(super) const ONE_SLOT_MIN: f64 = 0.9;
/// Probability of a whole number by chance, up to which a whole number rules out places that are held for part of the request. They are as common as places
/// that are held for all of it.
pub(crate) const WHOLE_UNDER_PARTIAL_HOLD_MAX: f64 = 0.1;
/// Most possible slots over the fewest up to which their number is known.
const SLOT_RANGE_FACTOR_MAX: f64 = 1.7;

impl SlotEstimate {
    /// The range of whole numbers that the estimate may mean, at least one. `None`: there is none, so that the limit is not a number of slots.
    pub(crate) fn whole(self) -> Option<(f64, f64)> {
        let (low, high) = ((self.slots - self.half).max(1.0).ceil(), f64::max(self.slots + self.half, self.most).floor());
        let nearest = self.slots.round().max(1.0);
        let is_one = self.slots < 1.0 && self.slots + self.half >= ONE_SLOT_MIN;
        match low <= high {
            true => Some((low, high)),
            false if is_one || (self.slots - nearest).abs() <= NEAR_WHOLE_WITHIN * nearest => Some((nearest, nearest)),
            false => None,
        }
    }

    /// The probability that an arbitrary number is as close to a whole one, or within its own interval of one.
    pub(crate) fn whole_by_chance(self) -> f64 {
        if self.whole().is_some_and(|(low, high)| low < high) {
            return 1.0;
        }
        let off = (self.slots - self.slots.round().max(1.0)).abs();
        (2.0 * f64::max(off, self.half)).min(1.0)
    }

    /// Whether places that are held for part of the request are unlikely: the number is whole by more than chance, or there are fewer than two.
    pub(crate) fn is_size_known(self) -> bool {
        self.is_one() || self.whole_by_chance() <= WHOLE_UNDER_PARTIAL_HOLD_MAX
    }

    /// Whether less than one place explains the throughput as well: a share of a core, that is.
    pub(crate) fn may_be_a_share(self) -> bool {
        self.is_one() && self.slots - self.half < ONE_SLOT_MIN
    }

    /// Whether there is a single place: even the upper bound is less than two.
    pub(crate) fn is_one(self) -> bool {
        f64::max(self.slots + self.half, self.most) < 2.0
    }

    /// Whether the range is narrow enough to state a number: one that includes a number and its double is not.
    pub(crate) fn is_known(self) -> bool {
        self.whole().is_some_and(|(low, high)| high <= SLOT_RANGE_FACTOR_MAX * low)
    }
}

impl Plateau {
    /// What shows the plateau: the request's own throughput and times, with what the load asked for.
    pub(crate) fn evidence(&self, text: String) -> Evidence {
        let (low, high) = (&self.low, &self.high);
        let stretch = (high.from, high.to);
        let series = vec!["rate/asked".to_owned(), "rate/requests".to_owned(), "service/mean".to_owned()];
        Evidence::new(text, series, stretch)
            .of_requests([self.name.as_str()])
            .line("rate/requests", "asked for", self.asked.clone())
            .level("rate/requests", "stopped at", high.throughput, stretch)
            .level("service/mean", "low load", low.service, (low.from, low.to))
            .level("service/mean", "high load", high.service, stretch)
    }

    /// How much longer it takes than under low load. Seconds.
    pub(crate) fn growth(&self) -> f64 {
        self.high.service - self.low.service
    }

    /// The load with so few users that it may show the time of one request alone: the very lowest load, where low load is near the limit already.
    fn nearest_to_alone(&self) -> &LoadStretch {
        if !self.is_open && self.low.load >= CROWD_USERS_MIN && self.is_near_the_limit() && self.is_lowest_below() {
            &self.lowest
        } else {
            &self.low
        }
    }

    fn is_near_the_limit(&self) -> bool {
        self.low.throughput >= NEAR_LIMIT_PART_MIN * self.high.throughput
    }

    fn is_lowest_below(&self) -> bool {
        self.is_alone || self.lowest.throughput < NEAR_LIMIT_PART_MIN * self.high.throughput
    }

    /// Whether times grew so much that the plateau is certain.
    pub(crate) fn is_strong(&self) -> bool {
        self.high.service >= STRONG_GROWTH_FACTOR_MIN * self.low.service
    }
}

/// How many of them are in the system on average, by Little's law (throughput × time). A limit always has at least one. With fewer, requests ended less often
/// because fewer were sent, by chance or by the script.
fn held_back(limited: &[Plateau]) -> f64 {
    limited.iter().map(|plateau| plateau.high.throughput * plateau.high.service).sum()
}

/// With all requests that wait together, if their common throughput stops and one of them is too rare to show it by itself.
fn with_members(limited: Vec<Plateau>, joint: &JointResponse<'_>) -> Vec<Plateau> {
    let is_found = |name: &str| limited.iter().any(|plateau| plateau.name == name);
    if joint.members.iter().all(|(response, _)| is_found(&response.name)) {
        return limited;
    }
    let Some(together) = plateau(&joint.response) else { return limited };
    let member = |(response, low): &(&LoadResponse, LoadStretch)| {
        let high = LoadStretch::of(&response.blocks_between(together.high.from, together.high.to))?;
        let (lowest, is_alone) = lowest(response)?;
        Some(Plateau {
            name: response.name.clone(),
            is_open: response.is_open,
            low: *low,
            lowest,
            is_alone,
            shortest: response.shortest,
            first: first_mean(response),
            high,
            reached: together.reached,
            asked: asked(response, high.throughput / (together.reached * high.load)),
        })
    };
    let members: Vec<Plateau> = joint.members.iter().filter_map(member).collect();
    let apart = limited.into_iter().filter(|plateau| joint.members.iter().all(|(response, _)| response.name != plateau.name));
    apart.chain(members).collect()
}

/// Removes requests that began to wait clearly later than the first, beyond the error of the onsets. Their names and onsets.
fn remove_later(limited: &mut Vec<Plateau>, responses: &[LoadResponse]) -> Vec<(String, f64)> {
    let by = ONSET_PART * limited.iter().map(Plateau::growth).fold(0.0, f64::max);
    let onset = |plateau: &Plateau| responses.iter().find(|response| response.name == plateau.name)?.onset(plateau.low.service + by);
    let Some(first) = limited.iter().filter_map(onset).reduce(f64::min) else { return Vec::new() };
    let block = responses.iter().map(LoadResponse::block_length).fold(1.0, f64::max);
    let latest = first + TOGETHER_BLOCKS * block;
    let least = limited.iter().filter(|plateau| onset(plateau).is_some_and(|onset| onset <= latest));
    let waiting: Vec<&LoadResponse> = least.filter_map(|plateau| responses.iter().find(|response| response.name == plateau.name)).collect();
    // A request that waits only now and then has no onset.
    let is_later = |plateau: &&Plateau| {
        let begins = onset(plateau).unwrap_or(plateau.high.from);
        begins > latest && waits_less(plateau_response(responses, plateau), &waiting, (first, begins))
    };
    let later: Vec<(String, f64)> =
        limited.iter().filter(is_later).map(|plateau| (plateau.name.clone(), onset(plateau).unwrap_or(plateau.high.from))).collect();
    limited.retain(|plateau| later.iter().all(|(name, _)| *name != plateau.name));
    later
}

fn plateau_response<'r>(responses: &'r [LoadResponse], plateau: &Plateau) -> Option<&'r LoadResponse> {
    responses.iter().find(|response| response.name == plateau.name)
}

/// Whether a request clearly waits for less time than any of these in a stretch. In one queue all requests wait equally long, regardless of their service
/// times.
fn waits_less(response: Option<&LoadResponse>, waiting: &[&LoadResponse], (from, to): (f64, f64)) -> bool {
    let Some((growth, error)) = response.and_then(|response| response.growth_and_error(from, to)) else { return false };
    let others = waiting.iter().filter_map(|other| other.growth(from, to));
    others.reduce(f64::min).is_some_and(|least| growth + Z_95_ONE_SIDED * error < LESS_WAIT_PART_MAX * least)
}

/// How many of the places another request may hold: throughput × its time alone, unless it waits less than they do or belongs to another scenario.
fn places_of_other(other: &LoadResponse, limited: &[Plateau], responses: &[LoadResponse]) -> f64 {
    let of_limited = |plateau: &Plateau| plateau_response(responses, plateau);
    let waiting: Vec<&LoadResponse> = limited.iter().filter_map(of_limited).collect();
    let (from, to) =
        limited.iter().fold((f64::INFINITY, 0.0_f64), |(from, to), plateau| (from.min(plateau.high.from), to.max(plateau.high.to)));
    let is_of_same_scenario = waiting.iter().any(|response| response.scenario == other.scenario);
    if !is_of_same_scenario || waits_less(Some(other), &waiting, (from, to)) {
        return 0.0;
    }
    LoadStretch::of(&other.blocks_between(from, to))
        .map_or(0.0, |during| during.throughput * other.low.map_or(during.service, |low| low.service.min(during.service)))
}

/// Well above the limit, the plateau is the stretch in which the load asks for more than the best throughput. Just above it, it is the stretch in which times
/// grew.
fn plateau(response: &LoadResponse) -> Option<Plateau> {
    let per_load = response.throughput_per_load()?;
    let top = top_throughput(response);
    let starved = response.blocks.iter().filter(|block| per_load * block.load * REACHED_PART_MAX >= top && block.count > 0).collect();
    let grown = [STRONG_GROWTH_FACTOR_MIN, SLOWER_FACTOR_MIN].into_iter().map(|times| response.grown_blocks(times));
    std::iter::once(starved).chain(grown).find_map(|blocks| plateau_in(response, per_load, blocks))
}

fn plateau_in(response: &LoadResponse, per_load: f64, mut blocks: Vec<&LoadBlock>) -> Option<Plateau> {
    let low = response.low?;
    blocks.retain(|block| shows_service(block));
    let high = if blocks.len() < PLATEAU_BLOCKS_MIN { None } else { LoadStretch::of(&blocks) }?;
    // Slow seconds that are scattered over the run are no plateau.
    if !response.has_grown(SLOWER_FACTOR_MIN, high.from, high.to) {
        return None;
    }
    blocks.sort_by(|a, b| a.load.total_cmp(&b.load).then(a.from.total_cmp(&b.from)));
    let (lower, upper) = blocks.split_at(blocks.len() / 2);
    let (lower, upper) = (LoadStretch::of(lower)?, LoadStretch::of(upper)?);
    let noise = 2.0 * upper.throughput_error.hypot(lower.throughput_error);
    let growth = upper.throughput - lower.throughput;
    let reached = high.throughput / (per_load * high.load);
    let (lowest, is_alone) = lowest(response)?;
    let is_far_above = reached <= REACHED_PART_MAX && (growth <= lower.throughput * (FLAT_GROWTH_FACTOR_MAX - 1.0) || growth < noise);
    // Throughput must have taken up less than half of the load's growth, while times grew strongly.
    let is_just_above = upper.throughput <= JUST_ABOVE_REACHED_PART_MAX * per_load * upper.load
        && growth < lower.throughput * f64::max(0.5 * (upper.load / lower.load - 1.0), NO_GROWTH_MAX)
        && high.service >= STRONG_GROWTH_FACTOR_MIN * low.service;
    (is_far_above || is_just_above).then(|| Plateau {
        name: response.name.clone(),
        is_open: response.is_open,
        low,
        lowest,
        is_alone,
        shortest: response.shortest,
        first: first_mean(response),
        high,
        reached,
        asked: asked(response, per_load),
    })
}

/// The throughput that the load asks for over time.
fn asked(response: &LoadResponse, per_load: f64) -> Vec<(f64, f64)> {
    let middle = |block: &LoadBlock| (f64::midpoint(block.from, block.to), per_load * block.load);
    response.blocks.iter().map(middle).collect()
}

/// How many requests wait for `places` of which so many are busy: ρ^√(2(k+1)) / (1 − ρ) (Sakasegawa 1977, for random arrivals and times).
pub(super) fn expected_waiting(busy: f64, places: f64) -> f64 {
    let utilisation = busy / places;
    utilisation.powf((2.0 * (places + 1.0)).sqrt()) / (1.0 - utilisation)
}

/// Mean service time under the fewest users, of at least two requests. Seconds.
fn first_mean(response: &LoadResponse) -> Option<f64> {
    let (count, sum) = response.first;
    (count >= 2).then(|| sum / count as f64)
}

/// The stretch of the very lowest load, and whether times were equal in it while the load grew.
fn lowest(response: &LoadResponse) -> Option<(LoadStretch, bool)> {
    let mut blocks: Vec<&LoadBlock> = response.blocks.iter().filter(|block| block.count > 0).collect();
    blocks.sort_by(|a, b| a.load.total_cmp(&b.load).then(a.from.total_cmp(&b.from)));
    let counts = blocks.iter().scan(0, |ended, block| {
        *ended += block.count;
        Some(*ended)
    });
    let enough = counts.into_iter().position(|ended| ended >= CALM_REQUESTS_MIN)?;
    let (first, last) = (blocks[0], blocks[enough]);
    let mean = |block: &LoadBlock| block.service_sum / block.count.max(1) as f64;
    let is_alone = last.load >= MORE_USERS_FACTOR_MIN * first.load && mean(last) <= SAME_TIME_FACTOR_MAX * mean(first);
    Some((LoadStretch::of(&blocks[..=enough])?, is_alone))
}

/// The longest service time over the shortest.
fn service_times_apart(limited: &[Plateau]) -> f64 {
    let services = || limited.iter().map(|plateau| plateau.low.service);
    services().fold(0.0, f64::max) / services().fold(f64::INFINITY, f64::min)
}

/// The pace in the second half of the plateau, when all of its requests are certainly held back. With places, the number that leaves in a second depends on the
/// service times of the requests in them.
fn pace(limited: &[Plateau], run: &Run) -> Option<Evenness> {
    let from = limited.iter().map(|plateau| plateau.high.from).fold(f64::INFINITY, f64::min);
    let to = limited.iter().map(|plateau| plateau.high.to).fold(0.0, f64::max);
    let is_late = |slice: &&Snapshot| slice.seconds() == 1 && slice.start as f64 / 1e9 >= from.midpoint(to) && slice.end as f64 / 1e9 <= to;
    let is_limited = |name: &str| limited.iter().any(|plateau| plateau.name == name);
    let ended = |slice: &Snapshot| {
        let series = slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request && is_limited(&series.key.name));
        series.map(|series| series.count).sum::<u64>() as f64
    };
    let counts: Vec<f64> = run.slices.iter().filter(is_late).map(ended).collect();
    Evenness::of(&counts, EVEN_SECONDS_MIN)
}

/// The throughput that a tenth of the blocks reaches.
/// Whether few requests failed. Requests that time out, or are refused, end sooner than they would be served.
fn shows_service(block: &LoadBlock) -> bool {
    block.failed as f64 <= FAILED_SHARE_MAX * block.count as f64
}

fn top_throughput(response: &LoadResponse) -> f64 {
    let served = response.blocks.iter().filter(|block| shows_service(block));
    quantile(&served.map(LoadBlock::throughput).collect::<Vec<f64>>(), 0.9)
}

/// The service time under low load without the waiting that there is even then, and the relative standard error of this correction.
///
/// With utilisation ρ = X_low / X_max, the wait for one of k slots is about S · ρ^(√(2(k+1)) − 1) / (k(1 − ρ)) · c (Sakasegawa 1977), where c lies between 0
/// (regular arrivals and services) and 1 (both exponential). The correction assumes the middle, with that span as its error. Waits of random arrivals scatter
/// by no less than their mean, so that the observed scatter bounds them. The users of closed load arrive less randomly. If nearly as many requests ended per
/// second under low load as at any time, the time of one request alone was not observed.
fn service_without_waiting(plateau: &Plateau) -> (f64, f64) {
    let Plateau { is_open, low, high, .. } = plateau;
    if !is_open && low.load < CROWD_USERS_MIN {
        return (low.service, 0.0);
    }
    if !is_open && plateau.is_near_the_limit() {
        if !plateau.is_lowest_below() {
            return (low.service, 1.0);
        }
        // Some requests may have waited even then, but no longer than times scatter.
        let alone = &plateau.lowest;
        let wait = (alone.service_deviation / alone.service.max(1e-9)).min(1.0) / 2.0;
        return (alone.service / (1.0 + wait), wait);
    }
    let utilisation = (low.throughput / high.throughput).min(0.9);
    let mut service = low.service;
    let mut wait = 0.0;
    for _ in 0..20 {
        let slots = (high.throughput * service).max(1.0);
        wait = 0.5 * utilisation.powf((2.0 * (slots + 1.0)).sqrt() - 1.0) / (slots * (1.0 - utilisation));
        wait = wait.min(low.service_deviation / low.service.max(1e-9));
        service = low.service / (1.0 + wait);
    }
    (service, wait / 2.0)
}

#[cfg(test)]
mod tests {
    use super::SlotEstimate;

    #[test]
    fn an_interval_with_a_number_and_more_than_its_double_is_not_known() {
        let known = |slots, half| SlotEstimate { slots, half, most: slots }.is_known();
        assert!(known(1.0, 0.1) && known(1.0, 0.9) && known(4.0, 1.0) && known(8.0, 2.4));
        assert!(!known(14.5, 13.5) && !known(2.0, 1.5) && !known(5.0, 4.0));
        // It is not shown to be below one either, which would be a limiter.
        assert!(SlotEstimate { slots: 14.5, half: 13.5, most: 14.5 }.whole().is_some());
    }
}
