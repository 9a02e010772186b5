//! A process at the limit of its CPU: one thread at its core, as many cores as the process may use, or all cores of the machine.

use loadstone_metrics::Role;

use super::changes::{Change, Changes, LoadMeanwhile, Shape};
use super::core_queue;
use super::demand::{self, CPU_BOUND_SHARE_MIN};
use super::load_response::LoadResponse;
use super::path::PathResource;
use super::plateau::{ONE_SLOT_MIN, Plateaus};
use super::readings::{SignalReadings, longest_run};
use super::search::{AtLimit, FULL_PART_MIN, LENGTH_MIN_S, READINGS_MIN, SYSTEM_PART_MIN, Search};
use super::signals::{ObservedPart, ObservedSignals};
use super::timeline::TimelineOf;
use crate::statistics::{mean, median, population_variance, quantile};
use crate::{Confidence, ResourceKind};

/// Cores that one thread uses at least where it has a core to itself.
const ONE_CORE_USED_MIN: f64 = 0.80;
/// And at most, with the error of the readings.
const ONE_CORE_USED_MAX: f64 = 1.06;
/// Part of a core that a single thread uses where others take the rest, and what it uses and threads of its process wait for together.
const CROWDED_THREAD_USED_MIN: f64 = 0.75;
const CROWDED_THREAD_WANTED_MIN: f64 = 0.97;
/// The same where requests are served one at a time, which shows a single place by itself.
const THREAD_OF_PLATEAU_USED_MIN: f64 = 0.7;
/// The same where the wait of that thread alone is known.
const WAITING_THREAD_USED_MIN: f64 = 0.5;
const WAITING_THREAD_WANTED_MIN: f64 = 0.95;
/// Part of a core that a single thread uses in each reading, and on average, where only a constant use shows its limit.
const FLAT_THREAD_USED_MIN: f64 = 0.82;
const FLAT_THREAD_MEAN_MIN: f64 = 0.88;
/// Cores that it uses or waits for at least.
const ONE_CORE_WANTED_MIN: f64 = 0.90;
/// Share of the readings in which all of this must hold.
const ONE_CORE_READINGS_SHARE_MIN: f64 = 0.80;
/// The median of the cores that one thread uses or waits for at most. Many threads on a crowded machine may use as much, but wait longer. A median, since
/// garbage collectors wait, too.
const ONE_THREAD_WANTED_MAX: f64 = 1.25;
/// Part by which the cores in use may miss a whole number that limits them.
const WHOLE_CORES_WITHIN: f64 = 0.06;
/// And their standard deviation as a part of that number.
const STEADY_DEVIATION_MAX: f64 = 0.04;
/// Threads that wait for a core, for each core of such a limit.
const WAITING_PER_CORE_MIN: f64 = 0.5;
/// Part of the cores that a process must use where others use the rest.
const MOST_CORES_PART_MIN: f64 = 0.75;
/// Part of the cores that its threads must use or wait for in each second, whose readings scatter.
const WANTED_PART_MIN: f64 = 0.80;
/// Part of the cores that it must use where its threads are starved.
const STARVED_CORES_PART_MIN: f64 = 0.5;
/// Threads that wait for a core since an instant beyond those before, and as a part of the requests that were added to the system then. The other added
/// requests wait for these threads.
const TAKEN_WAITING_MIN: f64 = 0.3;
const TAKEN_PART_MIN: f64 = 0.3;
/// Factor from which threads wait for longer than before.
const TAKEN_FACTOR_MIN: f64 = 3.0;
/// Factor up to which the process does the same work as before.
const SAME_WORK_FACTOR_MAX: f64 = 1.25;
/// Seconds per second up to which a limit of its control group does not hold it back.
const HELD_BACK_MAX: f64 = 0.05;
/// Seconds around the instant that are left out.
const TAKEN_EDGE_S: f64 = 1.0;
/// Seconds that threads wait for a core for each second that they have one, from which they are starved: their work takes that much longer.
const STARVED_WAIT_FACTOR_MIN: f64 = 3.0;
/// Part of its cores that a process uses where its threads wait for as many more: a mask or quota does not leave it the rest.
const CROWDED_CORES_PART_MIN: f64 = 0.8;
/// And from which that is certain.
const CROWDED_SURE_PART_MIN: f64 = 0.9;
/// Threads that wait for each core of such a process.
const CROWDED_WAITING_PER_CORE_MIN: f64 = 1.0;
/// Cores in use by the busiest thread, as a part of those of all processes, up to which no single thread does the work.
const SPREAD_THREAD_PART_MAX: f64 = 0.5;
/// Threads that wait for a core where many processes compute one at a time: they wait for each other instead.
const SPREAD_WAITING_MAX: f64 = 0.5;
/// Threads that must wait for a core where others use nearly all of them.
const WAITING_THREADS_MIN: f64 = 0.5;
/// Factor of growth from the third quarter of a stretch to the last that counts as none.
const NO_GROWTH_FACTOR_MAX: f64 = 1.05;
/// The same where the number of cores is the only evidence.
const FLAT_GROWTH_FACTOR_MAX: f64 = 1.02;
/// Part of the growth of the load meanwhile that counts as none either. By the utilisation law, the use of a resource without a limit grows as the load does.
const LOAD_GROWTH_PART_MAX: f64 = 1.0 / 3.0;
/// Cores in use for each place that requests wait for, from which the places are cores.
const CORES_PER_PLACE_MIN: f64 = 0.85;

/// A process whose cores were used up. Means over the stretch.
pub(crate) struct ProcessCpu<'a> {
    pub(crate) process: &'a str,
    pub(crate) limit: CpuLimit,
    /// How certain the limit is: read from the kernel, or inferred from a constant use.
    pub(crate) confidence: Confidence,
    pub(crate) cores_used: f64,
    pub(crate) threads: f64,
    /// Seconds per second that its threads waited for a core; `None`: not read.
    pub(crate) run_delay: Option<f64>,
    /// The same for its busiest thread alone.
    pub(crate) thread_wait: Option<f64>,
}

/// The limit of a process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CpuLimit {
    /// One thread used a whole core. With its own use, if threads were read individually.
    OneThread(Option<f64>),
    /// It may use no more than this many of the machine's cores, or used exactly that number while its threads waited for more.
    Cores(f64),
    /// It used all cores of the machine.
    All(f64),
    /// It used most of this many cores, other processes used the rest, and its threads needed all of them or more.
    Left(f64),
    /// Other processes use the cores: its threads wait several times as long for a core as they have one.
    Starved,
    /// Since an instant, other processes use the cores that it may use, `allowed` of the machine's. Its threads wait for one, and did `before` until then.
    Taken { at: f64, allowed: f64, is_all: bool, before: f64 },
    /// It used all of this many cores, though not at every instant: of the requests served at a time (`served`, mean), most compute, and the others wait for
    /// something else.
    Served { cores: f64, served: f64 },
    /// Many processes together used about one core: they compute one at a time, as behind a lock that each holds while it computes.
    OneAtATime { processes: f64, thread: f64 },
    /// So many cores, or one thread's core, that were not always busy. Requests waited about as long as expected for cores of that utilisation.
    Queue { cores: f64 },
}

impl CpuLimit {
    /// Cores.
    pub(crate) fn places(self) -> f64 {
        match self {
            CpuLimit::OneThread(_) | CpuLimit::Starved | CpuLimit::Taken { .. } | CpuLimit::OneAtATime { .. } => 1.0,
            CpuLimit::Cores(cores)
            | CpuLimit::All(cores)
            | CpuLimit::Left(cores)
            | CpuLimit::Served { cores, .. }
            | CpuLimit::Queue { cores } => cores,
        }
    }
}

pub(super) fn at_limit<'a>(
    search: &Search<'_, 'a>,
    responses: &[LoadResponse],
    plateaus: &Plateaus,
    changes: &Changes,
) -> Option<AtLimit<ProcessCpu<'a>>> {
    search.path.of_kind(ResourceKind::Process).find_map(|process| of_process(search, (responses, plateaus, changes), process))
}

type FoundLimit = (CpuLimit, Confidence, (f64, f64));

fn of_process<'a>(
    search: &Search<'_, 'a>,
    (responses, plateaus, changes): (&[LoadResponse], &Plateaus, &Changes),
    process: &PathResource<'a>,
) -> Option<AtLimit<ProcessCpu<'a>>> {
    let (cpu, delay) = (process.used.as_ref()?, process.waiting.as_ref());
    let thread = search.signals.read(process.part, Role::ProcessThreadCpuMax);
    let (cores, machine_cores) = (process.places(0.0, f64::INFINITY)?, search.path.machine_cores);
    let run = |readings: &SignalReadings<'_>, least: f64| longest_run(readings.points(), READINGS_MIN, LENGTH_MIN_S, |used| used >= least);
    let all = || -> Option<FoundLimit> {
        let limit = if cores < machine_cores { CpuLimit::Cores(cores) } else { CpuLimit::All(cores) };
        Some((limit, Confidence::High, run(cpu, FULL_PART_MIN * cores)?))
    };
    let by_thread = || -> Option<FoundLimit> {
        let thread = thread.as_ref()?;
        let span = run(thread, FULL_PART_MIN)?;
        Some((CpuLimit::OneThread(thread.mean(span.0, span.1)), Confidence::High, span))
    };
    let by_total = || -> Option<FoundLimit> {
        // If threads were read individually, `by_thread` has decided.
        let span = if thread.is_some() { None } else { run(cpu, ONE_CORE_USED_MIN) }?;
        is_one_thread(cpu, delay, span).then_some((CpuLimit::OneThread(None), Confidence::Medium, span))
    };
    // Where threads wait for the cores that a process may use, a use just below all of them is the limit as well.
    let crowded = || -> Option<FoundLimit> {
        let delay = delay.filter(|_| cores < machine_cores)?;
        let waits = |at: f64, waited: f64| {
            let used = cpu.mean(at - 0.01, at + 0.01).unwrap_or(0.0);
            waited >= CROWDED_WAITING_PER_CORE_MIN * cores && used >= CROWDED_CORES_PART_MIN * cores
        };
        let span = delay.longest_where(READINGS_MIN, LENGTH_MIN_S, waits)?;
        let is_sure = cpu.mean(span.0, span.1)? >= CROWDED_SURE_PART_MIN * cores;
        Some((CpuLimit::Cores(cores), if is_sure { Confidence::High } else { Confidence::Medium }, span))
    };
    let own_wait = search.signals.read(process.part, Role::ProcessBusiestThreadWait);
    let by_busy_thread = || nearly_full_thread(search, cpu, thread.as_ref()?, (own_wait.as_ref(), delay));
    let by_others = || taken(search, changes, process, (cpu, delay?, cores));
    let found = all().or_else(by_thread).or_else(by_others).or_else(crowded).or_else(by_total).or_else(by_busy_thread);
    let found = found.or_else(|| whole_cores(search, responses, cpu, delay, cores)).or_else(|| left_cores(cpu, delay?, cores));
    let found = found.or_else(|| starved(search, cpu, delay?));
    let found = found.or_else(|| cores_of_plateau(plateaus, cpu, cores));
    let found = found.or_else(|| thread_of_plateau(search, plateaus, (cpu, thread.as_ref()?, delay)));
    // Places that stop the throughput are not cores that are idle at times.
    let are_places = !plateaus.limited.is_empty() && plateaus.concurrency().slots >= ONE_SLOT_MIN;
    let queued = || if are_places { None } else { queue(responses, cpu, thread.as_ref(), cores) };
    let (limit, confidence, span) = found.or_else(queued)?;
    let name = busiest_thread(search.signals, process.part.observer, span);
    if matches!(limit, CpuLimit::OneThread(_)) && name.is_some_and(is_compiler) {
        return None;
    }
    let limit = one_at_a_time(search, process, (cpu, thread.as_ref(), delay), (limit, span)).unwrap_or(limit);
    let resource = ProcessCpu {
        process: process.part.observer,
        limit,
        confidence,
        cores_used: cpu.mean(span.0, span.1)?,
        threads: search.signals.mean(process.part, Role::ProcessThreads, span.0, span.1).unwrap_or(1.0),
        run_delay: delay.and_then(|delay| delay.mean(span.0, span.1)),
        thread_wait: own_wait.as_ref().and_then(|waited| waited.mean(span.0, span.1)),
    };
    let shown = [Some(cpu), thread.as_ref(), own_wait.as_ref(), delay].into_iter().flatten().map(SignalReadings::name).collect();
    Some(AtLimit { span, resource, places: limit.places(), series: shown })
}

/// The name of the thread that was the busiest for most of a stretch, if it is known.
pub(crate) fn busiest_thread<'a>(signals: &ObservedSignals<'a>, process: &str, (from, to): (f64, f64)) -> Option<&'a str> {
    let part = signals.parts_with(Role::ProcessBusiestThread).find(|part| part.observer == process)?;
    let named = signals.read_each(part, Role::ProcessBusiestThread).into_iter();
    let seen = named.filter_map(|readings| Some((readings.count(from, to), readings.label("thread")?)));
    seen.filter(|(count, _)| *count > 0).max_by_key(|(count, _)| *count).map(|(_, name)| name)
}

/// Whether a thread of this name compiles code while the program runs, so that no request waits for it: of the JVM and of .NET. The kernel cuts names at 15
/// characters.
fn is_compiler(name: &str) -> bool {
    ["C1 CompilerThre", "C2 CompilerThre", "JVMCI", ".NET Tiered"].iter().any(|compiler| name.starts_with(compiler))
}

/// A thread that uses most of a core, if more than that shows that it is at its limit: threads wait for the rest of the core, which others use, or its use no
/// longer grows with the load while work waits. By the utilisation law, the use of a resource without a limit grows as the load does.
fn nearly_full_thread(
    search: &Search<'_, '_>,
    cpu: &SignalReadings<'_>,
    thread: &SignalReadings<'_>,
    (own_wait, delay): (Option<&SignalReadings<'_>>, Option<&SignalReadings<'_>>),
) -> Option<FoundLimit> {
    // What the thread itself uses and waits for is one core.
    let waits_alone = || {
        let own_wait = own_wait?;
        let wants_all = |at: f64, used: f64| {
            let waited = own_wait.mean(at - 0.01, at + 0.01).unwrap_or(0.0);
            used >= WAITING_THREAD_USED_MIN && used + waited >= WAITING_THREAD_WANTED_MIN
        };
        thread.longest_where(READINGS_MIN, LENGTH_MIN_S, wants_all)
    };
    let wants_all = |at: f64, used: f64| {
        let waited = delay.and_then(|delay| delay.mean(at - 0.01, at + 0.01)).unwrap_or(0.0);
        used >= CROWDED_THREAD_USED_MIN && used + waited >= CROWDED_THREAD_WANTED_MIN
    };
    let is_its_own = |(from, to): (f64, f64)| Some(thread.mean(from, to)? >= MOST_CORES_PART_MIN * cpu.mean(from, to)?);
    let crowded = thread.longest_where(READINGS_MIN, LENGTH_MIN_S, wants_all).filter(|span| is_its_own(*span) == Some(true));
    let flat = || {
        let span = longest_run(thread.points(), READINGS_MIN, LENGTH_MIN_S, |used| used >= FLAT_THREAD_USED_MIN)?;
        let is_flat =
            thread.mean(span.0, span.1)? >= FLAT_THREAD_MEAN_MIN && has_stopped_growing(flat_for_load(search, span), thread, span);
        (is_flat && search.strain.held_part(span, 1.0).is_some()).then_some(span)
    };
    let span = waits_alone().or(crowded).or_else(flat)?;
    Some((CpuLimit::OneThread(thread.mean(span.0, span.1)), Confidence::Medium, span))
}

/// Cores that other processes take from an instant on, at which requests of an equal load become slower. The process does the same work, and the time that its
/// threads wait for a core accounts for the requests that were added to the system (Little's law), as far as these do not wait for the threads themselves.
fn taken(
    search: &Search<'_, '_>,
    changes: &Changes,
    process: &PathResource<'_>,
    (cpu, delay, allowed): (&SignalReadings<'_>, &SignalReadings<'_>, f64),
) -> Option<FoundLimit> {
    let is_onset = |change: &&Change| {
        let is_of_same_load = !matches!(change.load, LoadMeanwhile::Reached { .. });
        matches!(change.of, TimelineOf::Series(_)) && change.is_slower() && change.shape == Shape::Step && is_of_same_load
    };
    let change = changes.found.iter().find(is_onset)?;
    let before = (change.from, change.at - change.at_error - TAKEN_EDGE_S);
    let after = (change.at + change.at_error + TAKEN_EDGE_S, change.until.unwrap_or(change.to));
    let is_enough = |(from, to): (f64, f64)| delay.count(from, to) >= READINGS_MIN;
    if !is_enough(before) || !is_enough(after) {
        return None;
    }
    let levels = |readings: &SignalReadings<'_>| Some((readings.mean(before.0, before.1)?, readings.mean(after.0, after.1)?));
    let (used, waited) = (levels(cpu)?, levels(delay)?);
    let added = search.strain.in_system(after.0, after.1)? - search.strain.in_system(before.0, before.1)?;
    let more = waited.1 - waited.0;
    let is_longer = more >= TAKEN_WAITING_MIN && more >= TAKEN_PART_MIN * added && waited.1 >= TAKEN_FACTOR_MIN * waited.0;
    let is_by_quota = is_held_back(search.signals, process.part, after);
    let does_the_same = used.1 <= SAME_WORK_FACTOR_MAX * used.0;
    let limit = CpuLimit::Taken { at: change.at, allowed, is_all: allowed >= search.path.machine_cores, before: waited.0 };
    (is_longer && does_the_same && !is_by_quota).then_some((limit, Confidence::Medium, after))
}

/// Whether a limit of its control group held a process back. Its threads wait for a core then, too.
pub(crate) fn is_held_back<'a>(signals: &ObservedSignals<'a>, process: ObservedPart<'a>, (from, to): (f64, f64)) -> bool {
    signals.mean(process, Role::GroupThrottled, from, to).is_some_and(|seconds| seconds >= HELD_BACK_MAX)
}

/// One core that many processes share although none of their threads is busy for half of it, and hardly any waits for a core. A runtime's limit or a mask
/// cannot be the cause: a runtime is one process, and threads behind a mask wait for a core.
fn one_at_a_time(
    search: &Search<'_, '_>,
    process: &PathResource<'_>,
    (cpu, thread, delay): (&SignalReadings<'_>, Option<&SignalReadings<'_>>, Option<&SignalReadings<'_>>),
    (limit, (from, to)): (CpuLimit, (f64, f64)),
) -> Option<CpuLimit> {
    let is_one =
        matches!(limit, CpuLimit::OneThread(_)) || matches!(limit, CpuLimit::Cores(cores) | CpuLimit::Queue { cores } if cores < 1.5);
    let processes = search.signals.mean(process.part, Role::ProcessCount, from, to).filter(|count| *count >= 2.0 && is_one)?;
    let (used, thread, waited) = (cpu.mean(from, to)?, thread?.mean(from, to)?, delay?.mean(from, to)?);
    let may_use_more = process.places(from, to).is_some_and(|cores| cores >= 2.0);
    let is_spread = thread <= SPREAD_THREAD_PART_MAX * used && waited <= SPREAD_WAITING_MAX && may_use_more;
    is_spread.then_some(CpuLimit::OneAtATime { processes, thread })
}

/// Whether one thread had a core to itself: the process uses or waits for no more than one core, or used exactly one.
fn is_one_thread(cpu: &SignalReadings<'_>, delay: Option<&SignalReadings<'_>>, (from, to): (f64, f64)) -> bool {
    let readings = match delay {
        Some(delay) => cpu.paired_with(delay, from, to),
        None => cpu.between(from, to).map(|(_, used)| (used, 0.0)).collect(),
    };
    if readings.is_empty() {
        return false;
    }
    let median = median(&readings.iter().map(|(used, waited)| used + waited).collect::<Vec<f64>>());
    let full =
        |(used, waited): &&(f64, f64)| *used >= ONE_CORE_USED_MIN && *used <= ONE_CORE_USED_MAX && used + waited >= ONE_CORE_WANTED_MIN;
    let share = readings.iter().filter(full).count() as f64 / readings.len() as f64;
    let wants_no_more = median <= ONE_THREAD_WANTED_MAX || is_constant_at(1.0, cpu, (from, to), FLAT_GROWTH_FACTOR_MAX);
    share >= ONE_CORE_READINGS_SHARE_MIN && wants_no_more && has_stopped_growing(NO_GROWTH_FACTOR_MAX, cpu, (from, to))
}

/// Whether the use no longer grew towards the end of a stretch. A ramp that happens to end near one core has no limit there.
fn has_stopped_growing(by: f64, cpu: &SignalReadings<'_>, (from, to): (f64, f64)) -> bool {
    let quarter = (to - from) / 4.0;
    let (before, last) = (cpu.mean(to - 2.0 * quarter, to - quarter), cpu.mean(to - quarter, to));
    before.zip(last).is_none_or(|(before, last)| last <= by * before)
}

/// Whether the readings are so close to a whole number of cores that it limits them.
fn is_constant_at(cores: f64, cpu: &SignalReadings<'_>, (from, to): (f64, f64), grows: f64) -> bool {
    let values: Vec<f64> = cpu.between(from, to).map(|(_, used)| used).collect();
    let mean = mean(&values);
    let is_flat = population_variance(&values).sqrt() <= STEADY_DEVIATION_MAX * cores && has_stopped_growing(grows, cpu, (from, to));
    (mean - cores).abs() <= WHOLE_CORES_WITHIN * cores && is_flat
}

/// The factor of growth from the third quarter of a stretch to the last that counts as none, given the growth of the load.
fn flat_for_load(search: &Search<'_, '_>, (from, to): (f64, f64)) -> f64 {
    let quarter = (to - from) / 4.0;
    let (before, last) = (search.strain.asked(to - 2.0 * quarter, to - quarter), search.strain.asked(to - quarter, to));
    let by_load = if before > 0.0 { 1.0 + LOAD_GROWTH_PART_MAX * (last / before - 1.0) } else { 1.0 };
    by_load.clamp(FLAT_GROWTH_FACTOR_MAX, NO_GROWTH_FACTOR_MAX)
}

/// The places that requests wait for, if they are cores: the process had nearly as many cores in use meanwhile. Of several cores not all are busy at every
/// instant, so the number that computes is compared with the number of requests served at a time. Next to a single place, which may be an interpreter's lock,
/// other threads use some more CPU: garbage collectors, and code that runs without the lock.
fn cores_of_plateau(plateaus: &Plateaus, cpu: &SignalReadings<'_>, cores: f64) -> Option<FoundLimit> {
    let (span, concurrency) = (plateaus.span()?, plateaus.concurrency());
    let (least, most) = plateaus.seen_places()?;
    let (used, served) = (cpu.mean(span.0, span.1)?, concurrency.slots - concurrency.half);
    let used_per_place_max = if least > 1.0 { ONE_CORE_USED_MAX } else { ONE_THREAD_WANTED_MAX };
    let are_computing = |busy: f64, places: f64| used >= CORES_PER_PLACE_MIN * busy && used <= used_per_place_max * places;
    // The cores in use must reach at least the smallest possible number of places.
    let limit = if least == most && least <= cores && are_computing(f64::max(least, served), least) {
        if least > 1.0 || used > ONE_CORE_USED_MAX { CpuLimit::Cores(least) } else { CpuLimit::OneThread(None) }
    } else if cores >= 2.0 && (least..=most).contains(&cores) && used >= CPU_BOUND_SHARE_MIN * cores && are_computing(served, cores) {
        CpuLimit::Served { cores, served: concurrency.slots }
    } else {
        return None;
    };
    Some((limit, Confidence::Medium, span))
}

/// One request is served at a time, and one thread of the process uses most of a core, while other programs use the rest of the machine or threads wait for a
/// core: the thread is the place, and uses what the machine leaves it.
fn thread_of_plateau(
    search: &Search<'_, '_>,
    plateaus: &Plateaus,
    (cpu, thread, delay): (&SignalReadings<'_>, &SignalReadings<'_>, Option<&SignalReadings<'_>>),
) -> Option<FoundLimit> {
    let span = plateaus.span().filter(|_| plateaus.seen_places() == Some((1.0, 1.0)))?;
    let mean = |readings: &SignalReadings<'_>| readings.mean(span.0, span.1);
    let (own, all) = (mean(thread)?, mean(cpu)?);
    let machine = search.path.of_kind(ResourceKind::Machine).find_map(|machine| mean(machine.used.as_ref()?));
    let is_full = machine.is_some_and(|used| used >= FULL_PART_MIN * search.path.machine_cores);
    let waits = delay.and_then(mean).is_some_and(|waited| own + waited >= ONE_CORE_WANTED_MIN);
    let is_busy = (THREAD_OF_PLATEAU_USED_MIN..=ONE_CORE_USED_MAX).contains(&own) && own >= MOST_CORES_PART_MIN * all;
    (is_busy && (is_full || waits)).then_some((CpuLimit::OneThread(Some(own)), Confidence::Medium, span))
}

/// A queue for cores that are busy most of the time, or for one thread's core if that thread uses most of the CPU time.
fn queue(responses: &[LoadResponse], cpu: &SignalReadings<'_>, thread: Option<&SignalReadings<'_>>, cores: f64) -> Option<FoundLimit> {
    let of_thread = thread.and_then(|thread| {
        let span = core_queue::find(responses, thread, 1.0)?;
        let is_its_own = thread.mean(span.0, span.1)? >= MOST_CORES_PART_MIN * cpu.mean(span.0, span.1)?;
        is_its_own.then_some((1.0, span))
    });
    let (cores, span) = of_thread.or_else(|| Some((cores, core_queue::find(responses, cpu, cores)?)))?;
    Some((CpuLimit::Queue { cores }, Confidence::Medium, span))
}

/// The cores of a machine that other processes use, too: the cores that the process used and those that its threads waited for add up to all of them.
fn left_cores(cpu: &SignalReadings<'_>, delay: &SignalReadings<'_>, cores: f64) -> Option<FoundLimit> {
    let wanted = SignalReadings::sum(&[cpu.clone(), delay.clone()])?;
    let (from, to) = longest_run(wanted.points(), READINGS_MIN, LENGTH_MIN_S, |wanted| wanted >= WANTED_PART_MIN * cores)?;
    let (used, waited) = (cpu.mean(from, to)?, delay.mean(from, to)?);
    let least = if waited >= STARVED_WAIT_FACTOR_MIN * used { STARVED_CORES_PART_MIN } else { MOST_CORES_PART_MIN };
    let is_full = cores >= 2.0 && used + waited >= cores && used >= least * cores;
    is_full.then_some((CpuLimit::Left(cores), Confidence::Medium, (from, to)))
}

/// Cores that other processes use: threads wait for one several times as long as they have one, and (Little's law) they are a considerable part of the requests
/// in the system.
fn starved(search: &Search<'_, '_>, cpu: &SignalReadings<'_>, delay: &SignalReadings<'_>) -> Option<FoundLimit> {
    let used_at = |at: f64| cpu.mean(at - 0.01, at + 0.01).unwrap_or(f64::INFINITY);
    let is_starved = |at: f64, waited: f64| waited >= WAITING_THREADS_MIN && waited >= STARVED_WAIT_FACTOR_MIN * used_at(at);
    let span = delay.longest_where(READINGS_MIN, LENGTH_MIN_S - 1.0, is_starved)?;
    let (from, to) = search.strain.held_part_of(delay, span)?;
    let is_theirs = delay.mean(from, to)? >= SYSTEM_PART_MIN * search.strain.in_system(from, to)?;
    is_theirs.then_some((CpuLimit::Starved, Confidence::Medium, (from, to)))
}

/// A constant whole number of cores, fewer than the process may use: set by an affinity mask or by its runtime. It may be chance, unless its threads wait for
/// more, or its requests under low load mainly take CPU time.
fn whole_cores(
    search: &Search<'_, '_>,
    responses: &[LoadResponse],
    cpu: &SignalReadings<'_>,
    delay: Option<&SignalReadings<'_>>,
    cores: f64,
) -> Option<FoundLimit> {
    let limit = quantile(&cpu.points().iter().map(|(_, used)| *used).collect::<Vec<f64>>(), 0.9).round();
    if limit < 1.0 || limit >= cores {
        return None;
    }
    let span = longest_run(cpu.points(), READINGS_MIN, LENGTH_MIN_S, |used| (used - limit).abs() <= WHOLE_CORES_WITHIN * limit)?;
    if !is_constant_at(limit, cpu, span, flat_for_load(search, span)) {
        return None;
    }
    let wants_more = delay.and_then(|delay| delay.mean(span.0, span.1)).is_some_and(|waited| waited >= WAITING_PER_CORE_MIN * limit);
    let part = search.strain.held_part(span, limit)?;
    let is_cpu_bound = demand::cpu_share_of_service(responses, cpu.mean(part.0, part.1)?, part);
    let confidence = match (wants_more, is_cpu_bound) {
        (true, _) => Confidence::Medium,
        (false, Some(share)) if share >= CPU_BOUND_SHARE_MIN => Confidence::Medium,
        (false, Some(_)) => return None,
        (false, None) => Confidence::Low,
    };
    Some((CpuLimit::Cores(limit), confidence, span))
}
