//! CPU time that a request takes more while work is held up, and the function that carries it: a differential profile.
//!
//! A function's cores in use over the requests that end per second is what one request takes of it (utilisation law, D = U / X). Comparing that function by
//! function between two stretches is what a differential flame graph shows (Gregg, *Differential Flame Graphs*, 2014), here per request and not per second,
//! so that more load alone is no difference.

use std::collections::BTreeSet;

use metrics::Role;

use super::readings::SignalReadings;
use super::search::READINGS_MIN;
use super::signals::{ObservedPart, ObservedSignals};
use super::strain::{Spans, Strain};

/// How many times the CPU time of a request must be what it was.
const GROWN: f64 = 1.25;
/// Part of the growth from which a function carries it.
const CARRIES: f64 = 0.4;
/// CPU seconds that samples must have seen in the function: at 99 a second some fifty of them.
const SEEN_MIN_S: f64 = 0.5;
/// Requests on either side.
const REQUESTS_MIN: f64 = 30.0;
/// Part of the readings that must show it: a mean alone may be moved by a few.
const READINGS_SHARE: f64 = 0.75;

pub(crate) struct CpuGrowth<'a> {
    pub(crate) observer: &'a str,
    pub(crate) function: &'a str,
    /// The system's own functions that called it, innermost first; may be empty.
    pub(crate) under: &'a str,
    pub(crate) series: String,
    /// CPU seconds per request in the function, before and while work was held up.
    pub(crate) part: (f64, f64),
    /// The same in all functions.
    pub(crate) whole: (f64, f64),
    /// From the first held-up second to the last. Seconds since the run began.
    pub(crate) span: (f64, f64),
    /// Readings of either stretch.
    pub(crate) readings: (usize, usize),
}

impl CpuGrowth<'_> {
    pub(crate) fn share(&self) -> f64 {
        ((self.part.1 - self.part.0) / (self.whole.1 - self.whole.0)).min(1.0)
    }
}

/// The largest growth of all runtimes whose functions were sampled.
pub(super) fn find<'a>(signals: &ObservedSignals<'a>, strain: &Strain) -> Option<CpuGrowth<'a>> {
    let (free, held) = strain.free_and_held();
    let span = (held.first()?.0, held.last()?.1);
    let length = |spans: &Spans| spans.iter().map(|(from, to)| to - from).sum::<f64>();
    let ended = |spans: &Spans| spans.iter().map(|(from, to)| strain.throughput(*from, *to) * (to - from)).sum::<f64>();
    let requests = (ended(&free), ended(&held));
    if requests.0.min(requests.1) < REQUESTS_MIN {
        return None;
    }
    let rates = (requests.0 / length(&free), requests.1 / length(&held));
    let of_part = |part| growth(signals, part, (&free, &held), rates, span);
    let by = |growth: &CpuGrowth<'_>| growth.whole.1 - growth.whole.0;
    signals.parts_with(Role::FunctionCpu).filter_map(of_part).max_by(|a, b| by(a).total_cmp(&by(b)))
}

fn growth<'a>(
    signals: &ObservedSignals<'a>,
    part: ObservedPart<'a>,
    (free, held): (&Spans, &Spans),
    rates: (f64, f64),
    span: (f64, f64),
) -> Option<CpuGrowth<'a>> {
    let functions = signals.read_each(part, Role::FunctionCpu);
    let readings = (instants(&functions, free), instants(&functions, held));
    if readings.0.min(readings.1) < READINGS_MIN {
        return None;
    }
    // A function that was not reported yet was not seen: nothing of it.
    let each = |sums: (f64, f64)| (sums.0 / readings.0 as f64 / rates.0, sums.1 / readings.1 as f64 / rates.1);
    let sums = |one: &SignalReadings<'_>| (inside(one, free).sum::<f64>(), inside(one, held).sum::<f64>());
    let whole = functions.iter().map(sums).fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
    let whole = each(whole);
    let grown = whole.1 - whole.0;
    if whole.1 < GROWN * whole.0 || grown <= 0.0 {
        return None;
    }
    let named = functions.iter().filter(|one| one.label("function").is_some_and(|name| !matches!(name, "(other)" | "(program)")));
    let by = |one: &&SignalReadings<'a>| each(sums(one)).1 - each(sums(one)).0;
    let most = named.max_by(|a, b| by(a).total_cmp(&by(b)))?;
    let (of_most, mine) = (sums(most), each(sums(most)));
    let length: f64 = held.iter().map(|(from, to)| to - from).sum();
    let seen_s = of_most.1 / readings.1 as f64 * length;
    let above = inside(most, held).filter(|cores| *cores > mine.0 * rates.1).count();
    let is_carried = mine.1 - mine.0 >= CARRIES * grown && seen_s >= SEEN_MIN_S;
    (is_carried && above as f64 >= READINGS_SHARE * readings.1 as f64).then(|| CpuGrowth {
        observer: part.observer,
        function: most.label("function").unwrap_or_default(),
        under: most.label("under").unwrap_or_default(),
        series: most.name(),
        part: mine,
        whole,
        span,
        readings,
    })
}

fn inside<'a>(readings: &'a SignalReadings<'_>, spans: &'a Spans) -> impl Iterator<Item = f64> + 'a {
    readings.points().iter().filter(|(at, _)| lies_in(*at, spans)).map(|(_, value)| *value)
}

/// How often functions were reported.
fn instants(functions: &[SignalReadings<'_>], spans: &Spans) -> usize {
    let all = functions.iter().flat_map(SignalReadings::points).map(|(at, _)| *at);
    all.filter(|at| lies_in(*at, spans)).map(f64::to_bits).collect::<BTreeSet<_>>().len()
}

fn lies_in(at: f64, spans: &Spans) -> bool {
    spans.iter().any(|(from, to)| at > *from && at <= *to)
}
