//! Something of the machine or of a process is used up while work waits: processor, disk, descriptors.

use super::draft::{Draft, Standing};
use super::{Scene, Waiting, downstream};
use crate::Confidence;

/// Share of the machine's cores, or of a limit, from which it is used up.
const FULL: f64 = 0.93;
/// A thread that has all of one core: what it uses, and at least that together with what it waits for a core, in what share of the readings.
const ONE_CORE_USED: (f64, f64) = (0.80, 1.06);
const ONE_CORE_WANTED: f64 = 0.90;
const ONE_CORE_SHARE: f64 = 0.80;
/// Median of both together: many threads on a crowded machine may use as much, but wait longer. Not every reading, as collectors of garbage wait, too.
const ONE_THREAD_WANTED: f64 = 1.25;
/// Share of the time that a control group was held back.
const THROTTLED: f64 = 0.05;
/// Share of the time that a disk was busy, and the requests that waited at it on average: a fast disk is busy long before it is full.
const DISK_BUSY: f64 = 0.90;
const DISK_QUEUE: f64 = 3.0;
const DESCRIPTORS: f64 = 0.97;

pub(super) fn find(scene: &Scene<'_>) -> Option<Draft> {
    if downstream::ceiling(scene).is_some_and(|ceiling| ceiling.explains_all()) {
        return None;
    }
    let waiting = scene.waiting.first()?;
    let rules: [fn(&Scene<'_>, &Waiting) -> Option<Draft>; 5] = [descriptors, throttled, machine, one_core, disk];
    rules.iter().find_map(|rule| rule(scene, waiting))
}

fn draft(waiting: &Waiting, rule: &str, confidence: Confidence, claim: String) -> Draft {
    let standing = if waiting.is_unstable() || waiting.flow.is_none() { Standing::Cause } else { Standing::Passing };
    let draft = Draft::new(standing, rule, confidence, claim);
    let Some(closed) = waiting.closed else { return draft };
    let began = format!(
        "requests took {} on average instead of {}, from {} on, when {} users were active",
        units::seconds(closed.during_s),
        units::seconds(closed.before_s),
        units::seconds(waiting.from),
        units::count(closed.users)
    );
    draft.rests_on(began, waiting.columns(), (waiting.from, waiting.to))
}

fn machine(scene: &Scene<'_>, waiting: &Waiting) -> Option<Draft> {
    let (from, to) = (waiting.from, waiting.to);
    let observer = scene.signals.observers_with("cpu{mode=idle}").next()?;
    let cores = scene.signals.readings(observer, "cores")?.mean(from, to)?;
    let idle = scene.signals.readings(observer, "cpu{mode=idle}")?.mean(from, to)?;
    let io = scene.signals.readings(observer, "cpu{mode=iowait}").and_then(|readings| readings.mean(from, to)).unwrap_or(0.0);
    let used = 1.0 - (idle + io) / cores.max(1.0);
    if used < FULL {
        return None;
    }
    let generator: u64 = scene.tally.workers().iter().map(|worker| worker.busy_ns).sum();
    let own = generator as f64 / 1e9 / scene.tally.duration_seconds().max(1e-9) / cores.max(1.0);
    let observed: Vec<f64> =
        scene.signals.observers_with("run_delay").filter_map(|process| scene.signals.readings(process, "cpu")?.mean(from, to)).collect();
    let theirs = observed.iter().sum::<f64>() / cores.max(1.0);
    let known = if observed.is_empty() { String::new() } else { format!(", the processes observed {}", units::share(theirs)) };
    let others = if own + theirs < 0.5 * used { "; most of it went to programs that are not observed" } else { "" };
    let who =
        format!("{} busy on average; of the machine, the load generator took {}{known}{others}", units::share(used), units::share(own));
    let claim = format!("The machine's processor is used up: {} of its {cores:.0} cores were busy while work waited", units::share(used));
    Some(
        draft(waiting, "cpu", Confidence::Medium, claim)
            .rests_on(who, vec![format!("{observer}/cpu{{mode=idle}}"), format!("{observer}/runnable")], (from, to))
            .or("A pool, a lock or too few workers: they would leave cores idle.")
            .try_next("See which process takes it (observe.process), and run the load generator on another machine. More cores, or less work for each request, should raise the throughput in proportion."),
    )
}

fn one_core(scene: &Scene<'_>, waiting: &Waiting) -> Option<Draft> {
    let (from, to) = (waiting.from, waiting.to);
    let cores = f64::from(scene.run.info.host.cores.max(1));
    scene.signals.observers_with("run_delay").find_map(|observer| {
        let cpu = scene.signals.readings(observer, "cpu")?;
        let (mean, threads) = (cpu.mean(from, to)?, scene.signals.readings(observer, "threads")?.mean(from, to)?);
        let delay = scene.signals.readings(observer, "run_delay")?;
        let both = cpu.beside(&delay, from, to);
        let mut wanted: Vec<f64> = both.iter().map(|(used, waited)| used + waited).collect();
        wanted.sort_by(f64::total_cmp);
        let is_one_thread = *wanted.get(wanted.len() / 2)? <= ONE_THREAD_WANTED;
        let full = |(used, waited): &&(f64, f64)| *used >= ONE_CORE_USED.0 && *used <= ONE_CORE_USED.1 && used + waited >= ONE_CORE_WANTED;
        let at_one = if is_one_thread { both.iter().filter(full).count() as f64 / both.len() as f64 } else { 0.0 };
        let all = mean >= FULL * cores;
        if !all && at_one < ONE_CORE_SHARE {
            return None;
        }
        let claim = if all {
            format!("\"{observer}\" uses all {cores:.0} cores of the machine while work waits")
        } else {
            format!("\"{observer}\" uses just one core, all of it, while work waits: one thread does the work")
        };
        Some(
            draft(waiting, "cpu", if all { Confidence::High } else { Confidence::Medium }, claim)
                .rests_on(
                    format!(
                        "{mean:.2} cores on average by {threads:.0} threads, which waited {} for a core each second",
                        units::seconds(delay.mean(from, to).unwrap_or(0.0))
                    ),
                    vec![format!("{observer}/cpu"), format!("{observer}/run_delay")],
                    (from, to),
                )
                .or("A pool, a lock or too few workers: they would leave the processor idle.")
                .try_next("Profile the process under this load, or run more of them: throughput should rise in proportion."),
        )
    })
}

fn throttled(scene: &Scene<'_>, waiting: &Waiting) -> Option<Draft> {
    let (from, to) = (waiting.from, waiting.to);
    scene.signals.observers_with("throttled").find_map(|observer| {
        let held_back = scene.signals.readings(observer, "throttled")?.mean(from, to).filter(|share| *share >= THROTTLED)?;
        let limit = scene.signals.readings(observer, "cpu_limit")?.mean(from, to)?;
        let claim = format!("The control group \"{observer}\" is held back by its limit of {} cores", units::number(limit));
        Some(
            draft(waiting, "cpu", Confidence::High, claim)
                .rests_on(
                    format!("held back for {} of the time while work waited", units::share(held_back)),
                    vec![format!("{observer}/throttled"), format!("{observer}/cpu")],
                    (from, to),
                )
                .try_next("Raise the limit, and run again: throughput should rise in proportion."),
        )
    })
}

fn disk(scene: &Scene<'_>, waiting: &Waiting) -> Option<Draft> {
    let (from, to) = (waiting.from, waiting.to);
    scene.signals.observers_with("cores").find_map(|observer| {
        scene.signals.labelled(observer, "disk_busy", "device").into_iter().find_map(|(device, busy)| {
            let share = busy.mean(from, to).filter(|share| *share >= DISK_BUSY)?;
            let queue = scene.signals.readings(observer, &format!("disk_waiting{{device={device}}}"))?;
            let length = queue.mean(from, to).filter(|length| *length >= DISK_QUEUE)?;
            let claim = format!("The disk {device} is used up: {length:.0} requests wait at it on average while work waits");
            Some(
                draft(waiting, "disk", Confidence::Medium, claim)
                    .rests_on(
                        format!("busy for {} of the time", units::share(share)),
                        vec![busy.name.clone(), queue.name.clone()],
                        (from, to),
                    )
                    .try_next("See who reads or writes (observe.process), and whether it must: commits, logs, a cache that is too small."),
            )
        })
    })
}

fn descriptors(scene: &Scene<'_>, waiting: &Waiting) -> Option<Draft> {
    let (from, to) = (waiting.from, waiting.to);
    scene.signals.observers_with("descriptors_limit").find_map(|observer| {
        let open = scene.signals.readings(observer, "descriptors")?;
        let limit = scene.signals.readings(observer, "descriptors_limit")?.mean(from, to)?;
        let at_limit = open.share(from, to, |open| open >= DESCRIPTORS * limit).filter(|share| *share >= 0.5)?;
        let claim = format!("\"{observer}\" has all {limit:.0} descriptors open that it may have: it can take no more connections");
        Some(
            draft(waiting, "descriptors", Confidence::High, claim)
                .rests_on(
                    format!("at the limit in {} of the readings while work waited", units::share(at_limit)),
                    vec![open.name.clone()],
                    (from, to),
                )
                .try_next("Raise the limit (LimitNOFILE= of the service, ulimit -n), or look for connections that are never closed."),
        )
    })
}
