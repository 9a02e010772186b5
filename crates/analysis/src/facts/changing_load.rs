//! What changed over time while the load changed, too: only changes that the load does not explain.
//!
//! Times follow the load, so each timeline is compared with its own load response: the monotone line through its times over the load
//! ([`crate::statistics::isotonic_residuals`]). The residuals go to the tests of [`super::changes`]. A shift counts only if the load was as high, and as low,
//! at other times, when requests took less.
//!
//! Under a load that only rises, time and load cannot be separated by residuals. There only a step counts that no queue would cause: it is complete within a
//! few seconds, times are level before and after it, and throughput keeps following the load. It remains possible that the load had reached a limit.
//!
//! With few users, one more user is a step of the load itself. There a step counts if nearly all later times of one request are several times as long as nearly
//! all earlier ones, and the other requests, which meet the same load, take as long as before.

use loadstone_metrics::{Histogram, SeriesKey, SeriesKind};
use loadstone_run_directory::Run;

use super::changes::{
    AFTEREFFECT_SLICES, CHANGE_FACTOR_MIN, CHANGE_MIN_S, Change, LoadMeanwhile, Shape, fits_a_line, level, matters, part, seconds,
};
use super::load_stretches::{self, SMOOTHED_SLICES, SteadyStretch};
use super::timeline::{SeriesTimeline, TimelineOf, TimelinePoint};
use crate::statistics::shift::{self, Shift};
use crate::statistics::trend::{self, Trend};
use crate::statistics::{discoveries, isotonic_residuals, median, quantile, theil_sen};

/// Share of the discoveries that may be false.
const FALSE_DISCOVERY_SHARE_MAX: f64 = 0.005;
/// Points that a load response needs.
const POINTS_MIN: usize = 20;
/// Part of the loaded time from which one stretch of constant load counts as the whole load.
const CONSTANT_LOAD_PART_MIN: f64 = 0.9;
/// Points at other times with a load at least as high, or as low, that a stretch is compared with: how many are needed, and how many are used.
const REFERENCE_POINTS_MIN: usize = 3;
const REFERENCE_POINTS_MAX: usize = 8;
/// Part by which the load of such a point may miss that of the stretch.
const REFERENCE_LOAD_WITHIN: f64 = 0.05;
/// Share of the points of a stretch, at either end of its loads, that may lie beyond the reference points.
const EXTREME_LOAD_SHARE: f64 = 0.1;
/// Share of failed requests up to which a point represents its load. With more, the other requests meet less load than was planned.
const FAILED_SHARE_MAX: f64 = 0.1;
/// Points on either side of an onset that show whether it was sudden.
const ONSET_POINTS: usize = 5;
/// Part of a sudden step that must be complete within them.
const SUDDEN_PART_MIN: f64 = 0.7;
/// Part of a sudden step by which times may slope before it and after it.
const SLOPE_PART_MAX: f64 = 0.35;
/// Factor by which the added time may grow until the end of the run. A sudden cause adds the same time from then on; a queue adds more as the load grows.
const FINAL_GROWTH_FACTOR_MAX: f64 = 1.5;
/// How much faster than usual the load itself may rise at the onset.
const LOAD_RISE_FACTOR_MAX: f64 = 3.0;
/// And the part of the load by which it may rise there in any case.
const LOAD_RISE_PART_MAX: f64 = 0.1;
/// Part of the requests per arrival before an onset that must still be completed after it.
const COMPLETED_PART_MIN: f64 = 0.95;
/// Part by which the loads of two points may differ that are paired to show a drift.
const PAIRED_LOAD_WITHIN: f64 = 0.1;
/// Such pairs that a drift needs.
const PAIRS_MIN: usize = 8;

/// Share of the times of a request, at either side of a step under few users, that are left out as the fastest or the slowest.
const APART_QUANTILE: f64 = 0.1;
/// Factor between the rest of them, and the number of requests on either side.
const APART_FACTOR_MIN: f64 = 3.0;
const APART_REQUESTS_MIN: u64 = 8;
/// Factor by which the median of the other requests may grow meanwhile.
const OTHERS_FACTOR_MAX: f64 = 1.5;

/// The numbers of a point that are tested, the median first.
const NUMBERS: [fn(&TimelinePoint) -> f64; 2] = [|point| point.median, |point| point.mean];

/// The planned load of each slice, and the highest that may still affect the system then. 0 without load.
struct AskedBySlice {
    now: Vec<f64>,
    remembered: Vec<f64>,
}

/// The points of one timeline, with the load, and the logarithm of one of their numbers.
struct LoadedTimeline<'a> {
    timeline: &'a SeriesTimeline,
    points: &'a [TimelinePoint],
    now: Vec<f64>,
    /// The highest load that may still affect the system.
    load: Vec<f64>,
    values: Vec<f64>,
    /// Which of the numbers; 0 is the median.
    number: usize,
}

/// A deviation from the load response.
#[derive(Clone, Copy)]
enum Deviation {
    /// A shift of the residuals of the monotone line.
    Unexplained(Shift),
    /// A shift of the residuals of a straight line.
    Sudden(Shift),
    /// A shift of the times themselves, which may be the load's.
    Apart(Shift),
    Drift(Trend),
    Nothing,
}

impl Deviation {
    fn p_value(self) -> f64 {
        match self {
            Deviation::Unexplained(shift) | Deviation::Sudden(shift) | Deviation::Apart(shift) => shift.p_value,
            Deviation::Drift(trend) => trend.p_value,
            Deviation::Nothing => 1.0,
        }
    }
}

/// Empty where the load was constant, or consists of arrivals and users, which do not add up.
pub(super) fn find(run: &Run, timelines: &[SeriesTimeline], stretches: &[SteadyStretch]) -> Vec<Change> {
    let Some(asked) = asked(run, stretches) else { return Vec::new() };
    let responses: Vec<LoadedTimeline<'_>> = timelines.iter().flat_map(|timeline| responses(timeline, &asked)).collect();
    let tested: Vec<(&LoadedTimeline<'_>, Deviation)> =
        responses.iter().flat_map(|response| response.tested().into_iter().map(move |found| (response, found))).collect();
    let p_values: Vec<f64> = tested.iter().map(|(_, found)| found.p_value()).collect();
    let significant = tested.iter().zip(discoveries(&p_values, FALSE_DISCOVERY_SHARE_MAX)).filter(|(_, is)| *is).map(|(test, _)| test);
    let mut found: Vec<(usize, Change)> =
        significant.filter_map(|(response, test)| Some((response.number, response.judged(run, &asked, *test)?))).collect();
    // Changes that the load cannot explain rank first. The median represents the other numbers.
    found.sort_by_key(|(number, change)| (matches!(change.load, LoadMeanwhile::Reached { .. }), *number > 0));
    let mut changes: Vec<Change> = Vec::new();
    for (_, change) in found {
        if !changes.iter().any(|known| known.of == change.of) {
            changes.push(change);
        }
    }
    changes
}

/// `None`: there is no changing load to examine.
fn asked(run: &Run, stretches: &[SteadyStretch]) -> Option<AskedBySlice> {
    let leaves = run.plan.load.leaves();
    let open = leaves.iter().filter(|leaf| leaf.profile.is_open()).count();
    let raw = load_stretches::asked_in_all(&run.plan, &run.slices);
    let loaded = raw.iter().filter(|load| **load > 0.0).count();
    let steady = stretches.iter().map(|stretch| stretch.to - stretch.from).max().unwrap_or(0);
    if (open != 0 && open != leaves.len()) || steady as f64 >= CONSTANT_LOAD_PART_MIN * loaded as f64 {
        return None;
    }
    let first = raw.iter().position(|load| *load > 0.0)?;
    let last = raw.iter().rposition(|load| *load > 0.0)?;
    let mean = |at: usize| {
        let around = &raw[at.saturating_sub(SMOOTHED_SLICES / 2).max(first)..(at + SMOOTHED_SLICES / 2 + 1).min(last + 1)];
        around.iter().sum::<f64>() / around.len().max(1) as f64
    };
    // The first and the last second are seldom complete.
    let now: Vec<f64> = (0..raw.len()).map(|at| if at > first && at < last { mean(at) } else { 0.0 }).collect();
    let remembered = |at: usize| if now[at] > 0.0 { highest(&now[at.saturating_sub(AFTEREFFECT_SLICES)..=at]) } else { 0.0 };
    let remembered = (0..raw.len()).map(remembered).collect();
    Some(AskedBySlice { now, remembered })
}

/// The share of failed requests among all that ended in the slices of a point.
fn failed_share(run: &Run, point: TimelinePoint) -> f64 {
    let requests = run.slices.get(point.from..point.to).unwrap_or(&[]).iter().flat_map(|slice| &slice.series);
    let counts = requests.filter(|series| series.key.kind == SeriesKind::Request).map(|series| (series.failed, series.count));
    let (failed, count) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    failed as f64 / count.max(1) as f64
}

/// The times of all other requests in a stretch of slices.
fn times_of_others(run: &Run, key: &SeriesKey, from: usize, to: usize) -> Histogram {
    let slices = run.slices.get(from..to.min(run.slices.len())).unwrap_or(&[]);
    let series = slices.iter().flat_map(|slice| &slice.series);
    let others = series.filter(|series| series.key.kind == SeriesKind::Request && series.key != *key);
    others.fold(Histogram::new(), |mut times, series| {
        times.merge(&series.service);
        times
    })
}

fn highest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

fn responses<'a>(timeline: &'a SeriesTimeline, asked: &AskedBySlice) -> Vec<LoadedTimeline<'a>> {
    let is_loaded = |point: &TimelinePoint| asked.now.get(point.from..point.to).is_some_and(|asked| asked.iter().all(|load| *load > 0.0));
    let first = timeline.points.iter().position(is_loaded).unwrap_or(0);
    let last = timeline.points.iter().rposition(is_loaded).map_or(0, |last| last + 1);
    let points = timeline.points.get(first..last).unwrap_or(&[]);
    if points.len() < POINTS_MIN || !points.iter().all(is_loaded) {
        return Vec::new();
    }
    let loads = |asked: &[f64]| points.iter().map(|point| highest(&asked[point.from..point.to])).collect::<Vec<f64>>();
    let (now, load) = (loads(&asked.now), loads(&asked.remembered));
    let of = |(number, value): (usize, fn(&TimelinePoint) -> f64)| LoadedTimeline {
        timeline,
        points,
        now: now.clone(),
        load: load.clone(),
        values: points.iter().map(|point| value(point).max(1e-9).ln()).collect(),
        number,
    };
    NUMBERS.into_iter().enumerate().map(of).collect()
}

impl LoadedTimeline<'_> {
    /// Only the median shows a drift: tails vary too much.
    fn tested(&self) -> Vec<Deviation> {
        let left = self.left_by_load();
        let (shift, trend) = (shift::find(&left), trend::find(&left));
        let is_step = shift.filter(|shift| !trend.is_some_and(|trend| fits_a_line(&left, shift, &trend)));
        let unexplained = is_step.map_or(Deviation::Nothing, Deviation::Unexplained);
        let sudden = shift::find(&self.left_by_slope()).map_or(Deviation::Nothing, Deviation::Sudden);
        let drift = (self.number == 0).then(|| trend.map_or(Deviation::Nothing, Deviation::Drift));
        let apart = (self.number == 0).then(|| shift::find(&self.values).map_or(Deviation::Nothing, Deviation::Apart));
        [unexplained, sudden].into_iter().chain(drift).chain(apart).collect()
    }

    /// The residuals of the monotone line over the load.
    fn left_by_load(&self) -> Vec<f64> {
        isotonic_residuals(&self.now, &self.values)
    }

    /// The residuals of a straight line over the load, whose slope is the median of slopes between points close in time: a step hardly affects it.
    fn left_by_slope(&self) -> Vec<f64> {
        let pairs = (0..self.now.len()).flat_map(|i| (i + ONSET_POINTS..(i + 2 * ONSET_POINTS).min(self.now.len())).map(move |j| (i, j)));
        let rises = pairs.map(|(i, j)| (self.now[j] - self.now[i], self.values[j] - self.values[i])).filter(|(by, _)| by.abs() > 1e-9);
        let slope = median(&rises.map(|(by, grown)| grown / by).collect::<Vec<f64>>());
        self.values.iter().zip(&self.now).map(|(value, load)| value - slope * load).collect()
    }

    fn middle(&self, indices: &[usize]) -> f64 {
        median(&indices.iter().map(|index| self.values[*index]).collect::<Vec<f64>>())
    }

    fn judged(&self, run: &Run, asked: &AskedBySlice, found: Deviation) -> Option<Change> {
        match found {
            Deviation::Unexplained(shift) => self.beyond_the_load(run, &shift),
            Deviation::Sudden(shift) => self.beyond_the_load(run, &shift).or_else(|| self.sudden(run, asked, &shift)),
            Deviation::Apart(shift) => self.apart_from_others(run, &shift),
            Deviation::Drift(trend) => self.drift(run, asked, &trend),
            Deviation::Nothing => None,
        }
    }

    /// Slower for a while, or from an instant on, at loads at which it was faster before or after.
    fn beyond_the_load(&self, run: &Run, shift: &Shift) -> Option<Change> {
        let inside: Vec<usize> = (shift.start..shift.end).collect();
        let is_carried = |at: &usize| failed_share(run, self.points[*at]) <= FAILED_SHARE_MAX;
        let outside: Vec<usize> = (0..shift.start).chain(shift.end..self.points.len()).filter(is_carried).collect();
        let of_inside = |loads: &[f64], share: f64| quantile(&inside.iter().map(|at| loads[*at]).collect::<Vec<f64>>(), share);
        let (low, high) = (of_inside(&self.now, EXTREME_LOAD_SHARE), of_inside(&self.load, 1.0 - EXTREME_LOAD_SHARE));
        let nearest = |loads: &[f64], mut found: Vec<usize>, edge: f64| {
            found.sort_by(|a, b| (loads[*a] - edge).abs().total_cmp(&(loads[*b] - edge).abs()));
            found.truncate(REFERENCE_POINTS_MAX);
            (found.len() >= REFERENCE_POINTS_MIN).then_some(found)
        };
        // Points that a higher load may still affect are no reference for low load.
        let as_high =
            nearest(&self.now, outside.iter().copied().filter(|at| self.now[*at] >= (1.0 - REFERENCE_LOAD_WITHIN) * high).collect(), high)?;
        let as_low =
            nearest(&self.load, outside.iter().copied().filter(|at| self.load[*at] <= (1.0 + REFERENCE_LOAD_WITHIN) * low).collect(), low)?;
        let (slow, least) = (self.middle(&inside), CHANGE_FACTOR_MIN.ln());
        let is_slower = [&as_high, &as_low].into_iter().all(|other| slow >= self.middle(other) + least);
        // Right before the shift it is not slow yet. A backlog of a higher load would be.
        let before: Vec<usize> = (shift.start.saturating_sub(REFERENCE_POINTS_MIN)..shift.start).collect();
        let begins = !before.is_empty() && self.middle(&before) <= f64::midpoint(self.middle(&as_low), slow);
        let until = if shift.end < self.points.len() { Some(shift.end) } else { None };
        let reference: Vec<usize> = as_low.into_iter().chain(as_high).collect();
        if !begins || !is_slower {
            return None;
        }
        let span = (shift.start, until);
        self.change(run, LoadMeanwhile::Compared { from: low, to: high }, (span, shift), (&reference, &inside))
    }

    /// A step at a load that had never been as high before.
    fn sudden(&self, run: &Run, asked: &AskedBySlice, shift: &Shift) -> Option<Change> {
        let (start, count) = (shift.start, self.points.len());
        let is_new = start > 0 && self.load[start] >= highest(&self.load[..start]);
        // With few users, one more user is a step of the load itself.
        let is_open = run.plan.load.leaves().iter().all(|leaf| leaf.profile.is_open());
        let is_stepped = !is_open && LOAD_RISE_PART_MAX * self.load[start] < 1.0;
        if shift.end < count || start < 2 * ONSET_POINTS || count - start < 2 * ONSET_POINTS || !is_new || is_stepped {
            return None;
        }
        let left = self.left_by_slope();
        let (before, after) = (&left[..start], &left[start..]);
        let whole = median(after) - median(before);
        let at_once = median(&after[..ONSET_POINTS]) - median(&before[start - ONSET_POINTS..]);
        let grown = |values: &[f64]| (theil_sen(values).0 * values.len() as f64).abs();
        let is_level = grown(before) <= SLOPE_PART_MAX * at_once && grown(after) <= SLOPE_PART_MAX * at_once;
        if whole <= 0.0
            || at_once < SUDDEN_PART_MIN * whole
            || !is_level
            || self.goes_on_growing(start)
            || self.rises_at(start)
            || !self.is_carried(run, asked, (0, start), (start, count))
            || !self.follows_users(run, asked, start)
        {
            return None;
        }
        let near = 3 * ONSET_POINTS;
        let (before, after) =
            ((start.saturating_sub(near)..start).collect::<Vec<usize>>(), (start..(start + near).min(count)).collect::<Vec<usize>>());
        let load = LoadMeanwhile::Reached { load: self.load[start] };
        self.change(run, load, ((start, None), shift), (&before, &after))
    }

    /// A step of one request alone, under more users than before.
    fn apart_from_others(&self, run: &Run, shift: &Shift) -> Option<Change> {
        let (TimelineOf::Series(key), count) = (&self.timeline.of, self.points.len()) else { return None };
        let is_closed = run.plan.load.leaves().iter().all(|leaf| !leaf.profile.is_open());
        if key.kind != SeriesKind::Request || !is_closed || shift.end < count || shift.start == 0 || shift.start >= count {
            return None;
        }
        let sides = [(self.points[0].from, self.points[shift.start].from), (self.points[shift.start].from, self.points[count - 1].to)];
        let own = sides.map(|(from, to)| self.timeline.of.times(run, from, to));
        let others = sides.map(|(from, to)| times_of_others(run, key, from, to));
        let is_enough = |times: &Histogram| times.count() >= APART_REQUESTS_MIN;
        let at = |times: &Histogram, share: f64| times.quantile(share).unwrap_or(0) as f64;
        let is_apart = at(&own[1], APART_QUANTILE) >= APART_FACTOR_MIN * at(&own[0], 1.0 - APART_QUANTILE);
        let is_alone = at(&others[1], 0.5) <= OTHERS_FACTOR_MAX * at(&others[0], 0.5);
        if !own.iter().chain(&others).all(is_enough) || !is_apart || !is_alone {
            return None;
        }
        let load = LoadMeanwhile::Reached { load: self.load[shift.start] };
        let (before, after) = ((0..shift.start).collect::<Vec<usize>>(), (shift.start..count).collect::<Vec<usize>>());
        self.change(run, load, ((shift.start, None), shift), (&before, &after))
    }

    /// Whether the time that the step added is far longer at the end. In logarithms, growth from 20 to 400 ms looks small compared with a step from 2 to 20.
    fn goes_on_growing(&self, start: usize) -> bool {
        let seconds = |from: usize| self.middle(&(from..from + ONSET_POINTS).collect::<Vec<usize>>()).exp();
        let before = seconds(start - ONSET_POINTS);
        seconds(self.values.len() - ONSET_POINTS) - before > FINAL_GROWTH_FACTOR_MAX * (seconds(start) - before)
    }

    /// Whether the load itself has a step there.
    fn rises_at(&self, start: usize) -> bool {
        let rise = |at: usize| (self.load[at + 1] - self.load[at - 2]).abs();
        let usual = median(&(2..self.load.len() - 1).map(rise).collect::<Vec<f64>>());
        let there = (start.saturating_sub(2).max(2)..(start + 3).min(self.load.len() - 1)).map(rise).fold(0.0, f64::max);
        there > f64::max(LOAD_RISE_FACTOR_MAX * usual, LOAD_RISE_PART_MAX * self.load[start - 1])
    }

    /// Whether as many requests are completed per planned arrival as before. Closed load plans no more than is completed.
    fn is_carried(&self, run: &Run, asked: &AskedBySlice, before: (usize, usize), then: (usize, usize)) -> bool {
        if !run.plan.load.leaves().iter().all(|leaf| leaf.profile.is_open()) {
            return true;
        }
        self.done_of_asked(run, asked, then) >= COMPLETED_PART_MIN * self.done_of_asked(run, asked, before)
    }

    /// Requests that ended, over the planned load.
    fn done_of_asked(&self, run: &Run, asked: &AskedBySlice, (from, to): (usize, usize)) -> f64 {
        let times = self.timeline.of.times(run, self.points[from].from, self.points[to - 1].to);
        times.count() as f64 / asked.now[self.points[from].from..self.points[to - 1].to].iter().sum::<f64>().max(1.0)
    }

    /// Whether, under closed load, more users complete more requests from an instant on. N users complete N / (R + Z) per second (Little 1961). That grows with
    /// N while the time R is level, and does not where they wait in a queue. The closer of the two decides.
    fn follows_users(&self, run: &Run, asked: &AskedBySlice, start: usize) -> bool {
        if run.plan.load.leaves().iter().all(|leaf| leaf.profile.is_open()) {
            return true;
        }
        let (count, third) = (self.points.len(), (self.points.len() - start) / 3);
        let (first, last) = ((start, start + third), (count - third, count));
        let users = |(from, to): (usize, usize)| self.now[from..to].iter().sum::<f64>();
        let of_each = self.done_of_asked(run, asked, last) / self.done_of_asked(run, asked, first);
        of_each >= (users(first) / users(last)).sqrt()
    }

    /// Times grew all the time, at equal loads.
    fn drift(&self, run: &Run, asked: &AskedBySlice, trend: &Trend) -> Option<Change> {
        let (count, third) = (self.points.len(), self.points.len() / 3);
        let (mut early, mut late) = (Vec::new(), Vec::new());
        for at in 0..third {
            let is_as_high = |other: &usize| (self.load[*other] - self.load[at]).abs() <= PAIRED_LOAD_WITHIN * self.load[at];
            if let Some(other) = (count - third..count).filter(is_as_high).min_by_key(|other| other.abs_diff(count)) {
                early.push(at);
                late.push(other);
            }
        }
        let grows = trend.slope > 0.0 && self.middle(&late) - self.middle(&early) >= trend.slope * third as f64;
        // Where work piles up for a while, the backlog makes later times longer.
        let piles_up = (ONSET_POINTS..count - ONSET_POINTS)
            .step_by(ONSET_POINTS)
            .any(|at| !self.is_carried(run, asked, (0, at), (at, (at + 2 * ONSET_POINTS).min(count))));
        if early.len() < PAIRS_MIN || !grows || piles_up {
            return None;
        }
        late.sort_unstable();
        late.dedup();
        let loads = || early.iter().map(|at| self.load[*at]);
        let load = LoadMeanwhile::Compared { from: loads().fold(f64::INFINITY, f64::min), to: loads().fold(0.0, f64::max) };
        let shift = Shift { start: 0, end: count, p_value: trend.p_value, start_error: 0 };
        self.change(run, load, ((0, None), &shift), (&early, &late))
            .filter(|change| change.shape == Shape::Step)
            .map(|change| Change { shape: Shape::Drift, ..change })
    }

    fn change(
        &self,
        run: &Run,
        load: LoadMeanwhile,
        ((start, until), shift): ((usize, Option<usize>), &Shift),
        (before, after): (&[usize], &[usize]),
    ) -> Option<Change> {
        let times = |indices: &[usize]| {
            let mut merged = Histogram::new();
            indices.iter().for_each(|at| merged.merge(&self.timeline.of.times(run, self.points[*at].from, self.points[*at].to)));
            merged
        };
        let (before, after) = (times(before), times(after));
        let stride = self.timeline.stride;
        let change = Change {
            of: self.timeline.of.clone(),
            shape: Shape::Step,
            at: seconds(run, self.points[start].from),
            at_error: (shift.start_error * stride).max(if stride > 1 { stride } else { 0 }) as f64,
            until: until.map(|at| seconds(run, self.points[at].from)),
            before: level(&before)?,
            after: level(&after)?,
            from: seconds(run, self.points[0].from),
            to: seconds(run, self.points[self.points.len() - 1].to),
            p_value: shift.p_value,
            load,
        };
        if matters(change.before.median, change.after.median, &change) {
            return change.is_slower().then_some(change);
        }
        let shape = part(&before, &after)?;
        let is_part = self.number > 0 && matters(change.before.mean, change.after.mean, &change);
        let change = Change { shape, ..change };
        (is_part && change.is_slower() && change.after.mean - change.before.mean >= CHANGE_MIN_S).then_some(change)
    }
}
