//! Queues that grow while the load is constant, though no request is slower yet.
//!
//! A queue grows without bound where more arrives than leaves: its utilisation exceeds one (Kleinrock, *Queueing Systems*, volume 1, 1975, 1.5). Requests that
//! do not wait for it remain fast until a resource that they need does. A run that ends before shows nothing of that.

use loadstone_metrics::{Role, SeriesKind, SeriesSlice, Snapshot};
use loadstone_run_directory::Run;

use super::changes;
use super::load_stretches::SteadyStretch;
use super::readings::SignalReadings;
use super::signals::{ObservedPart, ObservedSignals};
use super::waiting::WaitingStretch;
use crate::statistics::{mean, mean_of_batches};

/// Seconds of constant load that distinguish growth from a beginning.
const LENGTH_MIN_S: f64 = 35.0;
/// Readings in them.
const READINGS_MIN: usize = 24;
/// Stretches whose means are compared.
const PARTS: usize = 8;
/// Rises that there must be among the seven steps between them.
const RISES_MIN: usize = 6;
/// Length of the queue at the end.
const FINAL_LENGTH_MIN: f64 = 50.0;
/// And as a multiple of its mean length in the first stretch.
const GROWTH_FACTOR_MIN: f64 = 3.0;
/// Growth in the second half as a part of that in the first. With less, the queue levels off.
const LATE_GROWTH_PART_MIN: f64 = 0.5;
/// How many times as long as any request while the queue grew a request must take to count as waiting for the queue.
const STUCK_FACTOR_MIN: f64 = 5.0;
/// And how long. Seconds.
const STUCK_MIN_S: f64 = 1.0;
/// And how many such requests there must be.
const STUCK_REQUESTS_MIN: u64 = 10;
/// The runtime's label for its name lookups.
const LOOKUPS: &str = "look-ups of names";

const LENGTHS: [Role; 3] = [Role::RuntimeWork, Role::QueueLength, Role::PoolWaiting];

/// A queue that grew throughout a stretch of constant load.
pub(crate) struct GrowingBacklog<'a> {
    pub(crate) observer: &'a str,
    /// `look-ups of names`, `messages`.
    pub(crate) what: String,
    pub(crate) series: String,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Its length at the end.
    pub(crate) last: f64,
    /// Growth per second, and half of its 95 % interval.
    pub(crate) growth: (f64, f64),
    /// Completed per second, where that is known.
    pub(crate) done: Option<f64>,
    /// When requests began to wait. Seconds since the run began.
    pub(crate) onset: Option<f64>,
    /// Requests that ended only after the load, so that no second of the load shows them.
    pub(crate) stuck: Option<StuckRequests>,
}

/// Requests in progress at the end of the load that took far longer than those before. Seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StuckRequests {
    pub(crate) count: u64,
    /// When the first of them began, since the run began.
    pub(crate) from: f64,
    pub(crate) longest: f64,
    /// The longest request before.
    pub(crate) before: f64,
}

impl GrowingBacklog<'_> {
    /// How long the last in the queue waits, by Little's law. Seconds.
    pub(crate) fn wait(&self) -> Option<f64> {
        self.done.filter(|done| *done > 0.0).map(|done| self.last / done)
    }
}

/// The longest queue first.
pub(super) fn find<'a>(
    run: &Run,
    signals: &ObservedSignals<'a>,
    waiting: &[WaitingStretch],
    steady: &[SteadyStretch],
) -> Vec<GrowingBacklog<'a>> {
    let Some(longest) = steady.iter().max_by_key(|stretch| stretch.to - stretch.from) else { return Vec::new() };
    let (from, to) = (changes::seconds(run, longest.from), changes::seconds(run, longest.to));
    let of_requests = waiting.iter().filter(|waiting| waiting.flow.is_none() && waiting.to > from);
    let onset = of_requests.map(|waiting| waiting.from).min_by(f64::total_cmp);
    let span = (from, onset.unwrap_or(to).min(to));
    let each = LENGTHS.into_iter().flat_map(|role| {
        let readings = signals.parts_with(role).flat_map(move |part| signals.read_each(part, role).into_iter().map(move |of| (part, of)));
        readings.collect::<Vec<_>>()
    });
    let mut found: Vec<GrowingBacklog<'a>> = each.filter_map(|(part, readings)| grown(part, &readings, span)).collect();
    let stuck = if onset.is_none() { stuck_requests(run, span) } else { None };
    for backlog in &mut found {
        (backlog.onset, backlog.stuck) = (onset, stuck);
        backlog.done = if backlog.what == LOOKUPS { looked_up(signals, part_of_all(signals, backlog, span), span) } else { None };
    }
    found.sort_by(|a, b| b.last.total_cmp(&a.last));
    found
}

fn grown<'a>(part: ObservedPart<'a>, readings: &SignalReadings<'a>, (from, to): (f64, f64)) -> Option<GrowingBacklog<'a>> {
    if to - from < LENGTH_MIN_S || readings.count(from, to) < READINGS_MIN {
        return None;
    }
    let length = (to - from) / PARTS as f64;
    let means = (0..PARTS).map(|number| readings.mean(from + number as f64 * length, from + (number + 1) as f64 * length));
    let means: Vec<f64> = means.collect::<Option<_>>()?;
    let steps: Vec<f64> = means.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (early, late) = steps.split_at(steps.len() / 2);
    let (first, last) = (*means.first()?, *means.last()?);
    let is_growing = steps.iter().filter(|step| **step > 0.0).count() >= RISES_MIN
        && last >= f64::max(FINAL_LENGTH_MIN, GROWTH_FACTOR_MIN * first)
        && mean(late) >= LATE_GROWTH_PART_MIN * mean(early);
    let points: Vec<(f64, f64)> = readings.between(from, to).collect();
    let rates: Vec<f64> =
        points.windows(2).filter(|pair| pair[1].0 > pair[0].0).map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0)).collect();
    let growth = mean_of_batches(&rates);
    let name = readings.label("type").or_else(|| Some(part.part).filter(|part| !part.is_empty()));
    (is_growing && growth.0 - growth.1 > 0.0).then(|| GrowingBacklog {
        observer: part.observer,
        what: name.map_or_else(|| readings.signal.metric().to_owned(), str::to_owned),
        series: readings.name(),
        from,
        to,
        last: points.last().map_or(last, |(_, value)| *value),
        growth,
        done: None,
        onset: None,
        stuck: None,
    })
}

fn requests(slice: &Snapshot) -> impl Iterator<Item = &SeriesSlice> {
    slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request)
}

fn stuck_requests(run: &Run, (from, to): (f64, f64)) -> Option<StuckRequests> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let longest = |slice: &Snapshot| requests(slice).map(|series| seconds(series.service.max())).fold(0.0, f64::max);
    let during = run.slices.iter().filter(|slice| seconds(slice.start) >= from && seconds(slice.end) <= to);
    let before = during.map(longest).fold(0.0, f64::max);
    let slow = f64::max(STUCK_FACTOR_MIN * before, STUCK_MIN_S);
    let after: Vec<&Snapshot> = run.slices.iter().filter(|slice| seconds(slice.start) >= to && longest(slice) > slow).collect();
    let of_series = |series: &SeriesSlice| series.service.count() - series.service.count_at_or_below((slow * 1e9) as u64);
    let count = after.iter().flat_map(|slice| requests(slice)).map(of_series).sum();
    let began = after.iter().map(|slice| seconds(slice.start) - longest(slice)).fold(f64::INFINITY, f64::min);
    (before > 0.0 && count >= STUCK_REQUESTS_MIN).then(|| StuckRequests {
        count,
        from: began.max(from),
        longest: after.iter().map(|slice| longest(slice)).fold(0.0, f64::max),
        before,
    })
}

/// This runtime's part of all work of the queue's kind.
fn part_of_all(signals: &ObservedSignals<'_>, backlog: &GrowingBacklog<'_>, (from, to): (f64, f64)) -> f64 {
    let all = signals.parts_with(Role::RuntimeWorkMax).flat_map(|part| signals.read_each(part, Role::RuntimeWorkMax));
    let places: Vec<(bool, f64)> = all
        .filter(|places| places.label("type") == Some(&backlog.what))
        .filter_map(|places| Some((places.signal.observer == backlog.observer, places.mean(from, to)?)))
        .collect();
    let sum = |own_only: bool| places.iter().filter(|(is_own, _)| *is_own || !own_only).map(|(_, places)| places).sum::<f64>();
    sum(true) / sum(false).max(1.0)
}

/// Lookups per second that the test's name servers answered for this part of the runtimes. While each has a queue, each is always busy.
fn looked_up(signals: &ObservedSignals<'_>, part: f64, (from, to): (f64, f64)) -> Option<f64> {
    let names = signals.parts_with(Role::NameLookups).flat_map(|part| signals.read_each(part, Role::NameLookups));
    let rates: Vec<f64> = names.filter_map(|name| name.mean(from, to)).collect();
    (!rates.is_empty()).then(|| part * rates.iter().sum::<f64>())
}
