//! The observed CPU and database in a stretch, as alternatives that several rules weigh.

use loadstone_metrics::Role;

use crate::ResourceKind;
use crate::facts::Facts;
use crate::facts::path::PathResource;
use crate::facts::search::FULL_PART_MIN;
use crate::facts::session_waits::SessionWait;
use crate::finding::Alternative;

/// Below this part of one core no thread is at its limit, and below this part of all cores no process is.
const IDLE_PART_MAX: f64 = 0.80;

/// Seconds per second that threads wait for a core, from which the process needs more cores.
const CORE_WAIT_MIN: f64 = 0.5;

/// A CPU at its limit.
pub(crate) fn cpu(facts: &Facts<'_>, from: f64, to: f64) -> Alternative {
    const OTHER: &str = "A process or thread that is at the limit of its CPU";
    let usages = facts.path.of_kind(ResourceKind::Process).filter_map(|process| CpuUsage::at(facts, process, (from, to)));
    // A process that may need more CPU decides for all.
    match usages.max_by(|a, b| a.is_short.cmp(&b.is_short).then(a.cores.total_cmp(&b.cores))) {
        None => no_process(facts, OTHER),
        Some(CpuUsage { is_short: false, sentence, .. }) => Alternative::ruled_out(OTHER, sentence),
        Some(CpuUsage { sentence, .. }) => Alternative::not_ruled_out(OTHER, sentence),
    }
}

/// An alternative that no observed process could rule out.
pub(crate) fn no_process(facts: &Facts<'_>, other: &str) -> Alternative {
    Alternative::not_ruled_out(other, format!("no process of the system was observed ({})", facts.terms().named(&["process"])))
}

/// CPU use of one process, whether it may have needed more, and both as a sentence.
struct CpuUsage {
    cores: f64,
    is_short: bool,
    sentence: String,
}

impl CpuUsage {
    /// `None`: no reading in this stretch.
    fn at(facts: &Facts<'_>, process: &PathResource<'_>, (from, to): (f64, f64)) -> Option<Self> {
        // Work waits before the load is at its highest, so one half of the stretch may be closer to a limit than the other.
        let halves = [(from, from.midpoint(to)), (from.midpoint(to), to)];
        let most = |of: &dyn Fn(f64, f64) -> Option<f64>| halves.iter().filter_map(|(from, to)| of(*from, *to)).reduce(f64::max);
        let used = process.used.as_ref()?;
        let cores = most(&|from, to| used.mean(from, to)).or_else(|| used.mean(from, to))?;
        let thread = most(&|from, to| facts.signals.mean(process.part, Role::ProcessThreadCpuMax, from, to));
        let (name, number) = (process.part.observer, loadstone_units::number(cores));
        let used = match thread {
            Some(thread) => format!("\"{name}\" used {number} cores, and its busiest thread {}", loadstone_units::number(thread)),
            None => format!("\"{name}\" used {number} cores"),
        };
        let places = process.places(from, to).unwrap_or(1.0);
        let is_idle = cores < IDLE_PART_MAX * places.min(1.0);
        // A process that waits for a core needs more, even if it used little.
        let waits = process.waiting.as_ref().and_then(|waiting| waiting.mean(from, to)).filter(|waits| *waits >= CORE_WAIT_MIN);
        if let Some(waits) = waits.filter(|_| is_idle) {
            let sentence = format!("{used}, but its threads waited for a core for {} s per second", loadstone_units::number(waits));
            return Some(Self { cores, is_short: true, sentence });
        }
        let has_idle_threads = thread.is_some_and(|thread| thread < IDLE_PART_MAX) && cores < IDLE_PART_MAX * places && !is_near_one(cores);
        Some(Self { cores, is_short: !is_idle && !has_idle_threads, sentence: used })
    }
}

/// Whether programs that are not observed used the machine's cores in most of these seconds: a process that stalls then may wait for a core.
/// `None`: the machine was not observed.
pub(crate) fn others_fill_the_machine(facts: &Facts<'_>, seconds: &[f64]) -> Option<bool> {
    let used = facts.path.of_kind(ResourceKind::Machine).find_map(|machine| machine.used.as_ref())?;
    let cores = facts.path.machine_cores;
    let is_full = |at: f64| {
        let processes = facts.path.of_kind(ResourceKind::Process).filter_map(|process| process.used.as_ref());
        let observed: f64 = processes.filter_map(|used| used.mean(at, at + 1.0)).sum();
        used.mean(at, at + 1.0).is_some_and(|used| used >= FULL_PART_MIN * cores) && observed < cores / 2.0
    };
    Some(2 * seconds.iter().filter(|at| is_full(**at)).count() > seconds.len())
}

/// One core in use may be one thread, or a runtime that is allowed one.
fn is_near_one(cores: f64) -> bool {
    (cores - 1.0).abs() <= 0.1
}

/// A slow database as an alternative.
pub(crate) fn database(facts: &Facts<'_>, from: f64, to: f64) -> Alternative {
    const OTHER: &str = "A slow database, which keeps connections in use for longer";
    let signals = &facts.signals;
    let active = |part| signals.mean(part, Role::SessionsActive, from, to);
    let Some(active) = signals.parts_with(Role::SessionsActive).filter_map(active).reduce(f64::max) else {
        return Alternative::not_ruled_out(OTHER, format!("no database was observed ({})", facts.terms().named(&["postgres", "mysql"])));
    };
    let in_system = facts.strain.in_system(from, to).unwrap_or(0.0);
    let sessions = format!(
        "{} of its sessions were active, while {} requests were in the system",
        loadstone_units::number(active),
        loadstone_units::number(in_system)
    );
    if active < 1.0 || active < 0.1 * in_system {
        Alternative::ruled_out(OTHER, sessions)
    } else {
        Alternative::not_ruled_out(OTHER, sessions)
    }
}

/// The database's CPU as an alternative to what its sessions wait for.
pub(crate) fn computing_sessions(wait: &SessionWait<'_>) -> Alternative {
    const OTHER: &str = "The database's CPU";
    match wait.computing {
        Some(computing) if computing < wait.sessions => Alternative::ruled_out(OTHER, format!("{computing:.1} of its sessions computed")),
        Some(computing) => Alternative::not_ruled_out(OTHER, format!("{computing:.1} sessions computed")),
        None => Alternative::not_ruled_out(OTHER, "the number of computing sessions was not observed"),
    }
}
