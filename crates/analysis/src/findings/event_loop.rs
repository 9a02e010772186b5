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
//! The evidence gives the stack samples of the function, how late due work starts, the CPU time per request, and large responses (100 kB or more on average
//! that are 80 % of all bytes received): to serialise and send them takes CPU time.
//!
//! [`runtime-work`](runtime-work.md) reports work that a runtime does outside of its loop, and [`thread-waits`](thread-waits.md) reports threads that wait.

use loadstone_metrics::Role;
use loadstone_metrics::function_labels::COLLECTOR;

use crate::Confidence;
use crate::evidence::cpu_demand::{self, LargeResponses};
use crate::facts::Facts;
use crate::facts::busiest_function::BusiestFunction;
use crate::facts::demand::CpuDemand;
use crate::facts::readings::{SignalReadings, longest_run};
use crate::facts::search::{FULL_PART_MIN, LENGTH_MIN_S, READINGS_MIN};
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
/// Difference between the CPU time of the loop's process and that of an observed process, as a part of the former, up to which they are the same.
const SAME_CPU_PART_MAX: f64 = 0.15;

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
    facts.signals.parts_with(Role::EventLoopBusy).find_map(|part| full(facts, part))
}

fn full(facts: &Facts<'_>, part: ObservedPart<'_>) -> Option<RankedFinding> {
    let busy = facts.signals.read(part, Role::EventLoopBusy)?;
    let span = longest_run(busy.points(), READINGS_MIN, LENGTH_MIN_S - 1.0, |share| share >= FULL_PART_MIN)?;
    let stretch = facts.strain.held_part(span, 1.0)?;
    let share = busy.mean(stretch.0, stretch.1)?;
    let name = part.observer;
    let sampled = BusiestFunction::of(&facts.signals, part, stretch);
    let read_profile = sampled.as_ref().map(BusiestFunction::reading_advice);
    let top = sampled.filter(|top| top.cores >= FUNCTION_SHARE_MIN * share);
    if let Some(starved) = Starved::of(facts, part, share, stretch) {
        return Some(starved.finding(facts, &busy, share, stretch));
    }
    let cores = facts.signals.mean(part, Role::EventLoopCpu, stretch.0, stretch.1).unwrap_or(share);
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
        loadstone_units::share(share_min(&busy, stretch))
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
    fn of(facts: &Facts<'a>, part: ObservedPart<'a>, share: f64, (from, to): (f64, f64)) -> Option<Self> {
        let mean = |part, role| facts.signals.mean(part, role, from, to);
        let cores = mean(part, Role::EventLoopCpu).filter(|cores| *cores < STARVED_PART_MAX * share)?;
        let is_same = |process: &ObservedPart<'a>| {
            mean(*process, Role::ProcessCpu).is_some_and(|used| (used - cores).abs() <= SAME_CPU_PART_MAX * cores)
        };
        let process = facts.signals.parts_with(Role::ProcessBusiestThreadWait).find(is_same)?;
        let waiting = facts.signals.read(process, Role::ProcessBusiestThreadWait)?;
        let waits = waiting.mean(from, to).filter(|waits| *waits >= STARVED_PART_MAX * (share - cores))?;
        let series = [waiting.name(), facts.signals.read(part, Role::EventLoopCpu)?.name()];
        Some(Self { cores, waits, observer: process.observer, series })
    }

    fn finding(self, facts: &Facts<'_>, busy: &SignalReadings<'_>, share: f64, stretch: (f64, f64)) -> RankedFinding {
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
