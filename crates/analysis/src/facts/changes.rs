//! What changed in time while the load stayed the same: the times of requests, groups, scenarios and flows.
//!
//! Each is held against itself in every stretch of steady load, by its median, its p90 and its mean: a step in a tenth of the requests moves the mean
//! and not the median. Chance is corrected for the number of tests (Benjamini & Hochberg 1995), and a change that nobody cares for is none.

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
/// A line fits better than a step where its residuals are at most this part of the step's.
const LINE_RESIDUAL_PART_MAX: f64 = 0.9;
/// A slow beginning is a warm-up only up to this share of the stretch.
const WARM_UP_SHARE_MAX: f64 = 0.34;
/// And only up to so many seconds.
const WARM_UP_MAX_S: f64 = 60.0;
/// Slices after which a higher load no longer affects times.
pub(super) const AFTEREFFECT_SLICES: usize = 10;

pub(crate) struct Changes {
    /// The largest first.
    pub(crate) found: Vec<Change>,
    /// What was slower only in the beginning.
    pub(crate) warm_ups: Vec<Change>,
    /// How far the medians of the thirds of the steadiest load lie apart, by timeline; see [`Kept`].
    pub(crate) kept: Vec<Kept>,
}

/// Times are service times, or those of journeys, in seconds.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) of: TimelineOf,
    pub(crate) shape: Shape,
    /// When, and by how much that may be off. Seconds since the run began.
    pub(crate) at: f64,
    pub(crate) at_error: f64,
    /// When it was over; `None`: it lasted.
    pub(crate) until: Option<f64>,
    pub(crate) before: Level,
    pub(crate) after: Level,
    /// The stretch of steady load.
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) p_value: f64,
    pub(crate) load: LoadBeside,
}

/// What the load did meanwhile. Arrivals per second, or users.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LoadBeside {
    Same,
    /// It was between these, and as high and as low at other times, which are `before`.
    Compared {
        from: f64,
        to: f64,
    },
    /// It rose, and had just reached so much for the first time.
    Reached {
        load: f64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shape {
    Step,
    /// It kept growing or falling: `before` and `after` are the first and the last quarter.
    Drift,
    /// Only a part of them changed: those that took at least so long, and their share before and after.
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

/// The medians of three thirds of a stretch of steady load.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) of: TimelineOf,
    /// The largest over the smallest, less one.
    pub(crate) within: f64,
    /// The largest. Seconds.
    pub(crate) slowest_s: f64,
    /// The stretch. Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Changes {
    /// Requests that took as long after a change as before it.
    pub(crate) fn kept_beside(&self, change: &Change) -> impl Iterator<Item = &Kept> {
        let has_changed = |of: &TimelineOf| self.found.iter().chain(&self.warm_ups).any(|other| other.of == *of);
        let (at, is_request) = (change.at, |kept: &&Kept| kept.of.kind() == Some(SeriesKind::Request));
        self.kept.iter().filter(is_request).filter(move |kept| kept.is_kept() && kept.from < at && at < kept.to && !has_changed(&kept.of))
    }
}

impl Kept {
    /// Whether the medians lie so close together that nobody would care.
    pub(crate) fn is_kept(&self) -> bool {
        self.within <= CHANGE_FACTOR_MIN - 1.0 || self.apart_s() <= CHANGE_MIN_S
    }

    /// Between the largest and the smallest. Seconds.
    pub(crate) fn apart_s(&self) -> f64 {
        self.slowest_s * self.within / (1.0 + self.within)
    }
}

impl Changes {
    /// Changes of whatever has none yet.
    pub(super) fn with(mut self, more: Vec<Change>) -> Self {
        let is_new = |change: &Change| !self.found.iter().chain(&self.warm_ups).any(|told| told.of == change.of);
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

    /// How many times as much it became, whichever way.
    pub(crate) fn factor(&self) -> f64 {
        let of = |before: f64, after: f64| f64::max(after / before.max(1e-9), before / after.max(1e-9));
        match self.shape {
            Shape::Part { .. } => of(self.before.mean, self.after.mean),
            Shape::Step | Shape::Drift => of(self.before.median, self.after.median),
        }
    }
}

/// One test: a timeline, a stretch of steady load, one of its numbers.
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
        self.points.iter().map(|point| (self.number)(point).max(1e-9).ln()).collect()
    }
}

const NUMBERS: [fn(&TimelinePoint) -> f64; 3] = [|point| point.median, |point| point.p90, |point| point.mean];

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
    // The median speaks for the others of the same stretch, then whichever tells more clearly.
    significant.sort_by(|a, b| (a.place > 0).cmp(&(b.place > 0)).then(a.p_value().total_cmp(&b.p_value())));
    let mut found: Vec<Change> = Vec::new();
    for test in significant {
        let Some(change) = judged(run, test) else { continue };
        let is_told = found.iter().any(|told| told.of == change.of && told.from < change.to && change.from < told.to);
        if !is_told {
            found.push(change);
        }
    }
    let asked = load_stretches::asked_in_all(run);
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
    let kept = kept(run, timelines, stretches, &warm_ups);
    Changes { found, warm_ups, kept }
}

/// Start of a slice. Seconds since the run began.
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
    // Only the median tells a drift: tails waver.
    tested.trend = if place == 0 { trend::find(&values) } else { None };
    tested
}

/// The change that a test shows, if anybody would care.
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
            load: LoadBeside::Same,
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
        // Points hold what ended then, and what took seconds had begun before; nothing that began earlier than the last quick one was slow.
        let last_quick = test.points[shift.start - 1].from;
        step.at = (step.at - step.after.median.floor()).max(seconds(run, last_quick)).min(step.at);
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

/// Whether a line through the logarithms or through the values themselves leaves less than a step does.
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

/// Those that took at least so long, where their shares before and after differ most (as Kolmogorov and Smirnov do), beyond chance.
pub(super) fn part(before: &Histogram, after: &Histogram) -> Option<Shape> {
    let slower = after.mean()? > before.mean()?;
    let (more, fewer) = if slower { (after, before) } else { (before, after) };
    let above = |times: &Histogram, limit: u64| times.count() - times.count_at_or_below(limit);
    let share = |times: &Histogram, limit: u64| above(times, limit) as f64 / times.count().max(1) as f64;
    let limits = (1..200).filter_map(|step| more.quantile(f64::from(step) / 200.0));
    // Of limits that tell as much apart, the one that the others hardly reach.
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
    // The fastest of the slow ones says more than the slowest of the others.
    let from_ns = more.value_at_rank(more.count() - slow + 1);
    Some(Shape::Part { from_s: from_ns as f64 / 1e9, before: share(before, limit), after: share(after, limit), typical_s: typical })
}

/// What a higher load had left behind is worked off.
fn is_left_over(run: &Run, asked: &[f64], change: &Change) -> bool {
    let first = run.slices.partition_point(|slice| (slice.start as f64 / 1e9) < change.from);
    let before = asked[first.saturating_sub(AFTEREFFECT_SLICES)..first].iter().copied().fold(0.0, f64::max);
    let is_falling = matches!(change.shape, Shape::Drift) || change.until.is_none();
    !change.is_slower() && is_falling && before >= HIGHER_LOAD_FACTOR_MIN * asked.get(first + 1).copied().unwrap_or(0.0)
}

/// Slow in the beginning, and then no longer.
fn is_warm_up(change: &Change) -> bool {
    let length = change.to - change.from;
    let slow_for = change.at - change.from;
    match change.shape {
        Shape::Drift => !change.is_slower(),
        _ => change.until.is_none() && !change.is_slower() && slow_for <= WARM_UP_MAX_S && slow_for <= WARM_UP_SHARE_MAX * length,
    }
}

/// A warm-up too short to be told from chance among all stretches, but not as the beginning: each of its points lies above nearly all of the second
/// half.
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
        load: LoadBeside::Same,
    };
    (slow >= POINTS_MIN && is_warm_up(&change)).then_some(change)
}

/// Of the longest stretch of steady load, once it is warm.
fn kept(run: &Run, timelines: &[SeriesTimeline], stretches: &[SteadyStretch], warm_ups: &[Change]) -> Vec<Kept> {
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
        (medians.len() == 3 && low > 0.0).then(|| Kept {
            of: timeline.of.clone(),
            within: high / low - 1.0,
            slowest_s: high / 1e9,
            from,
            to,
        })
    };
    requests_and_flows.filter_map(of_timeline).collect()
}
