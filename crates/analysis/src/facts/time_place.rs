//! The place in which requests spend most of their time, at any load: a statement of a database, a call of a runtime's threads, or an endpoint that has not
//! answered.
//!
//! By Little's law, the mean number of requests in a place, over that in the system, is the share of their time that they spend in it. Nothing has to be used
//! up, and nothing has to change: the place says where time would have to be saved. Deliberately absent: whether that time is too long.

use std::collections::BTreeMap;

use loadstone_metrics::{Role, SeriesKind};
use loadstone_run_directory::Run;
use serde_json::Value;

use super::outward_waits::server_at;
use super::preparation::Preparation;
use super::readings::SignalReadings;
use super::signals::ObservedSignals;
use super::strain::Strain;
use crate::statistics::{mean, median, variance};

/// Readings of the observer in the stretch.
const READINGS_MIN: usize = 5;
/// Share of the requests in the system.
pub(crate) const SHARE_MIN: f64 = 0.5;
/// And at most: beyond it, some of what was counted belongs to other clients, or to several sessions for one request.
const SHARE_MAX: f64 = 1.0 / 0.7;
/// Threads in calls, as a part of the unanswered calls to an endpoint, from which the call names the same place, and with its code.
const CALL_PART_MIN: f64 = 0.8;
/// Seconds of a round trip of an observer, from which the server or the path to it is slow: more than within a continent.
pub(crate) const ROUND_TRIP_MIN_S: f64 = 0.05;
/// Variance over mean of the number in a place up to which it does not vary, as that of calls that wait for events all the time, and from which the number of
/// requests in the system does.
const STEADY_DISPERSION_MAX: f64 = 0.02;
const VARYING_DISPERSION_MIN: f64 = 0.1;
/// Sessions of a database in one statement, as a part of the calls to it, from which the statement is named.
const STATEMENT_PART_MIN: f64 = 0.3;
/// Share of the time in a place that the other requests may spend anywhere, so that the rest is one request's.
const OTHER_REQUESTS_PART_MAX: f64 = 0.5;

/// What kind of place it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimePlaceKind<'a> {
    /// Sessions of a database that execute a statement.
    Statement,
    /// Threads that wait for the network, a disk or another process in a call. `under`: the service's functions above it.
    Call { under: Option<&'a str> },
    /// Calls to an address without an answer. `server`: the observer that reads the server at this address.
    Endpoint { server: Option<&'a str> },
}

/// One place, over the stretch of the highest load.
#[derive(Debug, Clone)]
pub(crate) struct TimePlace<'a> {
    pub(crate) kind: TimePlaceKind<'a>,
    pub(crate) observer: &'a str,
    /// The statement, the call or the address.
    pub(crate) name: &'a str,
    /// Requests there and in the system, mean.
    pub(crate) count: f64,
    pub(crate) in_system: f64,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) series: Vec<String>,
    /// The request that spends most of this time, if it is one.
    pub(crate) request: Option<TimeOfRequest>,
    /// The statement that most of the database's sessions execute meanwhile, with their number, where the place is the database's address.
    pub(crate) statement: Option<(&'a str, f64)>,
    /// The round trips of the observer that reads the server.
    pub(crate) round_trip: Option<ObserverRoundTrip>,
}

/// Round trips of an observer.
#[derive(Debug, Clone)]
pub(crate) struct ObserverRoundTrip {
    /// The median. Seconds.
    pub(crate) median_s: f64,
    pub(crate) series: String,
}

/// The time of one kind of request in a place. Seconds.
#[derive(Debug, Clone)]
pub(crate) struct TimeOfRequest {
    pub(crate) name: String,
    pub(crate) mean_s: f64,
    /// In the place at least, on average: the time of all other requests is taken off, as if they spent all of it there.
    pub(crate) there_s: f64,
}

impl TimePlace<'_> {
    /// The round trips, if they are so long that the server or the path to it is slow.
    pub(crate) fn long_round_trip(&self) -> Option<&ObserverRoundTrip> {
        self.round_trip.as_ref().filter(|round_trip| round_trip.median_s >= ROUND_TRIP_MIN_S)
    }

    /// The share of the time of requests, up to 1.
    pub(crate) fn share(&self) -> f64 {
        (self.count / self.in_system).min(1.0)
    }
}

/// `None`: no place has most of the time, or what is observed does not show it.
pub(super) fn find<'a>(run: &'a Run, signals: &ObservedSignals<'a>, strain: &Strain, preparation: &Preparation) -> Option<TimePlace<'a>> {
    let (from, to) = strain.top_span();
    let in_system = strain.in_system(from, to).filter(|count| *count > 0.0)?;
    let search = PlaceSearch { signals, strain, observers: run.plan.observers.as_slice(), span: (from, to), in_system };
    let is_most = |place: &TimePlace<'_>| (SHARE_MIN * in_system..=SHARE_MAX * in_system).contains(&place.count);
    let largest = |places: Vec<TimePlace<'a>>| places.into_iter().filter(is_most).max_by(|a, b| a.count.total_cmp(&b.count));
    let endpoint = largest(search.endpoints());
    // Code says more than an address.
    let outward = match (largest(search.calls()), endpoint) {
        (Some(call), Some(endpoint)) if call.count < CALL_PART_MIN * endpoint.count => Some(endpoint),
        (call, endpoint) => call.or(endpoint),
    };
    let place = largest(search.statements()).or(outward)?;
    let request = request(run, preparation, &place);
    Some(TimePlace { request, ..place })
}

struct PlaceSearch<'s, 'a> {
    signals: &'s ObservedSignals<'a>,
    strain: &'s Strain,
    observers: &'a [Value],
    span: (f64, f64),
    in_system: f64,
}

impl<'a> PlaceSearch<'_, 'a> {
    /// Whether a number is that of requests. Long polls and subscriptions wait whether there are requests or not, so their number does not vary with them.
    fn varies_with_requests(&self, each: &[SignalReadings<'a>]) -> bool {
        let (from, to) = self.span;
        let Some(sum) = SignalReadings::sum(each) else { return false };
        let (counts, requests): (Vec<f64>, Vec<f64>) =
            sum.between(from, to).filter_map(|(at, count)| Some((count, self.strain.in_system(at - 0.5, at + 0.5)?))).unzip();
        let dispersion = |values: &[f64]| variance(values) / mean(values).max(1e-9);
        dispersion(&counts) > STEADY_DISPERSION_MAX || dispersion(&requests) < VARYING_DISPERSION_MIN
    }

    /// The mean of a line over all readings of its observer. A line without a reading was zero.
    fn mean(&self, readings: &SignalReadings<'a>) -> Option<f64> {
        let (from, to) = self.span;
        let count = self.signals.readings_of(&readings.signal.observer, from, to);
        let sum: f64 = readings.between(from, to).map(|(_, value)| value).sum();
        (count >= READINGS_MIN).then(|| sum / count as f64)
    }

    fn place(&self, kind: TimePlaceKind<'a>, (observer, name): (&'a str, &'a str), count: f64, series: Vec<String>) -> TimePlace<'a> {
        let (from, to) = self.span;
        TimePlace {
            kind,
            observer,
            name,
            count,
            in_system: self.in_system,
            from,
            to,
            series,
            request: None,
            statement: None,
            round_trip: None,
        }
    }

    fn statements(&self) -> Vec<TimePlace<'a>> {
        let of = |role| self.signals.parts_with(role).map(move |part| (part, self.signals.read_each(part, role)));
        let each = of(Role::SessionsByStatement).flat_map(|(part, lines)| lines.into_iter().map(move |line| (part.observer, line)));
        each.filter_map(|(observer, line)| {
            let name = line.label("statement")?;
            Some(self.place(TimePlaceKind::Statement, (observer, name), self.mean(&line)?, vec![line.name()]))
        })
        .collect()
    }

    /// All positions of one call together. The functions above it are those of most threads.
    fn calls(&self) -> Vec<TimePlace<'a>> {
        let mut calls = BTreeMap::<(&str, &str), Vec<(f64, SignalReadings<'a>)>>::new();
        for part in self.signals.parts_with(Role::ThreadsWaitingForIo) {
            for line in self.signals.read_each(part, Role::ThreadsWaitingForIo) {
                if let (Some(at), Some(count)) = (line.label("at"), self.mean(&line)) {
                    calls.entry((part.observer, at)).or_default().push((count, line));
                }
            }
        }
        let place = |((observer, at), mut lines): (_, Vec<(f64, SignalReadings<'a>)>)| {
            lines.sort_by(|a, b| b.0.total_cmp(&a.0));
            let (_, most) = lines.first()?;
            let kind = TimePlaceKind::Call { under: most.label("under") };
            let all: Vec<SignalReadings<'a>> = lines.iter().map(|(_, line)| line.clone()).collect();
            if !self.varies_with_requests(&all) {
                return None;
            }
            let series = lines.iter().map(|(_, line)| line.name()).take(4).collect();
            Some(self.place(kind, (observer, at), lines.iter().map(|(count, _)| count).sum(), series))
        };
        calls.into_iter().filter_map(place).collect()
    }

    /// Without those at which an observed process has the requests itself or waits for others in turn: they are not the innermost place.
    fn endpoints(&self) -> Vec<TimePlace<'a>> {
        let each = self.signals.parts_with(Role::CallsAwaited).filter_map(|part| {
            let line = self.signals.read(part, Role::CallsAwaited)?;
            let database = server_at(part.part, self.observers);
            let process = self.process_at(part.part).filter(|_| database.is_none());
            let kind = TimePlaceKind::Endpoint { server: database.or(process) };
            let place = self.place(kind, (part.observer, part.part), self.mean(&line)?, vec![line.name()]);
            let is_passed_on = process.is_some_and(|process| self.has_or_passes_on(process, place.count));
            let statement =
                database.and_then(|database| self.statement_of(database)).filter(|(_, count)| *count >= STATEMENT_PART_MIN * place.count);
            let round_trip = database.and_then(|database| self.round_trip(database));
            (!is_passed_on && self.varies_with_requests(&[line])).then_some(TimePlace { statement, round_trip, ..place })
        });
        each.collect()
    }

    /// The statement that most sessions of a database execute.
    fn statement_of(&self, database: &str) -> Option<(&'a str, f64)> {
        let of_it = self.statements().into_iter().filter(|place| place.observer == database);
        of_it.max_by(|a, b| a.count.total_cmp(&b.count)).map(|place| (place.name, place.count))
    }

    /// Whether a process computes, waits for a core, or waits for others, for much of the requests that wait for it.
    fn has_or_passes_on(&self, process: &str, count: f64) -> bool {
        let (from, to) = self.span;
        let busy = [Role::ProcessCpu, Role::ProcessRunDelay, Role::CallsAwaited].into_iter().map(|role| {
            let parts = self.signals.parts_with(role).filter(|part| part.observer == process);
            parts.filter_map(|part| self.signals.mean(part, role, from, to)).sum::<f64>()
        });
        busy.sum::<f64>() >= SHARE_MIN * count
    }

    fn round_trip(&self, server: &str) -> Option<ObserverRoundTrip> {
        let part = self.signals.parts_with(Role::RoundTrip).find(|part| part.observer == server)?;
        let readings = self.signals.read(part, Role::RoundTrip)?;
        let times: Vec<f64> = readings.between(self.span.0, self.span.1).map(|(_, seconds)| seconds).collect();
        (times.len() >= READINGS_MIN).then(|| ObserverRoundTrip { median_s: median(&times), series: readings.name() })
    }

    /// The name of the observed process that listens at the port of an address.
    fn process_at(&self, address: &str) -> Option<&'a str> {
        let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u64>().ok())?;
        let listens = |observer: &&Value| observer.get("port").and_then(Value::as_u64) == Some(port);
        let name = |observer: &'a Value| observer.get("name").and_then(Value::as_str);
        let observer =
            self.observers.iter().filter(listens).find(|observer| observer.get("kind").and_then(Value::as_str) == Some("process"))?;
        let whole = self.signals.parts_with(Role::ProcessCpu).map(|part| part.observer);
        name(observer).or_else(|| whole.into_iter().find(|observed| *observed == format!("process:{port}")))
    }
}

/// The request that must have spent most of the time in a place, since all others together spent less.
fn request(run: &Run, preparation: &Preparation, place: &TimePlace<'_>) -> Option<TimeOfRequest> {
    let mut times = BTreeMap::<&str, (f64, f64)>::new();
    let mut length = 0.0;
    for slice in &run.slices {
        let (from, to) = (slice.start as f64 / 1e9, slice.end as f64 / 1e9);
        if from < place.from || to > place.to {
            continue;
        }
        length += to - from;
        let requests = slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request && !preparation.has(&series.key));
        for series in requests {
            let (count, seconds) = times.entry(&series.key.name).or_default();
            *count += series.service.count() as f64;
            *seconds += series.service.sum() as f64 / 1e9;
        }
    }
    let (&name, &(count, seconds)) = times.iter().max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let others: f64 = times.values().map(|(_, seconds)| seconds).sum::<f64>() - seconds;
    let there = place.count * length - others;
    let is_one = others <= OTHER_REQUESTS_PART_MAX * place.count * length && count > 0.0;
    let mean_s = seconds / count;
    is_one.then(|| TimeOfRequest { name: name.to_owned(), mean_s, there_s: (there / count).min(mean_s) })
}
