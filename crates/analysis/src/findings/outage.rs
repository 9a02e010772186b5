//! A part of the system stopped during the run: an observer could no longer read a database or a process, and the requests show it.
//!
//! The rule needs an observer of a database or a process. It reports a part if all of these hold:
//!
//! - the observer read the part before, and then could not
//! - the observer met an error, such as a refused connection. A read that only timed out does not count: on a machine without free cores, the observer itself
//!   may have been late
//! - from then on, at least 1 percentage point more of the requests failed, or throughput fell to half
//!
//! If the CPU was used up for {FULL_BEFORE_MIN_S} s until a process ended, the claim has that: overload may have ended it.
//!
//! If the memory of a process grew steadily until the process ended, the evidence includes that growth.
//!
//! A database that is too busy to answer, or that has no free connection, looks the same to the observer. The observer's error message distinguishes the two.

use crate::Confidence;
use crate::Evidence;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::facts::exhausted::{Exhausted, ExhaustedResource};
use crate::facts::growing_memory::{self, GrowingMemory};
use crate::facts::outages::{LostPart, Outage};
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::instant::clock;

/// Seconds for which a CPU was used up before the process ended, and within which its last reading was.
const FULL_BEFORE_MIN_S: f64 = 5.0;
const READ_WITHIN_S: f64 = 3.0;

pub(super) const RULE: Rule = Rule {
    ids: &["outage"],
    page: "outage",
    title: "A part of the system went away",
    says: "a part of the system stopped during the run",
    example: Example {
        run: "examples/outage",
        claim: "\"postgres\" could not be read from 30.5 s on: the database was stopped or unreachable, and 600 of 660 requests failed in that \
                time (90.9 %)",
    },
    needs: &[],
    settings: &[],
    precedence: 40,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let outage = facts.outages.first()?;
    let Outage { observer, part, from, to, is_over, message, failed, ended, throughput } = outage;
    let what = match part {
        LostPart::Database => "the database was stopped or unreachable",
        LostPart::Process => "the process had ended",
    };
    let until = if *is_over { format!(" to {}", loadstone_units::seconds(*to)) } else { " on".to_owned() };
    let share = *failed as f64 / (*ended).max(1) as f64;
    let effect = match *failed {
        0 => format!("requests ended at {} instead of {}", loadstone_units::rate(throughput.1), loadstone_units::rate(throughput.0)),
        _ => format!(
            "{} of {} requests failed in that time ({})",
            loadstone_units::count(*failed),
            loadstone_units::count(*ended),
            loadstone_units::share(share)
        ),
    };
    let full = after_full_cpu(facts, outage);
    let after = full.map_or_else(String::new, |full| {
        format!(", after {} had been used up since {}", full.resource.name().replacen("The", "the", 1), clock(full.from))
    });
    let claim = format!("\"{observer}\" could not be read from {}{until}: {what}{after}, and {effect}", loadstone_units::seconds(*from));
    let found = RankedFinding::new(Standing::Cause, "outage", Subject::observed(observer), Confidence::High, claim)
        .with(Quantity::count("failed", *failed as f64))
        .with(Quantity::seconds("from", *from))
        .with(Quantity::rate("throughput_before", throughput.0))
        .with(Quantity::rate("throughput", throughput.1));
    let columns = vec!["rate/failures".to_owned(), "rate/requests".to_owned()];
    let text = format!(
        "requests ended at {} before, and at {} during that time",
        loadstone_units::rate(throughput.0),
        loadstone_units::rate(throughput.1)
    );
    let rates = Evidence::new(text, vec!["rate/requests".to_owned()], (*from, *to))
        .level("rate/requests", "before", throughput.0, (0.0, *from))
        .level("rate/requests", "during", throughput.1, (*from, *to));
    let found = found.rests_on((*message).to_owned(), columns, (*from, *to)).rests_on_drawn(rates);
    let memory = filled(facts, outage);
    let found = memory.iter().fold(found, |found, grown| {
        let each = loadstone_units::bytes(grown.each as u64);
        let (first, last) = (loadstone_units::bytes(grown.first as u64), loadstone_units::bytes(grown.last as u64));
        let text = format!("until then its memory grew steadily from {first} to {last}, by about {each} per request");
        found.rests_on(text, vec![grown.series.clone()], (0.0, *from))
    });
    let found = full.into_iter().fold(found, |found, full| {
        found.rests_on("work waited for the CPU until then".to_owned(), full.series.clone(), (full.from, *from))
    });
    let found = match part {
        LostPart::Database => found.weigh(Alternative::not_ruled_out(
            "A database that is too busy, or has too many connections, to answer the observer",
            "the observer's error message shows the reason",
        )),
        LostPart::Process => found,
    };
    Some(found.try_next(match memory {
        Some(_) => {
            "Find what fills its memory (a heap dump), and read its log of that time: the system ends a process that exceeds its memory limit."
        }
        None => "Find out why it ended or restarted (its log of that time), and whether the service recovers without help when it is back.",
    }))
}

/// A CPU that was used up until the process ended, which may be a consequence.
fn after_full_cpu<'f, 'a>(facts: &'f Facts<'a>, outage: &Outage<'_>) -> Option<&'f Exhausted<'a>> {
    let is_cpu = |resource: &ExhaustedResource<'_>| {
        matches!(resource, ExhaustedResource::ProcessCpu(_) | ExhaustedResource::GroupCpu { .. } | ExhaustedResource::MachineCpu(_))
    };
    let is_before = |from: f64, to: f64| from + FULL_BEFORE_MIN_S <= outage.from && outage.from <= to + READ_WITHIN_S;
    facts.used_up().filter(|_| outage.part == LostPart::Process).find(|full| is_cpu(&full.resource) && is_before(full.from, full.to))
}

/// The growth of a process whose memory grew until it ended.
fn filled<'a>(facts: &Facts<'a>, outage: &Outage<'a>) -> Option<GrowingMemory<'a>> {
    let (begin, _) = facts.strain.loaded().filter(|_| outage.part == LostPart::Process)?;
    growing_memory::find(&facts.signals, &facts.strain, Some(outage.observer), (begin, outage.from))
}
