//! In which function the CPU time goes that a request takes more while work is held up.
//!
//! Made from the profiles of [runtimes](../observers.md#runtimes): a differential profile (Gregg, 2014), per request. A function's cores in use over the
//! requests that end per second is what one request takes of it (utilisation law), so more load alone is no difference. Seconds in which requests took
//! 1.5 times as long as at best, and 5 ms longer, are held against those in which they took less than 1.5 times as long.
//!
//! | what | limit |
//! |---|---|
//! | CPU time per request, in all functions | 1.25 times as much while work waits |
//! | a function's part of that growth | 40 %; from 75 % on with medium confidence |
//! | readings | 5 of either stretch, and 75 % of those with waiting above the mean without |
//! | CPU time seen in the function while work waited | 0.5 s, some fifty samples |
//! | requests | 30 of either stretch |
//!
//! It comes after causes, and never with high confidence: what a request takes more may follow from the queue itself, and samples do not tell which came
//! first.

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};

/// Part of the growth from which it is one function's.
const SURE: f64 = 0.75;

pub(super) const RULE: Rule = Rule {
    ids: &["cpu-growth"],
    title: "A function takes more CPU time per request",
    says: "in which function the CPU time grows while work waits",
    needs: &["native"],
    settings: &[],
    precedence: 330,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let growth = facts.cpu_growth.as_ref()?;
    let place = match growth.under {
        "" => format!("`{}`", growth.function),
        under => format!("`{}` ← `{}`", growth.function, under.replace(" ← ", "` ← `")),
    };
    let name = growth.observer;
    let both = |seconds: (f64, f64), digits: (usize, usize)| {
        (loadstone_units::seconds_to(seconds.0, digits.0), loadstone_units::seconds_to(seconds.1, digits.1))
    };
    let (from, to) = both(growth.whole, growth.digits.whole);
    let (part_from, part_to) = both(growth.part, growth.digits.part);
    let claim = format!(
        "{} of the CPU time that a request takes more of \"{name}\" while work waits ({from} → {to}) is in {place}",
        loadstone_units::share_to(growth.share(), growth.digits.share)
    );
    let confidence = if growth.share() >= SURE { Confidence::Medium } else { Confidence::Low };
    let text = format!(
        "samples of the stack: {part_from} → {part_to} of CPU per request in {place}, of {} readings without waiting and {} with",
        growth.readings.0, growth.readings.1
    );
    let found = RankedFinding::new(Standing::Consequence, "cpu-growth", Subject::part(name, growth.function), confidence, claim)
        .rests_on(text, vec![growth.series.clone()], growth.span)
        .weigh(Alternative::not_ruled_out(
            "A queue that costs CPU time itself, so that this follows from the wait",
            "samples of the stack do not tell which of them came first",
        ))
        .try_next(format!(
            "Find out why {place} takes more for each request than before: what it walks through, tries again, or is called for more often."
        ));
    Some(found)
}
