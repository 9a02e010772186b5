//! An event loop without time left, and the function that takes most of it.
//!
//! The rule reads [runtimes](../observers.md#runtimes). An event loop does one thing at a time. As a single server, its utilisation is the share of the time
//! in which it has work. Work waits without bound as that share approaches one (utilisation law).
//!
//! | condition | limit |
//! |---|---|
//! | readings while work was held up | {search::READINGS_MIN} or more |
//! | share of the time in which the loop has work | {search::FULL_PART_MIN:%} or more |
//! | a function's share of the loop's time, for the finding to name it | {FUNCTION_SHARE_MIN:%} or more |
//! | CPU time of the process, as a part of the loop's busy time, for high confidence | {COMPUTED_PART_MIN:%} or more |
//!
//! With less CPU time, the loop may have waited for a core that other programs used, or for a CPU limit. Confidence is then medium. If it computed for less
//! than {STARVED_PART_MAX:%} of its busy time, and a thread of the same process ([`observe.process`](../observers.md)) waited for a core for most of the rest,
//! the claim states that instead of a function.
//!
//! The evidence gives the stack samples of the function, the thread that runs the loop (of the one observed process with as much CPU time), how late due
//! work starts, the CPU time per request, and large responses (100 kB or more on average that are 80 % of all bytes received): to serialise and send them
//! takes CPU time.
//!
//! [`runtime-work`](runtime-work.md) reports work that a runtime does outside of its loop, and [`thread-waits`](thread-waits.md) reports threads that wait.

use loadstone_metrics::Role;
use loadstone_metrics::function_labels::COLLECTOR;

use crate::Confidence;
use crate::evidence::cpu_demand::{self, LargeResponses};
use crate::facts::Facts;
use crate::facts::busiest_function::BusiestFunction;
use crate::facts::demand::CpuDemand;
use crate::facts::full_loop::FullLoop;
use crate::facts::process_cpu::{CpuLimit, busiest_thread};
use crate::facts::readings::SignalReadings;
use crate::facts::signals::ObservedPart;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};

/// Share of the loop's time from which a function is named.
const FUNCTION_SHARE_MIN: f64 = 0.25;
/// CPU time of the process, as a part of the time in which the loop had work, from which it did not wait for a core.
const COMPUTED_PART_MIN: f64 = 0.85;
/// The same, up to which the loop mostly waited for a core if a thread of its process did.
const STARVED_PART_MAX: f64 = 0.5;
/// Share of the time that a thread must wait for a core, for the evidence to state it.
const THREAD_WAIT_MIN: f64 = 0.05;

pub(super) const RULE: Rule = Rule {
    ids: &["event-loop"],
    page: "event-loop",
    title: "The event loop has no time left",
    says: "an event loop is always busy, and in which function",
    example: Example {
        run: "examples/event-loop",
        claim: "The event loop of \"node:80\" has no time left: it has work 99.0 % of the time, and spends 80 % of it in `hash shop.mjs:3` below \
                `login shop.mjs:9`; each \"Register\" takes 38.8 ms of CPU time",
    },
    needs: &["node"],
    settings: &["worker", "thread"],
    precedence: 80,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let full = facts.full_loop.as_ref()?;
    let (part, busy, share, stretch) = (full.part, &full.busy, full.share, full.stretch);
    let name = part.observer;
    let sampled = BusiestFunction::of(&facts.signals, part, stretch);
    let read_profile = sampled.as_ref().map(BusiestFunction::reading_advice);
    let top = sampled.filter(|top| top.cores >= FUNCTION_SHARE_MIN * share);
    if let Some(starved) = Starved::of(facts, full) {
        return Some(starved.finding(facts, full));
    }
    let cores = full.cores(&facts.signals, stretch).unwrap_or(share);
    let demand = CpuDemand::of(&facts.strain, &facts.responses, cores.min(share), stretch);
    let large = LargeResponses::of(facts, demand.as_ref());
    let utilisation = format!("The event loop of \"{name}\" has no time left: it has work {} of the time", loadstone_units::share(share));
    let claim = match &top {
        Some(top) => {
            format!(
                "{utilisation}, and spends {} of it in {}",
                loadstone_units::share_to((top.cores / share).min(1.0), top.digits),
                top.place()
            )
        }
        None => utilisation,
    } + &cpu_demand::each(demand.as_ref());
    let text = format!(
        "{} was {} on average, and never below {}",
        busy.name(),
        loadstone_units::share(share),
        loadstone_units::share(share_min(busy, stretch))
    );
    let mut found = RankedFinding::new(Standing::Cause, "event-loop", Subject::observed(name), Confidence::High, claim)
        .with(Quantity::share("busy", share))
        .rests_on(text, vec![busy.name()], stretch)
        .at_level(&busy.name(), "on average", share);
    if let Some(top) = &top {
        found = found.with(Quantity::share("function_share", (top.cores / share).min(1.0)));
        let text = format!("stack samples: {} of a core in {}", loadstone_units::share_to(top.cores, top.digits), top.place());
        found = found.rests_on(text, vec![top.series.clone()], stretch).at_level(&top.series, "on average", top.cores);
    }
    if let Some(late) = facts.signals.read(part, Role::EventLoopDelay)
        && let Some(mean) = late.mean(stretch.0, stretch.1)
    {
        let text = format!("due work starts {} late on average", loadstone_units::seconds(mean));
        found = found.rests_on(text, vec![late.name()], stretch).at_level(&late.name(), "on average", mean);
    }
    let found = with_its_thread(facts, full, found);
    let found = demand.iter().fold(found, |found, demand| cpu_demand::add_to(found, demand, stretch));
    let found = large.iter().fold(found, |found, large| large.add_to(found, stretch));
    let next = match &top {
        Some(top) if top.owner == COLLECTOR => {
            "Find out what allocates so much (a heap profile), or give the process more heap.".to_owned()
        }
        Some(top) => format!(
            "Make {} cheaper, call it less often, or move it off the loop (a worker thread, a separate process). Run more processes only after that.",
            top.place()
        ),
        None => {
            let large = large.map(|large| large.advice());
            let advice = large.or(read_profile).unwrap_or_else(|| "Take a CPU profile of this stretch".to_owned());
            format!("{advice}, or run more processes.")
        }
    };
    Some(found.weigh(waits_for_a_core(facts, part, share, stretch)).beyond_the_generator(facts, stretch).try_next(next))
}

/// A loop that has work, and mostly waits for a core instead of doing it.
struct Starved<'a> {
    /// Cores that its process used.
    cores: f64,
    /// Seconds per second that its thread waited for a core.
    waits: f64,
    observer: &'a str,
    series: [String; 2],
}

impl<'a> Starved<'a> {
    fn of(facts: &Facts<'a>, full: &FullLoop<'a>) -> Option<Self> {
        let (from, to) = full.stretch;
        let cores = full.cores(&facts.signals, full.stretch).filter(|cores| *cores < STARVED_PART_MAX * full.share)?;
        let is_same = |process: &ObservedPart<'a>| full.uses_as_much(&facts.signals, *process, full.stretch);
        let process = facts.signals.parts_with(Role::ProcessBusiestThreadWait).find(is_same)?;
        let waiting = facts.signals.read(process, Role::ProcessBusiestThreadWait)?;
        let waits = waiting.mean(from, to).filter(|waits| *waits >= STARVED_PART_MAX * (full.share - cores))?;
        let series = [waiting.name(), facts.signals.read(full.part, Role::EventLoopCpu)?.name()];
        Some(Self { cores, waits, observer: process.observer, series })
    }

    fn finding(self, facts: &Facts<'_>, full: &FullLoop<'_>) -> RankedFinding {
        let (busy, share, stretch) = (&full.busy, full.share, full.stretch);
        let (name, of_a_core) = (&busy.signal.observer, loadstone_units::share);
        let claim = format!(
            "The event loop of \"{name}\" has work {} of the time, but is at a core for {} of it only: it waits for one that other programs use",
            of_a_core(share),
            of_a_core((self.cores / share).min(1.0))
        );
        let text = format!(
            "the busiest thread of \"{}\" waited for a core for {} of the time, and its process used {} cores",
            self.observer,
            of_a_core(self.waits),
            loadstone_units::number(self.cores)
        );
        RankedFinding::new(Standing::Cause, "event-loop", Subject::observed(name), Confidence::High, claim)
            .with(Quantity::share("busy", share))
            .with(Quantity::count("cores", self.cores))
            .rests_on(format!("{} was {} on average", busy.name(), of_a_core(share)), vec![busy.name()], stretch)
            .at_level(&busy.name(), "on average", share)
            .rests_on(text, self.series.to_vec(), stretch)
            .at_level(&self.series[0], "on average", self.waits)
            .weigh(Alternative::ruled_out("The work of the loop itself", format!("it used {} cores", loadstone_units::number(self.cores))))
            .beyond_the_generator(facts, stretch)
            .try_next("Stop the other programs on the machine, or give the process a core that they do not use, and run again.")
    }
}

/// With the thread of an observed process that runs the loop, if it is busy as well.
fn with_its_thread(facts: &Facts<'_>, full: &FullLoop<'_>, found: RankedFinding) -> RankedFinding {
    let Some(exhausted) = facts.exhausted.first() else { return found };
    let Some(cpu) = full.as_thread(&facts.signals, exhausted) else { return found };
    let CpuLimit::OneThread(used) = cpu.limit else { return found };
    let span = (exhausted.from, exhausted.to);
    let name = busiest_thread(&facts.signals, cpu.process, span).map_or_else(String::new, |name| format!(" `{name}`"));
    let used = loadstone_units::share(used.unwrap_or(cpu.cores_used).min(1.0));
    let waited = cpu.thread_wait.filter(|waited| *waited >= THREAD_WAIT_MIN);
    let waited =
        waited.map_or_else(String::new, |waited| format!(", and waited for a core for another {}", loadstone_units::share(waited)));
    let text = format!("one thread{name} of \"{}\" used {used} of a core{waited}", cpu.process);
    found.rests_on(text, exhausted.series.clone(), span)
}

fn share_min(busy: &SignalReadings<'_>, (from, to): (f64, f64)) -> f64 {
    busy.between(from, to).map(|(_, share)| share).fold(1.0, f64::min)
}

/// A loop that waits for a core has no time left either.
fn waits_for_a_core(facts: &Facts<'_>, part: ObservedPart<'_>, share: f64, (from, to): (f64, f64)) -> Alternative {
    const OTHER: &str = "A core that other programs use, or a CPU limit, so that the loop has work but does not run";
    match facts.signals.mean(part, Role::EventLoopCpu, from, to) {
        Some(cores) if cores >= COMPUTED_PART_MIN * share => {
            Alternative::ruled_out(OTHER, format!("its process used {} cores meanwhile", loadstone_units::number(cores)))
        }
        Some(cores) => Alternative::not_ruled_out(OTHER, format!("its process used {} cores meanwhile", loadstone_units::number(cores))),
        None => Alternative::not_ruled_out(OTHER, "the CPU time of its process was not observed"),
    }
}
