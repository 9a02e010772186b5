//! Callers that are all busy calling: how many calls a stub ever had at once while work waited, and what admits just so many.
//!
//! While work waits, every caller that is free takes some. If the calls in the stub then reach the same number in every second and never exceed
//! it, that number is a limit of whoever calls: workers, a pool of connections, or, when it is one, a lock. What the database's sessions did at
//! the same time tells which. A bottleneck before the callers leaves calls that come and go, and no such ceiling.

use super::draft::{Draft, Standing};
use super::signals::{Readings, mean_of_batches};
use super::waiting::Waiting;
use super::{Scene, database};
use crate::Confidence;

/// Seconds at either end of the stretch that are left out: what waits builds up and runs dry there.
const TRIMMED_S: f64 = 2.0;
const SECONDS_MIN: usize = 10;
/// Share of the seconds whose most calls at once are the ceiling, and that may lie above it.
const AT_CEILING_MIN: f64 = 0.80;
const ABOVE_CEILING_MAX: f64 = 0.02;
/// Share of the ceiling that is in use on average; below it, the callers spend their time elsewhere.
const BUSY_MIN: f64 = 0.50;
const CLEARLY_BUSY: f64 = 0.80;
/// How many times the ceiling must work for it for a pool to be smaller than its workers, and how near they are when all are at work.
const MORE_WORKERS: f64 = 1.25;
const SAME_WORKERS: f64 = 0.15;

/// The ceiling of the calls in one stub.
pub(super) struct Ceiling<'a> {
    waiting: &'a Waiting,
    stub: &'a str,
    /// Most calls at once.
    calls_max: f64,
    /// Mean calls at once, and half of its 95 % interval.
    calls: (f64, f64),
    at_ceiling: f64,
    /// Mean time that the stub held a call.
    hold: Option<f64>,
    from: f64,
    to: f64,
}

/// The stub whose callers are busiest.
pub(super) fn ceiling<'a>(scene: &'a Scene<'a>) -> Option<Ceiling<'a>> {
    let stubs: Vec<&str> = scene.signals.observers_with("in_flight_max").collect();
    // Closed load has no more calls than users: they are a ceiling of their own.
    let found = scene
        .waiting
        .iter()
        .filter(|waiting| waiting.closed.is_none())
        .flat_map(|waiting| stubs.iter().filter_map(|stub| of_stub(scene, waiting, stub)));
    found.max_by(|a, b| a.busy().total_cmp(&b.busy()))
}

fn of_stub<'a>(scene: &'a Scene<'a>, waiting: &'a Waiting, stub: &'a str) -> Option<Ceiling<'a>> {
    let (from, to) = (waiting.from + TRIMMED_S, waiting.to - TRIMMED_S);
    let most = scene.signals.readings(stub, "in_flight_max")?;
    let values: Vec<f64> = most.between(from, to).map(|(_, value)| value.round()).collect();
    if values.len() < SECONDS_MIN {
        return None;
    }
    let calls_max = most_frequent(&values);
    let at_ceiling = most.share(from, to, |value| (value - calls_max).abs() < 0.5)?;
    let above = most.share(from, to, |value| value > calls_max + 0.5)?;
    let in_flight: Vec<f64> = scene.signals.readings(stub, "in_flight")?.between(from, to).map(|(_, value)| value).collect();
    let calls = mean_of_batches(&in_flight);
    let hold = scene.signals.readings(stub, "hold").and_then(|hold| hold.mean(from, to));
    // As many calls as the load itself has requests open: nobody waits before the stub, the load is what limits them.
    let is_of_load = waiting.flow.is_none() && waiting.backlog < 1.5 * calls_max;
    let is_ceiling = calls_max >= 1.0 && at_ceiling >= AT_CEILING_MIN && above <= ABOVE_CEILING_MAX && calls.0 >= BUSY_MIN * calls_max;
    (is_ceiling && !is_of_load).then_some(Ceiling { waiting, stub, calls_max, calls, at_ceiling, hold, from, to })
}

fn most_frequent(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map_or(0.0, |same| same[0])
}

impl Ceiling<'_> {
    /// Share of the ceiling in use.
    pub(super) fn busy(&self) -> f64 {
        self.calls.0 / self.calls_max
    }

    /// The calls themselves take nearly all of the callers' time: no processor, disk or database on their side does.
    pub(super) fn explains_all(&self) -> bool {
        self.busy() >= CLEARLY_BUSY
    }

    fn name(&self) -> &str {
        self.stub.strip_prefix("stub:").unwrap_or(self.stub)
    }

    fn standing(&self) -> Standing {
        if self.waiting.is_unstable() { Standing::Cause } else { Standing::Passing }
    }

    /// Callers needed for the work that came in, by Little's law: each piece takes `calls_max / throughput` of one caller's time.
    fn needed(&self) -> f64 {
        self.calls_max * self.waiting.started / self.waiting.throughput.max(1e-9)
    }

    fn draft(&self, rule: &str, confidence: Confidence, claim: String) -> Draft {
        let confidence = if self.waiting.is_unstable() { confidence } else { confidence.min(Confidence::Medium) };
        let hold = self.hold.map_or_else(String::new, |hold| {
            format!("; {} × {} in each = {:.1}", units::rate(self.waiting.throughput), units::seconds(hold), self.waiting.throughput * hold)
        });
        let mean = format!("{:.1}", self.calls.0);
        let interval = if self.calls.1.is_finite() {
            let (low, high) = ((self.calls.0 - self.calls.1).max(0.0), (self.calls.0 + self.calls.1).min(self.calls_max));
            format!(" (95 % interval {low:.1}–{high:.1})")
        } else {
            String::new()
        };
        let text = format!(
            "calls in \"{}\" while {} waited: at most {} at once, reached in {} of the seconds; {mean} on average{interval}{hold}",
            self.name(),
            self.waiting.what(),
            self.calls_max,
            units::share(self.at_ceiling)
        );
        let series = ["in_flight_max", "in_flight", "calls"].iter().map(|metric| format!("{}/{metric}", self.stub)).collect();
        let waited = if self.waiting.is_unstable() {
            let (growth, half) = self.waiting.growth;
            format!(
                "{} came in at {} and left at {}: the backlog grew by {:.1} a second (95 % interval {:.1}–{:.1})",
                self.waiting.what(),
                units::rate(self.waiting.started),
                units::rate(self.waiting.finished),
                growth,
                growth - half,
                growth + half
            )
        } else {
            format!("{} waited for {}, and then no longer", self.waiting.what(), units::seconds(self.waiting.to - self.waiting.from))
        };
        Draft::new(self.standing(), rule, confidence, claim).rests_on(text, series, (self.from, self.to)).rests_on(
            waited,
            self.waiting.columns(),
            (self.waiting.from, self.waiting.load_to),
        )
    }
}

/// What admits just so many: a lock, a pool, the number of workers; or, without the evidence to tell, the number alone.
pub(super) fn find(scene: &Scene<'_>) -> Option<Draft> {
    let ceiling = ceiling(scene)?;
    let workers = database::Workers::between(scene, ceiling.from, ceiling.to);
    let draft = match workers {
        Some(workers) if ceiling.calls_max < 1.5 && workers.waiting_for_locks >= 1.0 => behind_a_lock(scene, &ceiling, &workers),
        Some(workers)
            if workers.in_transaction >= MORE_WORKERS * ceiling.calls_max && workers.in_transaction >= ceiling.calls_max + 1.5 =>
        {
            pool(&ceiling, &workers)
        }
        Some(workers) if (workers.in_transaction - ceiling.calls_max).abs() <= (SAME_WORKERS * ceiling.calls_max).max(0.6) => {
            all_busy(&ceiling, &workers)
        }
        _ => unknown(scene, &ceiling),
    };
    let dwarfs_generator = ceiling.waiting.dwarfs_generator(scene.tally);
    Some(Draft { dwarfs_generator, ..set_aside(scene, &ceiling, draft) })
}

fn behind_a_lock(scene: &Scene<'_>, ceiling: &Ceiling<'_>, workers: &database::Workers<'_>) -> Draft {
    let claim = format!(
        "Calls to \"{}\" go out 1 at a time: {:.0} database sessions queue behind the one whose row lock is held during the call",
        ceiling.name(),
        workers.waiting_for_locks
    );
    let blocked = database::blocked_by(scene, workers.observer, ceiling.from, ceiling.to);
    let chain = blocked.as_ref().map_or_else(String::new, |(pair, _)| format!("; most wait in {pair}"));
    let mut series = workers.lock_series.clone();
    series.extend(blocked.map(|(_, name)| name));
    ceiling
        .draft("lock", if ceiling.explains_all() { Confidence::High } else { Confidence::Medium }, claim)
        .rests_on(
            format!("{:.1} sessions waited for a lock on average, in {} of the readings{chain}", workers.waiting_for_locks, units::share(workers.locked_share)),
            series,
            (ceiling.from, ceiling.to),
        )
        .or(format!(
            "A single worker would show the same number of calls: set aside, because {:.0} others waited for a lock at the same time.",
            workers.waiting_for_locks
        ))
        .try_next(
            "Let a worker that finds a row locked take the next one (FOR UPDATE SKIP LOCKED), or end the transaction before the call. Run again: throughput should rise with the number of workers.",
        )
}

fn pool(ceiling: &Ceiling<'_>, workers: &database::Workers<'_>) -> Draft {
    let claim = format!(
        "Calls to \"{}\" go out {:.0} at a time, though {:.0} workers have one to make: a pool of {:.0} connections is smaller than the workers that share it",
        ceiling.name(),
        ceiling.calls_max,
        workers.in_transaction,
        ceiling.calls_max
    );
    ceiling
        .draft("connection-pool", if ceiling.explains_all() { Confidence::High } else { Confidence::Medium }, claim)
        .rests_on(
            format!("{:.1} database transactions were open without a statement running: workers that hold their work and wait, {:.1} more than calls were out", workers.in_transaction, workers.in_transaction - ceiling.calls.0),
            vec![workers.transactions_series.clone()],
            (ceiling.from, ceiling.to),
        )
        .or("Too few workers: set aside, because more of them held work than calls were out.")
        .or(format!("A lock: set aside, because {:.1} sessions waited for one.", workers.waiting_for_locks))
        .try_next(format!(
            "Give the client that calls \"{}\" as many connections as there are workers ({:.0}), and run again: throughput should rise from {} to what {:.0} carry, about {}.",
            ceiling.name(),
            workers.in_transaction,
            units::rate(ceiling.waiting.throughput),
            workers.in_transaction,
            units::rate(ceiling.waiting.throughput * workers.in_transaction / ceiling.calls_max)
        ))
}

fn all_busy(ceiling: &Ceiling<'_>, workers: &database::Workers<'_>) -> Draft {
    let claim = format!(
        "Calls to \"{}\" go out {:.0} at a time: all {:.0} workers are busy with one, {} leave, {} come in, and nothing else is at its limit",
        ceiling.name(),
        ceiling.calls_max,
        ceiling.calls_max,
        units::rate(ceiling.waiting.throughput),
        units::rate(ceiling.waiting.started)
    );
    ceiling
        .draft("workers", if ceiling.explains_all() { Confidence::High } else { Confidence::Medium }, claim)
        .rests_on(
            format!(
                "{:.1} database transactions were open beside them: one for each call, nobody waits for a connection",
                workers.in_transaction
            ),
            vec![workers.transactions_series.clone()],
            (ceiling.from, ceiling.to),
        )
        .or("A pool that is smaller than the workers: set aside, because no more transactions were open than calls were out.")
        .or(format!("A lock: set aside, because {:.1} sessions waited for one.", workers.waiting_for_locks))
        .try_next(more_workers(ceiling))
}

fn more_workers(ceiling: &Ceiling<'_>) -> String {
    format!(
        "Work that comes in at {} needs {:.1} of them at any moment (rate × time of each): more than {:.0}, and about {:.0} to have a fifth to spare. Or make the calls shorter.",
        units::rate(ceiling.waiting.started),
        ceiling.needed(),
        ceiling.needed().floor(),
        (ceiling.needed() / 0.8).ceil()
    )
}

fn unknown(scene: &Scene<'_>, ceiling: &Ceiling<'_>) -> Draft {
    let own = |name: &&str| !name.starts_with("stub:") && !name.starts_with("observe/");
    let matches: Vec<&str> = scene.signals.steady_at(ceiling.calls_max, ceiling.from, ceiling.to).into_iter().filter(own).collect();
    let claim = format!(
        "Calls to \"{}\" go out {:.0} at a time at most: workers, a pool or a lock of that size stands before them",
        ceiling.name(),
        ceiling.calls_max
    );
    let mut draft = ceiling.draft("effective-concurrency", Confidence::Medium, claim);
    if ceiling.calls_max > 1.5 && !matches.is_empty() {
        let shown = matches.iter().take(4).copied().collect::<Vec<_>>().join(", ");
        let names = matches.iter().map(|name| (*name).to_owned()).collect();
        draft = draft.rests_on(format!("the same number all along: {shown}"), names, (ceiling.from, ceiling.to));
    }
    draft
        .or("Which of the three it is, these signals do not tell: not set aside.")
        .try_next(format!(
            "Observe the caller's database (observe.postgres: open transactions, who waits for a lock) or its metrics (observe.prometheus: pool size, threads). If it is workers: {}",
            more_workers(ceiling)
        ))
}

/// What else could have held the callers up, with its numbers.
fn set_aside(scene: &Scene<'_>, ceiling: &Ceiling<'_>, draft: Draft) -> Draft {
    let hold = |from, to| scene.signals.readings(ceiling.stub, "hold").as_ref().and_then(|hold: &Readings| hold.mean(from, to));
    let middle = f64::midpoint(ceiling.from, ceiling.to);
    let draft = if ceiling.explains_all() {
        draft.or(format!(
            "A busy processor, disk or database on the callers' side: set aside, because the calls themselves took {} of their time.",
            units::share(ceiling.busy())
        ))
    } else {
        draft
    };
    match (hold(ceiling.from, middle), hold(middle, ceiling.to)) {
        (Some(before), Some(after)) if after > 1.5 * before => draft.or(format!(
            "\"{}\" became slower, from {} to {}: that is what brought it out.",
            ceiling.name(),
            units::seconds(before),
            units::seconds(after)
        )),
        (Some(before), Some(after)) => draft.or(format!(
            "\"{}\" becoming slower: set aside, it held calls for {} in the first half and {} in the second.",
            ceiling.name(),
            units::seconds(before),
            units::seconds(after)
        )),
        _ => draft,
    }
}
