//! When work waited: the stretches of a run for which other facts search a cause. Where no work waits, nothing is held up, and no cause is named.

use loadstone_metrics::SeriesKind;

use crate::RunTally;
use crate::statistics::{best_tenth, mean_of_batches};

/// Seconds over which rates are averaged, so that a few messages per second give a steady rate.
const RATE_SECONDS: usize = 10;
/// Open requests or journeys that are a queue.
const BACKLOG_MIN: f64 = 10.0;
/// Factor over the time in the system in the best tenth of the load from which work waits.
const WAITING_FACTOR_MIN: f64 = 2.0;
/// And the least difference for journeys, which arrive in bursts. Seconds.
const JOURNEYS_WAIT_MIN_S: f64 = 1.0;
/// And for requests. Seconds.
const REQUESTS_WAIT_MIN_S: f64 = 0.02;
/// The shortest stretch. Seconds.
const STRETCH_MIN_S: usize = 15;
/// The longest pause that does not end a stretch. Seconds.
const DIP_MAX_S: usize = 3;
/// Wait over the generator's p99 schedule lag from which the generator cannot have caused the wait.
const SCHEDULE_LAG_FACTOR_MIN: f64 = 20.0;
/// Part of the arrivals by which a queue must grow to be unstable.
const BACKLOG_GROWTH_PART_MIN: f64 = 0.04;

/// Work that waited.
#[derive(Debug, Clone)]
pub(crate) struct WaitingStretch {
    /// The flow's name; `None` for the requests of the load itself.
    pub(crate) flow: Option<String>,
    /// Seconds since the run began.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// The end of the load within the stretch.
    pub(crate) load_to: f64,
    /// Started per second during the load.
    pub(crate) started: f64,
    /// Finished per second during the load.
    pub(crate) finished: f64,
    /// Growth of the backlog per second during the load, and half of its 95 % interval.
    pub(crate) growth: (f64, f64),
    /// Open requests or journeys at the end of the load.
    pub(crate) backlog: f64,
    /// Finished per second while any waited, including the time after the load.
    pub(crate) throughput: f64,
    /// Open journeys or requests times seconds.
    pub(crate) waited: f64,
    /// Under closed load.
    pub(crate) closed: Option<ClosedLoad>,
}

/// A wait of closed load. Closed load asks for no more than is completed, so only its users and their times show the wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClosedLoad {
    /// Active users at the begin of the stretch.
    pub(crate) users: u64,
    /// Time in the system in the best tenth of the load. Seconds.
    pub(crate) before_s: f64,
    /// Mean time in the system while work waited. Seconds.
    pub(crate) during_s: f64,
}

impl WaitingStretch {
    /// Whether more arrived than left until the end of the load, beyond chance.
    pub(crate) fn is_unstable(&self) -> bool {
        self.growth.0 - self.growth.1 > 0.0 && self.growth.0 >= BACKLOG_GROWTH_PART_MIN * self.started
    }

    /// How long the last arrival waits. Seconds.
    pub(crate) fn wait(&self) -> f64 {
        self.backlog / self.throughput.max(1e-9)
    }

    /// Whether the wait is too long for this generator's lateness to have caused it.
    pub(crate) fn dwarfs_generator(&self, tally: &RunTally) -> bool {
        let lag = tally.together(SeriesKind::Request).and_then(|all| all.lag.quantile(0.99));
        self.flow.is_some() && self.is_unstable() && self.wait() >= SCHEDULE_LAG_FACTOR_MIN * lag.unwrap_or(0) as f64 / 1e9
    }

    /// The names of the columns that show it.
    pub(crate) fn columns(&self) -> Vec<String> {
        match &self.flow {
            Some(flow) => vec![format!("flow/{flow}/backlog/all"), format!("flow/{flow}/rate/finished")],
            None => vec!["in_flight/requests".to_owned(), "response/p50".to_owned()],
        }
    }

    /// What waits, inside a sentence.
    pub(crate) fn what(&self) -> String {
        self.flow.as_ref().map_or_else(|| "requests".to_owned(), |flow| format!("\"{flow}\""))
    }
}

/// Arrivals, departures and open work in one second.
#[derive(Debug, Clone, Copy, Default)]
struct WorkInSecond {
    from: f64,
    to: f64,
    started: f64,
    finished: f64,
    open: f64,
    /// Active users of closed load.
    users: u64,
}

/// The stretches in which work of a flow, or requests, waited; those with the most waiting first. Flows rank before requests, since they measure what users
/// experience.
pub(super) fn find(run: &loadstone_run_directory::Run, tally: &RunTally) -> Vec<WaitingStretch> {
    let load_end = tally.load_end().map_or(f64::INFINITY, |ns| ns as f64 / 1e9);
    let names: Vec<String> = tally.flows().iter().map(|flow| flow.merged.name.to_string()).collect();
    let mut all: Vec<WaitingStretch> = names.iter().flat_map(|name| stretches(Some(name), &of_flow(run, name), load_end)).collect();
    let most_first = |a: &WaitingStretch, b: &WaitingStretch| b.waited.total_cmp(&a.waited);
    all.sort_by(most_first);
    let mut requests = stretches(None, &of_requests(run), load_end);
    requests.sort_by(most_first);
    all.extend(requests);
    all
}

fn of_flow(run: &loadstone_run_directory::Run, name: &str) -> Vec<WorkInSecond> {
    let second = |slice: &loadstone_metrics::Snapshot| {
        let per_second = |count: u64| count as f64 / f64::from(slice.seconds());
        let flow = slice.flows.iter().find(|flow| &*flow.name == name);
        flow.map_or_else(WorkInSecond::default, |flow| WorkInSecond {
            from: slice.start as f64 / 1e9,
            to: slice.end as f64 / 1e9,
            started: per_second(flow.started),
            finished: per_second(flow.finished),
            open: flow.backlog as f64,
            users: 0,
        })
    };
    run.slices.iter().map(second).filter(|second| second.to > second.from).collect()
}

/// Requests in flight of all workers together, during the load: while arrivals were due or, in a run without arrivals, users were wanted.
fn of_requests(run: &loadstone_run_directory::Run) -> Vec<WorkInSecond> {
    let is_open = run.slices.iter().flat_map(|slice| &slice.leaves).any(|leaf| leaf.arrivals_due > 0);
    let second = |slice: &loadstone_metrics::Snapshot| {
        let length = (slice.end - slice.start).max(1) as f64;
        let per_second = |count: u64| count as f64 / f64::from(slice.seconds());
        let ended: u64 = slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| series.count).sum();
        let arrivals: u64 = slice.leaves.iter().map(|leaf| leaf.arrivals_due).sum();
        WorkInSecond {
            from: slice.start as f64 / 1e9,
            to: slice.end as f64 / 1e9,
            started: match (is_open, slice.leaves.iter().any(|leaf| leaf.users_asked > 0)) {
                (true, _) => per_second(arrivals),
                (false, true) => per_second(ended),
                (false, false) => 0.0,
            },
            finished: per_second(ended),
            open: slice.generator.iter().map(|worker| worker.in_flight_ns).sum::<u64>() as f64 / length,
            users: if is_open { 0 } else { slice.leaves.iter().map(|leaf| leaf.users_active).sum() },
        }
    };
    run.slices.iter().map(second).filter(|second| second.to > second.from && second.started > 0.0).collect()
}

/// By Little's law, open work over work that finishes per second is the time in the system under any load. It grows only where work waits.
fn stretches(flow: Option<&String>, seconds: &[WorkInSecond], load_end: f64) -> Vec<WaitingStretch> {
    let rate = |index: usize| {
        let around = &seconds[index.saturating_sub(RATE_SECONDS / 2)..(index + RATE_SECONDS / 2).min(seconds.len())];
        around.iter().map(|second| second.finished).sum::<f64>() / around.len().max(1) as f64
    };
    let times: Vec<f64> = (0..seconds.len()).map(|index| seconds[index].open / rate(index).max(0.1)).collect();
    let during_load = seconds.iter().zip(&times).filter(|(second, _)| second.to <= load_end + 1.0 && second.finished > 0.0);
    let during_load: Vec<f64> = during_load.map(|(_, time)| *time).collect();
    let Some(base) = best_tenth(&during_load) else { return Vec::new() };
    let grown_by = if flow.is_some() { JOURNEYS_WAIT_MIN_S } else { REQUESTS_WAIT_MIN_S };
    let waits = |index: &usize| seconds[*index].open >= BACKLOG_MIN && times[*index] >= WAITING_FACTOR_MIN * base + grown_by;
    let long = runs((0..seconds.len()).filter(waits)).into_iter().filter(|(first, last)| last + 1 - first >= STRETCH_MIN_S);
    long.map(|(first, last)| of_stretch(flow, seconds, load_end, base, (first, last))).collect()
}

fn of_stretch(flow: Option<&String>, seconds: &[WorkInSecond], load_end: f64, base: f64, (first, last): (usize, usize)) -> WaitingStretch {
    let loaded: Vec<&WorkInSecond> = seconds[first..=last].iter().filter(|second| second.to <= load_end + 0.5).collect();
    let growths: Vec<f64> = loaded.iter().map(|second| second.started - second.finished).collect();
    let mean =
        |of: fn(&WorkInSecond) -> f64, list: &[&WorkInSecond]| list.iter().map(|second| of(second)).sum::<f64>() / list.len().max(1) as f64;
    let whole: Vec<&WorkInSecond> = seconds[first..=last].iter().collect();
    let throughput = mean(|second| second.finished, &whole);
    let during_s = mean(|second| second.open, &whole) / throughput.max(1e-9);
    let users = seconds[first].users;
    // A queue that drained by itself during the load is not growing, however it grew before.
    let is_over = loaded.last().zip(seconds.iter().rfind(|second| second.to <= load_end + 0.5)).is_some_and(|(a, b)| a.to + 5.0 < b.to);
    WaitingStretch {
        flow: flow.cloned(),
        from: seconds[first].from,
        to: seconds[last].to,
        load_to: loaded.last().map_or(seconds[first].from, |second| second.to),
        started: mean(|second| second.started, &loaded),
        finished: mean(|second| second.finished, &loaded),
        growth: if is_over || flow.is_none() { (0.0, f64::INFINITY) } else { mean_of_batches(&growths) },
        backlog: loaded.last().map_or(0.0, |second| second.open),
        throughput,
        waited: whole.iter().map(|second| second.open * (second.to - second.from)).sum(),
        closed: (users > 0).then_some(ClosedLoad { users, before_s: base, during_s }),
    }
}

/// The first and the last of each run of indices, with short pauses allowed.
fn runs(indices: impl Iterator<Item = usize>) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for index in indices {
        match found.last_mut() {
            Some((_, last)) if index - *last <= DIP_MAX_S + 1 => *last = index,
            _ => found.push((index, index)),
        }
    }
    found
}
