//! What the observed CPU and database say of a stretch, as alternatives that several rules weigh.

use loadstone_metrics::Role;

use crate::ResourceKind;
use crate::facts::Facts;
use crate::facts::path::PathResource;
use crate::facts::search::FULL_PART_MIN;
use crate::facts::session_waits::SessionWait;
use crate::finding::Alternative;

/// Below this part of one core no thread is at its limit, and below this part of all of them no process.
const IDLE_ENOUGH: f64 = 0.80;

/// Seconds per second that threads wait for a core from which cores are short.
const WAITS_MIN: f64 = 0.5;

/// A CPU at its limit.
pub(crate) fn cpu(facts: &Facts<'_>, from: f64, to: f64) -> Alternative {
    const OTHER: &str = "A process or thread that is at the limit of its CPU";
    let looks = facts.path.of_kind(ResourceKind::Process).filter_map(|process| CpuLook::at(facts, process, (from, to)));
    // One that may be short of it speaks for all of them.
    match looks.max_by(|a, b| a.is_short.cmp(&b.is_short).then(a.cores.total_cmp(&b.cores))) {
        None => Alternative::not_ruled_out(OTHER, "no process of the system was observed (observe.process)"),
        Some(CpuLook { is_short: false, told, .. }) => Alternative::ruled_out(OTHER, told),
        Some(CpuLook { told, .. }) => Alternative::not_ruled_out(OTHER, told),
    }
}

/// What one process used of the CPU, whether it may have been short of it, and that as a sentence.
struct CpuLook {
    cores: f64,
    is_short: bool,
    told: String,
}

impl CpuLook {
    /// `None`: it was not read meanwhile.
    fn at(facts: &Facts<'_>, process: &PathResource<'_>, (from, to): (f64, f64)) -> Option<Self> {
        // Work waits before the load is at its highest, and a limit is reached in one half of the stretch more than in the other.
        let halves = [(from, from.midpoint(to)), (from.midpoint(to), to)];
        let most = |of: &dyn Fn(f64, f64) -> Option<f64>| halves.iter().filter_map(|(from, to)| of(*from, *to)).reduce(f64::max);
        let used = process.used.as_ref()?;
        let cores = most(&|from, to| used.mean(from, to)).or_else(|| used.mean(from, to))?;
        let thread = most(&|from, to| facts.signals.mean(process.part, Role::ProcessThreadCpuMax, from, to));
        let (name, number) = (process.part.observer, loadstone_units::number(cores));
        let told = match thread {
            Some(thread) => format!("\"{name}\" used {number} cores, and its busiest thread {}", loadstone_units::number(thread)),
            None => format!("\"{name}\" used {number} cores"),
        };
        let places = process.places(from, to).unwrap_or(1.0);
        let is_idle = cores < IDLE_ENOUGH * places.min(1.0);
        // One that waits for a core is short of them however little it got.
        let waits = process.waiting.as_ref().and_then(|waiting| waiting.mean(from, to)).filter(|waits| *waits >= WAITS_MIN);
        if let Some(waits) = waits.filter(|_| is_idle) {
            let told = format!("{told}, but its threads waited for a core for {} s per second", loadstone_units::number(waits));
            return Some(Self { cores, is_short: true, told });
        }
        let has_idle_threads = thread.is_some_and(|thread| thread < IDLE_ENOUGH) && cores < IDLE_ENOUGH * places && !is_near_one(cores);
        Some(Self { cores, is_short: !is_idle && !has_idle_threads, told })
    }
}

/// Whether programs that are not observed had the machine's cores in most of these seconds: what stands still then may wait for a core.
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

/// A database that holds up whoever uses it.
pub(crate) fn database(facts: &Facts<'_>, from: f64, to: f64) -> Alternative {
    const OTHER: &str = "A database that is slow, so that its connections are held for longer";
    let signals = &facts.signals;
    let active = |part| signals.mean(part, Role::SessionsActive, from, to);
    let Some(active) = signals.parts_with(Role::SessionsActive).filter_map(active).reduce(f64::max) else {
        return Alternative::not_ruled_out(OTHER, "no database was observed (observe.postgres, observe.mysql)");
    };
    let in_system = facts.strain.in_system(from, to).unwrap_or(0.0);
    let told = format!(
        "{} of its sessions were active, while {} requests were in the system",
        loadstone_units::number(active),
        loadstone_units::number(in_system)
    );
    if active < 1.0 || active < 0.1 * in_system { Alternative::ruled_out(OTHER, told) } else { Alternative::not_ruled_out(OTHER, told) }
}

/// The database's CPU, as what else could hold up sessions that wait.
pub(crate) fn computing_sessions(wait: &SessionWait<'_>) -> Alternative {
    const OTHER: &str = "The database's CPU";
    match wait.computing {
        Some(computing) if computing < wait.sessions => Alternative::ruled_out(OTHER, format!("{computing:.1} of its sessions computed")),
        Some(computing) => Alternative::not_ruled_out(OTHER, format!("{computing:.1} sessions computed")),
        None => Alternative::not_ruled_out(OTHER, "it was not read how many sessions compute"),
    }
}
