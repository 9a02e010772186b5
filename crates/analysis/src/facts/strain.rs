//! Whether work was held up during any stretch of a run, however short, for any shape of the load.
//!
//! A busy resource is no limit while work passes it in the usual time. By Little's law, the number of requests in the system over the number that ends per
//! second is the time in the system under any load. [`super::waiting`] finds and describes the long stretches. This fact answers for any stretch in which a
//! resource was busy.

use loadstone_metrics::{Outcome, SeriesKind, Snapshot};
use loadstone_run_directory::Run;

use super::load_stretches;
use super::plateau::Plateaus;
use super::readings::SignalReadings;
use super::waiting::WaitingStretch;
use crate::statistics::best_tenth;

/// Factor over the time in the best tenth of the load from which a second counts as held up.
const HELD_UP_FACTOR_MIN: f64 = 1.5;
/// And the least difference. Seconds.
const HELD_UP_BY_MIN_S: f64 = 0.005;
/// Share of the seconds of a stretch that must be held up, or of a long wait during which a resource must be busy.
const HELD_UP_SHARE_MIN: f64 = 0.5;
/// And seconds of such a wait.
const OVERLAP_MIN_S: f64 = 5.0;
/// Seconds that a resource must have been busy before work was held up, with a lower throughput, for something other than the load to keep it busy.
pub(super) const BUSY_BEFORE_MIN_S: f64 = 10.0;
/// The throughput before, as a part of that while work was held up.
const LOWER_THROUGHPUT_PART_MAX: f64 = 0.67;
/// Share of requests with a time-out from which work is held up.
const TIMEOUT_SHARE_MIN: f64 = 0.1;
/// Share of failed requests from which a full resource refuses them.
const FAILED_SHARE_MIN: f64 = 0.1;
/// And as a multiple of the share in the other seconds.
const FAILED_FACTOR_MIN: f64 = 3.0;
/// Requests in the system for each place, under closed load, from which requests wait for a resource that is always busy.
const REQUESTS_PER_PLACE_MIN: f64 = 2.0;
/// Seconds of low load that a comparison with high load needs.
const LOAD_SECONDS_MIN: usize = 3;
/// Planned high load over planned low load from which the load has varied.
const ASKED_VARIED_FACTOR_MIN: f64 = 1.5;
/// Part of all time in the system that must be added time for its distribution over the run to mean anything.
const ADDED_PART_MIN: f64 = 0.25;
/// Seconds on either side over which rates are averaged.
const RATE_SECONDS_AROUND: usize = 2;

/// Stretches of time as `(from, to)`. Seconds since the run began.
pub(crate) type Spans = Vec<(f64, f64)>;

pub(crate) struct Strain {
    seconds: Vec<StrainSecond>,
    /// Waiting stretches and plateaus, as `(from, to)`.
    known: Vec<(f64, f64)>,
    /// Time in the system without waiting: in the best tenth of the load, or of a request alone. Seconds.
    base_s: f64,
}

struct StrainSecond {
    from: f64,
    to: f64,
    /// Requests in flight, and arrivals that wait for a user.
    in_system: f64,
    /// Arrivals per second that were planned, or users that were wanted.
    asked: f64,
    ended: f64,
    timed_out: f64,
    failed: f64,
    is_closed: bool,
    time_s: f64,
}

impl Strain {
    pub(super) fn of(run: &Run, waiting: &[WaitingStretch], plateaus: &Plateaus) -> Self {
        // Random arrivals of a constant load are no varying load.
        let planned = load_stretches::planned_in_all(run).unwrap_or_default();
        let planned = planned.into_iter().chain(std::iter::repeat(0.0));
        let each = run.slices.iter().zip(planned).filter(|(slice, _)| slice.end > slice.start);
        let mut seconds: Vec<StrainSecond> = each.map(|(slice, planned)| second(slice, planned)).collect();
        seconds.retain(|second| second.in_system > 0.0 || second.ended > 0.0);
        let rates: Vec<f64> = (0..seconds.len())
            .map(|index| {
                let around = &seconds[index.saturating_sub(RATE_SECONDS_AROUND)..(index + RATE_SECONDS_AROUND + 1).min(seconds.len())];
                let length: f64 = around.iter().map(|second| second.to - second.from).sum();
                // Without any request that ended, one may have ended just now.
                around.iter().map(|second| second.ended).sum::<f64>().max(1.0) / length.max(1e-9)
            })
            .collect();
        seconds.iter_mut().zip(rates).for_each(|(second, rate)| second.time_s = second.in_system / rate);
        let times: Vec<f64> = seconds.iter().filter(|second| second.ended > 0.0).map(|second| second.time_s).collect();
        let base_s = best_tenth(&times).unwrap_or(0.0);
        let waited = waiting.iter().map(|stretch| (stretch.from, stretch.to));
        let flat = plateaus.limited.iter().map(|plateau| (plateau.high.from, plateau.high.to));
        Self { seconds, known: waited.chain(flat).collect(), base_s }
    }

    /// With further stretches in which work waited.
    pub(super) fn with(mut self, known: impl Iterator<Item = (f64, f64)>) -> Self {
        self.known.extend(known);
        self
    }

    /// With the time of a request alone, where a queue was there in all of the load: its best tenth waited as well. Seconds.
    pub(super) fn against(self, alone_s: Option<f64>) -> Self {
        Self { base_s: alone_s.map_or(self.base_s, |alone_s| alone_s.min(self.base_s)), ..self }
    }

    /// The part of a stretch, in which a resource with this many places was busy, during which work was held up. `None` where it was not, and where the
    /// resource was as busy before at a clearly lower throughput: then something other than the load keeps it busy.
    pub(crate) fn held_part(&self, span: (f64, f64), places: f64) -> Option<(f64, f64)> {
        self.part_held_up(span, places).filter(|part| !self.is_background((span.0, part.0), *part))
    }

    /// The same for a signal without an upper limit, such as a number of waiting requests: the resource was as busy before only if as many waited.
    pub(crate) fn held_part_of(&self, waiting: &SignalReadings<'_>, span: (f64, f64)) -> Option<(f64, f64)> {
        let part = self.part_held_up(span, waiting.mean(span.0, span.1)?)?;
        let before = (span.0, part.0);
        let were_as_many =
            || waiting.mean(before.0, before.1) >= waiting.mean(part.0, part.1).map(|count| LOWER_THROUGHPUT_PART_MAX * count);
        (!(self.is_background(before, part) && were_as_many())).then_some(part)
    }

    /// The share of requests that failed in a stretch, if it was far larger than in the other seconds.
    pub(crate) fn failed_more(&self, (from, to): (f64, f64)) -> Option<f64> {
        let is_inside = |second: &&StrainSecond| second.to > from && second.from < to;
        let (inside, outside): (Vec<&StrainSecond>, Vec<&StrainSecond>) = self.seconds.iter().partition(is_inside);
        let share = |seconds: &[&StrainSecond]| {
            let ended: f64 = seconds.iter().map(|second| second.ended).sum();
            seconds.iter().map(|second| second.failed).sum::<f64>() / ended.max(1.0)
        };
        let failed = share(&inside);
        (failed >= FAILED_SHARE_MIN && failed >= FAILED_FACTOR_MIN * share(&outside)).then_some(failed)
    }

    fn part_held_up(&self, (from, to): (f64, f64), places: f64) -> Option<(f64, f64)> {
        let overlaps = self.known.iter().map(|(a, b)| (a.max(from), b.min(to), b - a));
        let shared = overlaps.filter(|(a, b, length)| b - a >= f64::max(OVERLAP_MIN_S, HELD_UP_SHARE_MIN * length));
        match shared.max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0))) {
            Some((a, b, _)) => Some((a, b)),
            None => self.is_mostly_held_up((from, to), places).then_some((from, to)),
        }
    }

    /// Whether the throughput was clearly lower for long before.
    fn is_background(&self, before: (f64, f64), part: (f64, f64)) -> bool {
        before.1 - before.0 >= BUSY_BEFORE_MIN_S
            && self.in_system(before.0, before.1).is_some()
            && self.throughput(before.0, before.1) < LOWER_THROUGHPUT_PART_MAX * self.throughput(part.0, part.1)
    }

    fn is_mostly_held_up(&self, (from, to): (f64, f64), places: f64) -> bool {
        let inside: Vec<&StrainSecond> = self.between(from, to).collect();
        if inside.is_empty() {
            return false;
        }
        let count = inside.len() as f64;
        let held = inside.iter().filter(|second| self.is_held_up(second)).count() as f64;
        let ended: f64 = inside.iter().map(|second| second.ended).sum();
        let timed_out: f64 = inside.iter().map(|second| second.timed_out).sum();
        let in_system = inside.iter().map(|second| second.in_system).sum::<f64>() / count;
        // After the load, the last requests end.
        let mut loaded = inside.iter().filter(|second| second.asked > 0.0).peekable();
        let is_closed = loaded.peek().is_some() && loaded.all(|second| second.is_closed);
        let is_crowded = is_closed && in_system >= REQUESTS_PER_PLACE_MIN * places;
        held >= HELD_UP_SHARE_MIN * count || timed_out >= TIMEOUT_SHARE_MIN * ended.max(1.0) || is_crowded
    }

    /// Mean number of requests in the system; `None` without a second of load in the stretch.
    pub(crate) fn in_system(&self, from: f64, to: f64) -> Option<f64> {
        let (count, sum) = self.between(from, to).fold((0.0, 0.0), |(count, sum), second| (count + 1.0, sum + second.in_system));
        (count > 0.0).then(|| sum / count)
    }

    /// Requests that ended per second.
    pub(crate) fn throughput(&self, from: f64, to: f64) -> f64 {
        let (length, ended) =
            self.between(from, to).fold((0.0, 0.0), |(length, ended), second| (length + second.to - second.from, ended + second.ended));
        if length > 0.0 { ended / length } else { 0.0 }
    }

    /// The part of the added request time of the run that was spent in a stretch. Added are the requests in the system beyond those that would be there at the
    /// same throughput with the time of the best tenth of the load (Little's law). `None` where hardly any time was added, and where so many requests of the
    /// stretch failed that time does not measure the harm.
    pub(crate) fn added_part(&self, (from, to): (f64, f64)) -> Option<f64> {
        let added = |second: &StrainSecond| {
            let usual = if second.time_s > 0.0 { second.in_system * self.base_s / second.time_s } else { 0.0 };
            (second.in_system - usual).max(0.0) * (second.to - second.from)
        };
        let sum = |seconds: &mut dyn Iterator<Item = &StrainSecond>| seconds.map(added).sum::<f64>();
        let all: f64 = self.seconds.iter().map(|second| second.in_system * (second.to - second.from)).sum();
        let total = sum(&mut self.seconds.iter());
        let (ended, failed) = self.between(from, to).fold((0.0, 0.0), |sum, second| (sum.0 + second.ended, sum.1 + second.failed));
        (total > ADDED_PART_MIN * all && failed < FAILED_SHARE_MIN * f64::max(ended, 1.0)).then(|| sum(&mut self.between(from, to)) / total)
    }

    /// The most requests that ended per second, over any few consecutive seconds.
    pub(crate) fn most_throughput(&self) -> f64 {
        let windows = self.seconds.windows(2 * RATE_SECONDS_AROUND + 1);
        let rate = |window: &[StrainSecond]| {
            let length: f64 = window.iter().map(|second| second.to - second.from).sum();
            window.iter().map(|second| second.ended).sum::<f64>() / length.max(1e-9)
        };
        windows.map(rate).fold(0.0, f64::max)
    }

    /// Requests that ended per second over several stretches; `None` where no request ended in them.
    pub(crate) fn throughput_inside(&self, spans: &[(f64, f64)]) -> Option<f64> {
        let inside = spans.iter().flat_map(|(from, to)| self.between(*from, *to));
        let (length, ended) = inside.fold((0.0, 0.0), |(length, ended), second| (length + second.to - second.from, ended + second.ended));
        (ended > 0.0).then(|| ended / length)
    }

    /// Mean number of arrivals due per second, or of users wanted; 0 without a second of load in the stretch.
    pub(crate) fn asked(&self, from: f64, to: f64) -> f64 {
        let (count, sum) = self.between(from, to).fold((0.0, 0.0), |(count, sum), second| (count + 1.0, sum + second.asked));
        sum / f64::max(count, 1.0)
    }

    /// The first and the last instant with open load; `None` if any load was closed.
    pub(crate) fn last_asked(&self) -> Option<(f64, f64)> {
        let mut asked = self.seconds.iter().filter(|second| second.asked > 0.0);
        let first = asked.next()?;
        let is_open = self.seconds.iter().all(|second| !second.is_closed);
        is_open.then(|| (first.from, asked.next_back().unwrap_or(first).to))
    }

    /// The load of each second, from its begin.
    pub(crate) fn loads(&self) -> Vec<(f64, f64)> {
        self.seconds.iter().map(|second| (second.from, second.asked)).collect()
    }

    /// Share of the requests that failed, of those that ended in a stretch.
    pub(crate) fn failed_share(&self, (from, to): (f64, f64)) -> f64 {
        let (failed, ended) = self.between(from, to).fold((0.0, 0.0), |sum, second| (sum.0 + second.failed, sum.1 + second.ended));
        failed / f64::max(ended, 1.0)
    }

    /// The most requests per second that passed, over so many consecutive seconds.
    pub(crate) fn most_passed(&self, seconds: usize) -> f64 {
        let rate = |window: &[StrainSecond]| {
            let length: f64 = window.iter().map(|second| second.to - second.from).sum();
            window.iter().map(|second| second.ended - second.failed).sum::<f64>() / length.max(1e-9)
        };
        self.seconds.windows(seconds).map(rate).fold(0.0, f64::max)
    }

    /// From the first second of load to the last.
    pub(crate) fn loaded(&self) -> Option<(f64, f64)> {
        Some((self.seconds.first()?.from, self.seconds.last()?.to))
    }

    /// The seconds of low load and of high load, each as `(from, to)`: the thirds with the lowest and the highest planned load. At equal load, the number of
    /// requests in the system decides. The low part is empty where the load hardly varied. Seconds that work off the backlog of a higher load belong to
    /// neither.
    pub(crate) fn low_and_high(&self) -> (Spans, Spans) {
        let inner = 1..self.seconds.len().saturating_sub(1);
        let rising = self.seconds.iter().zip(self.works_off()).map(|(second, works_off)| (!works_off).then_some(second));
        let mut by_load: Vec<&StrainSecond> = rising.take(inner.end).skip(inner.start).flatten().collect();
        by_load.sort_by(|a, b| a.asked.total_cmp(&b.asked).then_with(|| a.in_system.total_cmp(&b.in_system)));
        let third = by_load.len() / 3;
        let spans = |list: &[&StrainSecond]| list.iter().map(|second| (second.from, second.to)).collect::<Vec<_>>();
        let asked = |list: &[&StrainSecond]| list.iter().map(|second| second.asked).sum::<f64>();
        let (low, high) = (&by_load[..third], &by_load[by_load.len() - third..]);
        if third >= LOAD_SECONDS_MIN && asked(high) >= ASKED_VARIED_FACTOR_MIN * asked(low) {
            (spans(low), spans(high))
        } else {
            (Vec::new(), spans(&by_load))
        }
    }

    /// For each second, whether work has been held up ever since a far higher load.
    fn works_off(&self) -> Vec<bool> {
        let mut most = 0.0_f64;
        let works_off = |second: &StrainSecond| {
            most = if self.is_held_up(second) { most.max(second.asked) } else { 0.0 };
            most > 0.0 && most >= ASKED_VARIED_FACTOR_MIN * second.asked
        };
        self.seconds.iter().map(works_off).collect()
    }

    /// The seconds in which work was not held up, and those in which it was. Uncertain ones are in neither.
    pub(crate) fn free_and_held(&self) -> (Spans, Spans) {
        let spans = |wanted: &dyn Fn(&StrainSecond) -> bool| {
            self.seconds.iter().filter(|second| wanted(second)).map(|second| (second.from, second.to)).collect::<Spans>()
        };
        let is_free = |second: &StrainSecond| second.ended > 0.0 && second.time_s < HELD_UP_FACTOR_MIN * self.base_s;
        (spans(&is_free), spans(&|second| self.is_held_up(second) && !is_free(second)))
    }

    /// From the first second of high load to the last.
    pub(crate) fn top_span(&self) -> (f64, f64) {
        let (_, high) = self.low_and_high();
        let from = high.iter().map(|(from, _)| *from).fold(f64::INFINITY, f64::min);
        (from, high.iter().map(|(_, to)| *to).fold(0.0, f64::max))
    }

    fn between(&self, from: f64, to: f64) -> impl Iterator<Item = &StrainSecond> {
        self.seconds.iter().filter(move |second| second.to > from && second.from < to)
    }

    fn is_held_up(&self, second: &StrainSecond) -> bool {
        second.in_system >= 2.0 && second.time_s >= HELD_UP_FACTOR_MIN * self.base_s + HELD_UP_BY_MIN_S
    }
}

/// `planned` is 0 where the plan does not give the load, such as in a replay.
fn second(slice: &Snapshot, planned: f64) -> StrainSecond {
    let length = (slice.end - slice.start) as f64;
    let recorded = || slice.leaves.iter().map(|leaf| leaf.arrivals_due as f64 / f64::from(slice.seconds()) + leaf.users_asked as f64).sum();
    let requests = || slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request);
    let of =
        |wanted: Outcome| move |outcomes: &Vec<(Outcome, u64)>| outcomes.iter().filter(|(o, _)| *o == wanted).map(|(_, n)| n).sum::<u64>();
    let waiting: u64 = slice.leaves.iter().map(|leaf| leaf.waiting).sum();
    StrainSecond {
        from: slice.start as f64 / 1e9,
        to: slice.end as f64 / 1e9,
        in_system: slice.generator.iter().map(|worker| worker.in_flight_ns).sum::<u64>() as f64 / length + waiting as f64,
        asked: if planned > 0.0 { planned } else { recorded() },
        ended: requests().map(|series| series.count).sum::<u64>() as f64,
        timed_out: requests().map(|series| of(Outcome::Timeout)(&series.outcomes)).sum::<u64>() as f64,
        failed: requests().map(|series| series.failed).sum::<u64>() as f64,
        is_closed: slice.leaves.iter().all(|leaf| leaf.arrivals_due == 0) && slice.leaves.iter().any(|leaf| leaf.users_asked > 0),
        time_s: 0.0,
    }
}
