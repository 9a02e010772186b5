//! A resource of the machine or of a process is exhausted while work waits: CPU, disk, descriptors.

use super::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::facts::exhausted::{Exhausted, ExhaustedResource, MachineCpu, ProcessCpu};

pub(super) fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let exhausted = facts.exhausted.as_ref()?;
    Some(match &exhausted.resource {
        ExhaustedResource::Descriptors { process, limit, at_limit } => {
            let claim = format!("\"{process}\" has all of its {limit:.0} file descriptors open: it cannot accept any more connections");
            let text = format!("at its limit in {} of the readings while work waited", units::share(*at_limit));
            begun(exhausted, "descriptors", Confidence::High, claim, text)
                .try_next("Raise the limit (LimitNOFILE= of the service, ulimit -n), or look for connections that are never closed.")
        }
        ExhaustedResource::GroupCpu { group, cores_max, throttled } => {
            let claim = format!("The control group \"{group}\" is throttled by its limit of {} cores", units::number(*cores_max));
            let text = format!("throttled for {} of the time while work waited", units::share(*throttled));
            begun(exhausted, "cpu", Confidence::High, claim, text)
                .try_next("Raise the limit, and run again: throughput should rise in proportion.")
        }
        ExhaustedResource::MachineCpu(machine) => machine_cpu(exhausted, machine),
        ExhaustedResource::ProcessCpu(process) => process_cpu(exhausted, process),
        ExhaustedResource::Disk { device, busy, queue } => {
            let claim = format!("The disk {device} is saturated: {queue:.0} requests are at it on average while work waits");
            let text = format!("busy for {} of the time", units::share(*busy));
            begun(exhausted, "disk", Confidence::Medium, claim, text).try_next(
                "Find out what reads or writes (observe.process), and whether it has to: commits, logs, a cache that is too small.",
            )
        }
    })
}

/// The finding with its evidence: under closed load where it began, then the sentence that shows it.
fn begun(exhausted: &Exhausted<'_>, rule: &str, confidence: Confidence, claim: String, text: String) -> RankedFinding {
    let waiting = &exhausted.waiting;
    let mut found = RankedFinding::new(Standing::during(waiting), rule, confidence, claim);
    if let Some(closed) = waiting.closed {
        let began = format!(
            "requests took {} on average instead of {}, from {} on, when {} users were active",
            units::seconds(closed.during_s),
            units::seconds(closed.before_s),
            units::seconds(waiting.from),
            units::count(closed.users)
        );
        found = found.rests_on(began, waiting.columns(), (waiting.from, waiting.to));
    }
    found.rests_on(text, exhausted.series.clone(), (waiting.from, waiting.to))
}

fn machine_cpu(exhausted: &Exhausted<'_>, machine: &MachineCpu) -> RankedFinding {
    let MachineCpu { cores, used, by_generator, by_observed } = *machine;
    let known = by_observed.map_or_else(String::new, |share| format!(", the observed processes {}", units::share(share)));
    let is_unknown = by_generator + by_observed.unwrap_or(0.0) < 0.5 * used;
    let others = if is_unknown { "; most of it went to processes that are not observed" } else { "" };
    let text = format!(
        "{} busy on average; the load generator took {} of the machine{known}{others}",
        units::share(used),
        units::share(by_generator)
    );
    let claim = format!("The machine's CPU is saturated: {} of its {cores:.0} cores were busy while work waited", units::share(used));
    begun(exhausted, "cpu", Confidence::Medium, claim, text)
        .or("A pool, a lock or too few workers. Ruled out: they would leave cores \
     idle.")
        .try_next(
            "Find out which process uses it (observe.process), and run the load generator on another machine. More cores, or less work per \
         request, should raise throughput in proportion.",
        )
}

fn process_cpu(exhausted: &Exhausted<'_>, cpu: &ProcessCpu<'_>) -> RankedFinding {
    let process = cpu.process;
    let (claim, confidence) = match cpu.all_cores {
        Some(cores) => (format!("\"{process}\" uses all {cores:.0} cores of the machine while work waits"), Confidence::High),
        None => (
            format!("\"{process}\" uses just one core, and all of it, while work waits: a single thread does the work"),
            Confidence::Medium,
        ),
    };
    let text = format!(
        "{:.0} threads used {:.2} cores on average, and waited for a core for {} of every second",
        cpu.threads,
        cpu.cores_used,
        units::seconds(cpu.run_delay)
    );
    begun(exhausted, "cpu", confidence, claim, text)
        .or("A pool, a lock or too few workers. Ruled out: they would leave the CPU idle.")
        .try_next("Profile the process under this load, or run more of them: throughput should rise in proportion.")
}
