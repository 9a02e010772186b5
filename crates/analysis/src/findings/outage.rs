//! A part of the system that went away in mid-run.
//!
//! Made if an observer of a database or a process had read it, could then not, and from then on 1 % more of the requests failed or throughput halved. It
//! must have met an error, such as a refused connection: one that waited for an answer in vain may itself have been late, on a machine without free
//! cores. Of a process whose memory grew all along until it ended, that is said.

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::growing_memory::{self, GrowingMemory};
use crate::facts::outages::{LostPart, Outage};

pub(super) const RULE: Rule = Rule {
    ids: &["outage"],
    title: "A part of the system went away",
    says: "a part of the system stopped during the run",
    needs: &[],
    settings: &[],
    precedence: 40,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let outage = facts.outages.first()?;
    let Outage { observer, part, from, to, is_over, message, failed, ended, throughput } = outage;
    let what = match part {
        LostPart::Database => "the database was stopped or out of reach",
        LostPart::Process => "the process had ended",
    };
    let until = if *is_over { format!(" to {}", loadstone_units::seconds(*to)) } else { " on".to_owned() };
    let share = *failed as f64 / (*ended).max(1) as f64;
    let felt = match *failed {
        0 => format!("requests ended at {} instead of {}", loadstone_units::rate(throughput.1), loadstone_units::rate(throughput.0)),
        _ => format!(
            "{} of {} requests failed meanwhile ({})",
            loadstone_units::count(*failed),
            loadstone_units::count(*ended),
            loadstone_units::share(share)
        ),
    };
    let claim = format!("\"{observer}\" could not be read from {}{until}: {what}, and {felt}", loadstone_units::seconds(*from));
    let found = RankedFinding::new(Standing::Cause, "outage", Subject::observed(observer), Confidence::High, claim)
        .with(Quantity::count("failed", *failed as f64))
        .with(Quantity::seconds("from", *from));
    let columns = vec!["rate/failed".to_owned(), "rate/requests".to_owned()];
    let found = found.rests_on((*message).to_owned(), columns, (*from, *to)).rests_on(
        format!(
            "requests ended at {} before, and at {} meanwhile",
            loadstone_units::rate(throughput.0),
            loadstone_units::rate(throughput.1)
        ),
        vec!["rate/requests".to_owned()],
        (*from, *to),
    );
    let memory = filled(facts, outage);
    let found = memory.iter().fold(found, |found, grown| {
        let each = loadstone_units::bytes(grown.each as u64);
        let (first, last) = (loadstone_units::bytes(grown.first as u64), loadstone_units::bytes(grown.last as u64));
        let text = format!("until then its memory grew all along, from {first} to {last}, by about {each} for each request");
        found.rests_on(text, vec![grown.series.clone()], (0.0, *from))
    });
    let found = match part {
        LostPart::Database => found.weigh(Alternative::not_ruled_out(
            "A database so busy, or with so many connections, that it did not answer the observer either",
            "the observer's message says what it met",
        )),
        LostPart::Process => found,
    };
    Some(found.try_next(match memory {
        Some(_) => {
            "Look for what it keeps (a heap dump), and at its log of that time: a process that needs more memory than it may have ends, or is ended."
        }
        None => "Find out why it ended or was restarted (its log at that time), and whether the service recovers by itself when it is back.",
    }))
}

/// A process whose memory grew until it ended.
fn filled<'a>(facts: &Facts<'a>, outage: &Outage<'a>) -> Option<GrowingMemory<'a>> {
    let (begin, _) = facts.strain.loaded().filter(|_| outage.part == LostPart::Process)?;
    growing_memory::find(&facts.signals, &facts.strain, Some(outage.observer), (begin, outage.from))
}
