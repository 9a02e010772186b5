//! What the observed CPU and database say of a stretch, as alternatives that several rules weigh.

use metrics::Role;

use super::alternative::Alternative;
use crate::facts::Facts;
use crate::facts::search::FULL;
use crate::facts::session_waits::SessionWait;

/// Below this part of one core no thread is at its limit, and below this part of all of them no process.
const IDLE_ENOUGH: f64 = 0.80;

/// Seconds per second that threads wait for a core from which cores are short.
const WAITS_MIN: f64 = 0.5;

/// A CPU at its limit.
pub(super) fn cpu(facts: &Facts<'_>, from: f64, to: f64) -> Alternative {
    const OTHER: &str = "A process or thread that is at the limit of its CPU";
    let signals = &facts.signals;
    let used = |part| Some((part, signals.mean(part, Role::ProcessCpu, from, to)?));
    let Some((process, cores)) = signals.parts_with(Role::ProcessCpu).filter_map(used).max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Alternative::not_ruled_out(OTHER, "no process of the system was observed (observe.process)");
    };
    let thread = signals.mean(process, Role::ProcessThreadCpuMax, from, to);
    let (name, number) = (process.observer, units::number(cores));
    let told = match thread {
        Some(thread) => format!("\"{name}\" used {number} cores, and its busiest thread {}", units::number(thread)),
        None => format!("\"{name}\" used {number} cores"),
    };
    let machine = f64::from(facts.run.info.host.cores).max(1.0);
    let places = signals.mean(process, Role::ProcessCpuMax, from, to).unwrap_or(machine).max(1.0);
    // One that waits for a core is short of them however little it got.
    let waits = signals.mean(process, Role::ProcessRunDelay, from, to).filter(|waits| *waits >= WAITS_MIN);
    if let Some(waits) = waits.filter(|_| cores < IDLE_ENOUGH) {
        return Alternative::not_ruled_out(
            OTHER,
            format!("{told}, but its threads waited for a core for {} s per second", units::number(waits)),
        );
    }
    let has_idle_threads = thread.is_some_and(|thread| thread < IDLE_ENOUGH) && cores < IDLE_ENOUGH * places && !is_near_one(cores);
    if cores < IDLE_ENOUGH || has_idle_threads { Alternative::ruled_out(OTHER, told) } else { Alternative::not_ruled_out(OTHER, told) }
}

/// Whether programs that are not observed had the machine's cores in most of these seconds: what stands still then may wait for a core.
/// `None`: the machine was not observed.
pub(super) fn others_fill_the_machine(facts: &Facts<'_>, seconds: &[f64]) -> Option<bool> {
    let machine = facts.signals.parts_with(Role::MachineIdle).next()?;
    let is_full = |at: f64| {
        let mean = |part, role| facts.signals.mean(part, role, at, at + 1.0);
        let cores = mean(machine, Role::MachineCores).unwrap_or_else(|| f64::from(facts.run.info.host.cores)).max(1.0);
        let observed: f64 = facts.signals.parts_with(Role::ProcessCpu).filter_map(|part| mean(part, Role::ProcessCpu)).sum();
        mean(machine, Role::MachineIdle).is_some_and(|idle| idle <= (1.0 - FULL) * cores) && observed < cores / 2.0
    };
    Some(2 * seconds.iter().filter(|at| is_full(**at)).count() > seconds.len())
}

/// One core in use may be one thread, or a runtime that is allowed one.
fn is_near_one(cores: f64) -> bool {
    (cores - 1.0).abs() <= 0.1
}

/// A database that holds up whoever uses it.
pub(super) fn database(facts: &Facts<'_>, from: f64, to: f64) -> Alternative {
    const OTHER: &str = "A database that is slow, so that its connections are held for longer";
    let signals = &facts.signals;
    let active = |part| signals.mean(part, Role::SessionsActive, from, to);
    let Some(active) = signals.parts_with(Role::SessionsActive).filter_map(active).reduce(f64::max) else {
        return Alternative::not_ruled_out(OTHER, "no database was observed (observe.postgres, observe.mysql)");
    };
    let in_system = facts.strain.in_system(from, to).unwrap_or(0.0);
    let told =
        format!("{} of its sessions were active, while {} requests were in the system", units::number(active), units::number(in_system));
    if active < 1.0 || active < 0.1 * in_system { Alternative::ruled_out(OTHER, told) } else { Alternative::not_ruled_out(OTHER, told) }
}

/// The database's CPU, as what else could hold up sessions that wait.
pub(super) fn computing_sessions(wait: &SessionWait<'_>) -> Alternative {
    const OTHER: &str = "The database's CPU";
    match wait.computing {
        Some(computing) if computing < wait.sessions => Alternative::ruled_out(OTHER, format!("{computing:.1} of its sessions computed")),
        Some(computing) => Alternative::not_ruled_out(OTHER, format!("{computing:.1} sessions computed")),
        None => Alternative::not_ruled_out(OTHER, "it was not read how many sessions compute"),
    }
}
