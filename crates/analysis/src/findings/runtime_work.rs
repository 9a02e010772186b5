//! Work that queues for a runtime's own threads, of which it has few: look-ups of names in Node have two.
//!
//! More of it under way than threads that do it is a queue, whatever each takes (Little's law gives the wait from its length).

use metrics::Role;

use super::alternative::Alternative;
use super::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::facts::readings::{SignalReadings, longest_run};
use crate::facts::search::{LENGTH_MIN_S, READINGS_MIN};
use crate::facts::signals::ObservedPart;

/// How many times the threads must be wanted.
const QUEUED: f64 = 1.5;
/// Part of what is in the system that must be there, to be what it waits for, and to be sure of it.
const OF_SYSTEM_MIN: f64 = 0.3;
const OF_SYSTEM_SURE: f64 = 0.5;
/// Part of the threads that the work must want if each piece takes what it took under low load.
const EXPLAINED: f64 = 0.75;

pub(super) fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let of_part = |part: ObservedPart<'_>| {
        let found = facts.signals.read_each(part, Role::RuntimeWork).into_iter().filter_map(|work| queue(facts, part, &work));
        found.collect::<Vec<_>>()
    };
    let longest = |a: &(f64, RankedFinding), b: &(f64, RankedFinding)| a.0.total_cmp(&b.0);
    facts.signals.parts_with(Role::RuntimeWork).flat_map(of_part).max_by(longest).map(|(_, found)| found)
}

/// With its length.
fn queue(facts: &Facts<'_>, part: ObservedPart<'_>, work: &SignalReadings<'_>) -> Option<(f64, RankedFinding)> {
    let kind = work.label("type")?;
    let places = facts.signals.read_each(part, Role::RuntimeWorkMax).into_iter().find(|places| places.label("type") == Some(kind))?;
    let threads = places.mean(0.0, f64::INFINITY).filter(|threads| *threads >= 1.0)?;
    let span = longest_run(work.points(), READINGS_MIN, LENGTH_MIN_S - 1.0, |count| count >= QUEUED * threads)?;
    let stretch = facts.strain.held_part(span, threads)?;
    let (count, in_system) = (work.mean(stretch.0, stretch.1)?, facts.strain.in_system(stretch.0, stretch.1)?);
    if count < OF_SYSTEM_MIN * in_system {
        return None;
    }
    let confidence = if count >= OF_SYSTEM_SURE * in_system { Confidence::High } else { Confidence::Medium };
    let claim = format!(
        "Work waits for the few threads that the runtime of \"{}\" has for {kind}: {} are under way at a time, and it does {} at a time",
        part.observer,
        units::number(count),
        units::number(threads)
    );
    let text = format!(
        "{} was {} on average, for {} threads, while {} requests were in the system",
        work.name(),
        units::number(count),
        units::number(threads),
        units::number(in_system)
    );
    let found = RankedFinding::new(Standing::Cause, "runtime-work", confidence, claim)
        .rests_on(text, vec![work.name(), places.name()], stretch)
        .weigh(slower_each(facts, work, threads, stretch))
        .beyond_the_generator(facts, stretch)
        .try_next(format!(
            "Do less of it for each request (keep connections alive, remember what was looked up), make {kind} faster (a resolver nearby), or give the \
             runtime more threads (UV_THREADPOOL_SIZE in Node)."
        ));
    Some((count, found))
}

/// By the utilisation law, what each request kept busy under low load times the throughput is what it keeps busy now, unless each piece of work has become
/// slow.
fn slower_each(facts: &Facts<'_>, work: &SignalReadings<'_>, threads: f64, (from, to): (f64, f64)) -> Alternative {
    const OTHER: &str = "That each of them has become slow";
    let (low, _) = facts.strain.low_and_high();
    let means = low.iter().filter_map(|(from, to)| Some((work.mean(*from, *to)?, facts.strain.throughput(*from, *to), to - from)));
    let (count, ended, length) = means
        .fold((0.0, 0.0, 0.0), |(count, ended, all), (mean, rate, length)| (count + mean * length, ended + rate * length, all + length));
    if ended <= 0.0 || count > threads * length {
        return Alternative::not_ruled_out(OTHER, "no load was low enough to see what each takes without a queue");
    }
    let wanted = count / ended * facts.strain.throughput(from, to);
    let told = format!(
        "by what each request kept busy under low load, these would keep {} of {} threads busy",
        units::number(wanted),
        units::number(threads)
    );
    if wanted >= EXPLAINED * threads { Alternative::ruled_out(OTHER, told) } else { Alternative::not_ruled_out(OTHER, told) }
}
