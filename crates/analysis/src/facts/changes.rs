//! What changed over time while the load was constant: the times of requests, groups, scenarios and flows.
//!
//! Each is compared with itself within every stretch of constant load, by its median, its p90 and its mean. A step in a tenth of the requests moves the mean
//! and not the median. The number of tests is accounted for (Benjamini and Hochberg 1995). Changes too small to matter are left out.

use loadstone_metrics::{Histogram, SeriesKind};
use loadstone_run_directory::Run;

use super::load_stretches::{self, HIGHER_LOAD_FACTOR_MIN, SteadyStretch};
use super::timeline::{SeriesTimeline, TimelineOf, TimelinePoint};
use crate::statistics::shift::{self, Shift};
use crate::statistics::trend::{self, Trend};
use crate::statistics::{discoveries, median, quantile, slow_threshold, theil_sen, wilson_interval};

/// Share of the discoveries that may be false. docs/findings.md ("How often they are right") shows how many changes that gives on healthy runs.
const FALSE_DISCOVERY_SHARE_MAX: f64 = 0.003;
/// Factor from which times count as changed: a quarter, as in the check for a steady state.
pub(super) const CHANGE_FACTOR_MIN: f64 = 1.25;
/// And the least difference: below a millisecond, times on any machine vary by themselves. Seconds.
pub(crate) const CHANGE_MIN_S: f64 = 1e-3;
/// Samples on either side of a change.
const SIDE_SAMPLES_MIN: u64 = 10;
/// The added mean over the added median, from which a part of the requests became slower and not all.
const MEAN_OVER_MEDIAN_MIN: f64 = 3.0;
/// Shares of slow requests up to which they are such a part: before the change, and after it.
const APART_BEFORE_MAX: f64 = 0.05;
const APART_AFTER_MAX: f64 = 0.5;
/// A line fits better than a step where its residuals are at most this part of the step's.
const LINE_RESIDUAL_PART_MAX: f64 = 0.9;
/// A slow beginning is a warm-up only up to this share of the stretch.
const WARM_UP_SHARE_MAX: f64 = 0.34;
/// And only up to this many seconds.
const WARM_UP_MAX_S: f64 = 60.0;
/// Slices after which a higher load no longer affects times.
pub(super) const AFTEREFFECT_SLICES: usize = 10;

pub(crate) struct Changes {
    /// The largest change first.
    pub(crate) found: Vec<Change>,
    /// Series that were slower only at the beginning.
    pub(crate) warm_ups: Vec<Change>,
    /// How much each series varied over the longest stretch of constant load.
    pub(crate) variations: Vec<TimeVariation>,
}

/// A change of service times, or of the times of journeys. Seconds.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) of: TimelineOf,
    pub(crate) shape: Shape,
    /// When it happened. Seconds since the run began.
    pub(crate) at: f64,
    /// By how much `at` may be off. Seconds.
    pub(crate) at_error: f64,
    /// When it ended; `None`: it lasted.
    pub(crate) until: Option<f64>,
    pub(crate) before: Level,
    pub(crate) after: Level,
    /// The stretch of constant load.
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) p_value: f64,
    pub(crate) load: LoadMeanwhile,
}

/// The load at the time of a change. Arrivals per second, or users.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LoadMeanwhile {
    Same,
    /// It was within this range. It was as high and as low at other times, with which `before` is the comparison.
    Compared {
        from: f64,
        to: f64,
    },
    /// It rose, and had just reached this level for the first time.
    Reached {
        load: f64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shape {
    Step,
    /// Times grew or fell all the time. `before` and `after` are the first and the last quarter.
    Drift,
    /// Only the share of slow ones changed, those that took at least `from_s`. Their share before and after, and their typical time.
    Part {
        from_s: f64,
        before: f64,
        after: f64,
        typical_s: f64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Level {
    pub(crate) count: u64,
    pub(crate) median: f64,
    pub(crate) mean: f64,
}

/// How far the medians of the three thirds of a stretch of constant load differ.
#[derive(Debug, Clone)]
pub(crate) struct TimeVariation {
    pub(crate) of: TimelineOf,
    /// The largest median over the smallest, minus one.
    pub(crate) within: f64,
    /// The largest median. Seconds.
    pub(crate) slowest_s: f64,
    /// The stretch. Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Changes {
    /// Requests whose times were stable before and after a change of something else.
    pub(crate) fn stable_around(&self, change: &Change) -> impl Iterator<Item = &TimeVariation> {
        let has_changed = |of: &TimelineOf| self.found.iter().chain(&self.warm_ups).any(|other| other.of == *of);
        let (at, is_request) = (change.at, |one: &&TimeVariation| one.of.kind() == Some(SeriesKind::Request));
        self.variations
            .iter()
            .filter(is_request)
            .filter(move |one| one.is_stable() && one.from < at && at < one.to && !has_changed(&one.of))
    }
}

impl TimeVariation {
    /// Whether the medians differ too little to matter.
    pub(crate) fn is_stable(&self) -> bool {
        self.within <= CHANGE_FACTOR_MIN - 1.0 || self.range_s() <= CHANGE_MIN_S
    }

    /// The largest median minus the smallest. Seconds.
    pub(crate) fn range_s(&self) -> f64 {
        self.slowest_s * self.within / (1.0 + self.within)
    }
}

impl Changes {
    /// With changes of series that have none yet.
    pub(super) fn with(mut self, more: Vec<Change>) -> Self {
        let is_new = |change: &Change| !self.found.iter().chain(&self.warm_ups).any(|known| known.of == change.of);
        let more: Vec<Change> = more.into_iter().filter(is_new).collect();
        self.found.extend(more);
        self.found.sort_by(|a, b| b.factor().total_cmp(&a.factor()));
        self
    }
}

impl Change {
    pub(crate) fn is_slower(&self) -> bool {
        match self.shape {
            Shape::Part { before, after, .. } => after > before,
            Shape::Step | Shape::Drift => self.after.median > self.before.median,
        }
    }

    /// The factor of the change, in either direction: always 1 or more.
    pub(crate) fn factor(&self) -> f64 {
        let of = |before: f64, after: f64| f64::max(after / before.max(1e-9), before / after.max(1e-9));
        match self.shape {
            Shape::Part { .. } => of(self.before.mean, self.after.mean),
            Shape::Step | Shape::Drift => of(self.before.median, self.after.median),
        }
    }
}

/// One test: one number of a timeline within one stretch of constant load.
struct Tested<'a> {
    timeline: &'a SeriesTimeline,
    points: &'a [TimelinePoint],
    stretch: SteadyStretch,
    number: fn(&TimelinePoint) -> f64,
    place: usize,
    shift: Option<Shift>,
    trend: Option<Trend>,
}

impl Tested<'_> {
    fn p_value(&self) -> f64 {
        let (shift, trend) = (self.shift.map_or(1.0, |shift| shift.p_value), self.trend.map_or(1.0, |trend| trend.p_value));
        f64::min(shift, trend)
    }

    fn values(&self) -> Vec<f64> {
        self.points.iter().map(|point| (self.number)(point)).collect()
    }
}

/// The tested numbers of a point, the median first: times by their logarithms, and parts of slow requests. Where few requests end in a second, the clearest
/// sign of a change in a part of them is that seconds without a slow one become rare.
const NUMBERS: [fn(&TimelinePoint) -> f64; 5] = [
    |point| logarithm(point.median),
    |point| logarithm(point.p90),
    |point| logarithm(point.mean),
    |point| point.slow[0],
    |point| point.slow[1],
];

fn logarithm(seconds: f64) -> f64 {
    seconds.max(1e-9).ln()
}

pub(super) fn find(run: &Run, timelines: &[SeriesTimeline], stretches: &[SteadyStretch]) -> Changes {
    let mut tests = Vec::new();
    for timeline in timelines {
        for stretch in stretches {
            let first = timeline.points.partition_point(|point| point.from < stretch.from);
            let last = timeline.points.partition_point(|point| point.to <= stretch.to);
            let points = timeline.points.get(first..last).unwrap_or(&[]);
            if points.len() >= shift::VALUES_MIN {
                tests.extend(NUMBERS.into_iter().enumerate().map(|(place, number)| tested(timeline, points, *stretch, place, number)));
            }
        }
    }
    let p_values: Vec<f64> = tests.iter().map(Tested::p_value).collect();
    let is_significant = discoveries(&p_values, FALSE_DISCOVERY_SHARE_MAX);
    let mut significant: Vec<&Tested<'_>> = tests.iter().zip(is_significant).filter(|(_, is)| *is).map(|(test, _)| test).collect();
    // The median represents the other numbers of the same stretch, then the clearest of them.
    significant.sort_by(|a, b| (a.place > 0).cmp(&(b.place > 0)).then(a.p_value().total_cmp(&b.p_value())));
    let mut found: Vec<Change> = Vec::new();
    for test in significant {
        let Some(change) = judged(run, test) else { continue };
        let is_known = found.iter().any(|known| known.of == change.of && known.from < change.to && change.from < known.to);
        if !is_known {
            found.push(change);
        }
    }
    let asked = load_stretches::asked_in_all(&run.plan, &run.slices);
    found.retain(|change| !is_left_over(run, &asked, change));
    found.sort_by(|a, b| b.factor().total_cmp(&a.factor()));
    let begins = |change: &Change| stretches.first().is_some_and(|first| change.from <= seconds(run, first.from) + 2.0);
    let (mut warm_ups, found): (Vec<Change>, Vec<Change>) = found.into_iter().partition(|change| begins(change) && is_warm_up(change));
    if let Some(first) = stretches.first() {
        let unchanged = |timeline: &&SeriesTimeline| !found.iter().chain(&warm_ups).any(|change: &Change| change.of == timeline.of);
        let requests = timelines.iter().filter(|timeline| timeline.of.kind() == Some(SeriesKind::Request)).filter(unchanged);
        let more: Vec<Change> = requests.filter_map(|timeline| slow_beginning(run, timeline, *first)).collect();
        warm_ups.extend(more);
    }
    let variations = variations(run, timelines, stretches, &warm_ups);
    Changes { found, warm_ups, variations }
}

/// The start of a slice. Seconds since the run began.
pub(super) fn seconds(run: &Run, slice: usize) -> f64 {
    let start = run.slices.get(slice).map(|slice| slice.start).or_else(|| run.slices.last().map(|slice| slice.end));
    start.unwrap_or(0) as f64 / 1e9
}

fn tested<'a>(
    timeline: &'a SeriesTimeline,
    points: &'a [TimelinePoint],
    stretch: SteadyStretch,
    place: usize,
    number: fn(&TimelinePoint) -> f64,
) -> Tested<'a> {
    let mut tested = Tested { timeline, points, stretch, number, place, shift: None, trend: None };
    let values = tested.values();
    tested.shift = shift::find(&values);
    // Only the median shows a drift: tails vary too much.
    tested.trend = if place == 0 { trend::find(&values) } else { None };
    tested
}

/// The change that a test shows, if it is large enough to matter.
fn judged(run: &Run, test: &Tested<'_>) -> Option<Change> {
    let values = test.values();
    let is_drift = match (test.shift, test.trend) {
        (Some(shift), Some(trend)) => trend.p_value <= shift.p_value.max(1e-6) && fits_a_line(&values, &shift, &trend),
        (None, Some(_)) => true,
        _ => false,
    };
    let (from, to) = (test.stretch.from, test.stretch.to);
    let of = &test.timeline.of;
    let change = |shape, at: usize, error: usize, until: Option<usize>, before: &Histogram, after: &Histogram, p_value| {
        Some(Change {
            of: of.clone(),
            shape,
            at: seconds(run, at),
            at_error: (error * test.timeline.stride).max(if test.timeline.stride > 1 { test.timeline.stride } else { 0 }) as f64,
            until: until.map(|slice| seconds(run, slice)),
            before: level(before)?,
            after: level(after)?,
            from: seconds(run, from),
            to: seconds(run, to),
            p_value,
            load: LoadMeanwhile::Same,
        })
    };
    if is_drift {
        let quarter = (to - from) / 4;
        let (before, after) = (of.times(run, from, from + quarter), of.times(run, to - quarter, to));
        let found = change(Shape::Drift, from, 0, None, &before, &after, test.trend?.p_value)?;
        return matters(found.before.median, found.after.median, &found).then_some(found);
    }
    let shift = test.shift?;
    let start = test.points[shift.start].from;
    let until = test.points.get(shift.end).map(|point| point.from);
    let end = until.unwrap_or(to);
    let mut before = of.times(run, from, start);
    before.merge(&of.times(run, end, to));
    let after = of.times(run, start, end);
    let mut step = change(Shape::Step, start, shift.start_error, until, &before, &after, shift.p_value)?;
    if step.is_slower() && shift.start > 0 {
        // A point holds the requests that ended then. A request that took seconds began earlier, but not before the last point with normal times.
        let last_quick = test.points[shift.start - 1].from;
        step.at = (step.at - step.after.median.floor()).max(seconds(run, last_quick)).min(step.at);
    }
    // Where a part of the requests takes far longer, the median of all moves a little, too.
    let (of_median, of_mean) = (step.after.median - step.before.median, step.after.mean - step.before.mean);
    let is_of_part = step.is_slower() && of_mean > MEAN_OVER_MEDIAN_MIN * of_median;
    let is_apart =
        |shape: &Shape| matches!(shape, Shape::Part { before, after, .. } if *before <= APART_BEFORE_MAX && *after <= APART_AFTER_MAX);
    let shape = if is_of_part { part(&before, &after).filter(is_apart) } else { None };
    if let Some(shape) = shape.filter(|_| matters(step.before.mean, step.after.mean, &step)) {
        return Some(Change { shape, ..step });
    }
    if matters(step.before.median, step.after.median, &step) {
        return Some(step);
    }
    let shape = part(&before, &after)?;
    (test.place > 0 && matters(step.before.mean, step.after.mean, &step)).then_some(Change { shape, ..step })
}

pub(super) fn level(times: &Histogram) -> Option<Level> {
    let median = times.quantile(0.5)? as f64 / 1e9;
    Some(Level { count: times.count(), median, mean: times.mean()? / 1e9 })
}

pub(super) fn matters(before: f64, after: f64, change: &Change) -> bool {
    let (low, high) = (before.min(after), before.max(after));
    high >= CHANGE_FACTOR_MIN * low && high - low >= CHANGE_MIN_S && change.before.count.min(change.after.count) >= SIDE_SAMPLES_MIN
}

/// Whether a line through the logarithms, or through the values themselves, leaves smaller residuals than a step.
pub(super) fn fits_a_line(logs: &[f64], shift: &Shift, trend: &Trend) -> bool {
    let inside = median(&logs[shift.start..shift.end]);
    let outside: Vec<f64> = logs[..shift.start].iter().chain(&logs[shift.end..]).copied().collect();
    let outside = median(&outside);
    let left = |at: &dyn Fn(usize) -> f64| logs.iter().enumerate().map(|(index, value)| (value - at(index)).abs()).sum::<f64>();
    let step = left(&|index| if (shift.start..shift.end).contains(&index) { inside } else { outside });
    let values: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
    let (slope, height) = theil_sen(&values);
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let by_logs = left(&|index| trend.height + trend.slope * index as f64);
    let by_values = left(&|index| (height + slope * index as f64).max(smallest / 2.0).ln());
    by_logs.min(by_values) < LINE_RESIDUAL_PART_MAX * step
}

/// The slow part whose share changed, beyond chance. Its limit is where the shares before and after differ most, as in the test of Kolmogorov and Smirnov.
pub(super) fn part(before: &Histogram, after: &Histogram) -> Option<Shape> {
    let slower = after.mean()? > before.mean()?;
    let (more, fewer) = if slower { (after, before) } else { (before, after) };
    let above = |times: &Histogram, limit: u64| times.count() - times.count_at_or_below(limit);
    let share = |times: &Histogram, limit: u64| above(times, limit) as f64 / times.count().max(1) as f64;
    let limits = (1..200).filter_map(|step| more.quantile(f64::from(step) / 200.0));
    // Of limits that separate both equally well, the one that hardly any other request exceeds.
    let gain = |limit: &u64| {
        let (high, low) = (share(more, *limit), share(fewer, *limit));
        if high > low { (high - low) * (1.0 - low / high) } else { 0.0 }
    };
    let limit = limits.max_by(|a, b| gain(a).total_cmp(&gain(b)))?;
    let ((low, _), (_, high)) = (wilson_interval(above(more, limit), more.count()), wilson_interval(above(fewer, limit), fewer.count()));
    let slow = above(more, limit);
    if low <= high || slow < SIDE_SAMPLES_MIN {
        return None;
    }
    let typical = more.value_at_rank(more.count() - slow / 2) as f64 / 1e9;
    // The fastest of the slow requests describes the limit better than the slowest of the others.
    let from_ns = more.value_at_rank(more.count() - slow + 1);
    Some(Shape::Part { from_s: from_ns as f64 / 1e9, before: share(before, limit), after: share(after, limit), typical_s: typical })
}

/// Whether times only fell because the backlog of a higher load before the stretch was worked off.
fn is_left_over(run: &Run, asked: &[f64], change: &Change) -> bool {
    let first = run.slices.partition_point(|slice| (slice.start as f64 / 1e9) < change.from);
    let before = asked[first.saturating_sub(AFTEREFFECT_SLICES)..first].iter().copied().fold(0.0, f64::max);
    let is_falling = matches!(change.shape, Shape::Drift) || change.until.is_none();
    !change.is_slower() && is_falling && before >= HIGHER_LOAD_FACTOR_MIN * asked.get(first + 1).copied().unwrap_or(0.0)
}

/// Whether times were slow only at the beginning.
fn is_warm_up(change: &Change) -> bool {
    let length = change.to - change.from;
    let slow_for = change.at - change.from;
    match change.shape {
        Shape::Drift => !change.is_slower(),
        _ => change.until.is_none() && !change.is_slower() && slow_for <= WARM_UP_MAX_S && slow_for <= WARM_UP_SHARE_MAX * length,
    }
}

/// A warm-up too short to be significant among all stretches, but significant as the beginning: each of its points lies above nearly all of the second half.
fn slow_beginning(run: &Run, timeline: &SeriesTimeline, stretch: SteadyStretch) -> Option<Change> {
    const POINTS_MIN: usize = 3;
    let inside = timeline.points.iter().filter(|point| point.from >= stretch.from && point.to <= stretch.to);
    let medians: Vec<(usize, f64)> = inside.map(|point| (point.to, point.median)).collect();
    let later: Vec<f64> = medians[medians.len() / 2..].iter().map(|(_, median)| *median).collect();
    let (_, slow_from) = slow_threshold(&later, CHANGE_FACTOR_MIN, CHANGE_MIN_S);
    let limit = quantile(&later, 0.95).max(slow_from);
    let slow = medians.iter().take_while(|(_, median)| *median > limit).count();
    let end = medians.get(slow.checked_sub(1)?)?.0;
    let (before, after) = (timeline.of.times(run, stretch.from, end), timeline.of.times(run, end, stretch.to));
    let change = Change {
        of: timeline.of.clone(),
        shape: Shape::Step,
        at: seconds(run, end),
        at_error: timeline.stride as f64,
        until: None,
        before: level(&before)?,
        after: level(&after)?,
        from: seconds(run, stretch.from),
        to: seconds(run, stretch.to),
        p_value: 1.0,
        load: LoadMeanwhile::Same,
    };
    (slow >= POINTS_MIN && is_warm_up(&change)).then_some(change)
}

/// In the longest stretch of constant load, after the warm-up.
fn variations(run: &Run, timelines: &[SeriesTimeline], stretches: &[SteadyStretch], warm_ups: &[Change]) -> Vec<TimeVariation> {
    let Some(longest) = stretches.iter().max_by_key(|stretch| stretch.to - stretch.from) else { return Vec::new() };
    let warm_at = warm_ups.iter().filter(|change| change.shape != Shape::Drift).map(|change| change.at).fold(0.0, f64::max);
    let cold = run.slices[longest.from..longest.to].iter().take_while(|slice| (slice.start as f64) / 1e9 < warm_at).count();
    let longest = SteadyStretch { from: longest.from + cold, to: longest.to };
    let third = (longest.to - longest.from) / 3;
    let requests_and_flows = timelines.iter().filter(|timeline| matches!(timeline.of.kind(), None | Some(SeriesKind::Request)));
    let of_timeline = |timeline: &SeriesTimeline| {
        let thirds = (0..3).map(|part| timeline.of.times(run, longest.from + part * third, longest.from + (part + 1) * third));
        let medians: Vec<f64> = thirds.filter_map(|times| Some(times.quantile(0.5)? as f64)).collect();
        let (low, high) = medians.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), median| (low.min(*median), high.max(*median)));
        let (from, to) = (seconds(run, longest.from), seconds(run, longest.from + 3 * third));
        (medians.len() == 3 && low > 0.0).then(|| TimeVariation {
            of: timeline.of.clone(),
            within: high / low - 1.0,
            slowest_s: high / 1e9,
            from,
            to,
        })
    };
    requests_and_flows.filter_map(of_timeline).collect()
}
