//! Requests stand still at even distances: a job, a flush, a collection that comes back.

use super::ranked::{GeneratorDoubt, RankedFinding, Standing};
use crate::facts::Facts;
use crate::instant::{clock, named};
use crate::{Confidence, Grade};

/// Chance of so even pauses from which they are no chance.
const SURE: f64 = 1e-3;
/// Signals and instants that are named.
const NAMED_MAX: usize = 3;

pub(super) fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let stalls = facts.stalls.as_ref()?;
    let held_up: Vec<&str> = stalls.held_up.iter().map(String::as_str).collect();
    let spared: Vec<&str> = stalls.spared.iter().map(String::as_str).collect();
    let who = match held_up[..] {
        [one] if !spared.is_empty() => format!("{} takes", named(&[one])),
        [_, _, ..] if !spared.is_empty() => format!("{} take", named(&held_up)),
        _ => "requests take".to_owned(),
    };
    let (longest, usual) = (units::seconds(stalls.longest_s), units::seconds(stalls.usual_longest_s));
    let period = units::seconds(stalls.period_s);
    let claim = format!("Every {period} {who} up to {longest}: the target stands still for about that long");
    let confidence = if stalls.chance <= SURE { Confidence::High } else { Confidence::Medium };
    let at: Vec<String> = stalls.at.iter().take(NAMED_MAX).map(|at| clock(*at)).collect();
    let (from, to) = (stalls.at.first().copied()?, stalls.at.last().copied()? + 1.0);
    let found = RankedFinding::new(Standing::Fault, "periodic-stall", confidence, claim).rests_on(
        format!(
            "{} pauses, at {} and so on: the slowest request of such a second took {longest}, of any other {usual}; {} of the {} requests that \
             ended in those seconds were slower than usual",
            stalls.at.len(),
            at.join(", "),
            units::count(stalls.slow),
            units::count(stalls.requests)
        ),
        vec!["response/max".to_owned()],
        (from, to),
    );
    let found = stalls.along.iter().take(NAMED_MAX).fold(found, |found, (name, during, others)| {
        let text = format!("{name} goes along: {during} in those seconds, {others} in the others");
        found.rests_on(text, vec![name.clone()], (from, to))
    });
    let found = if spared.is_empty() || held_up.is_empty() {
        found
    } else {
        found.rests_on(format!("{} kept going meanwhile", named(&spared)), Vec::new(), (from, to))
    };
    let found = found
        .or(format!("Chance. Ruled out: pauses that come at random would be as evenly spaced in {} of runs.", units::share(stalls.chance)))
        .or("The load. Ruled out: no more of it came in those seconds.")
        .or("The load generator. Ruled out: it did not stand still in most of them.");
    let next = if stalls.along.is_empty() {
        format!(
            "Look for what the system does every {period}: a job, a flush or checkpoint, a full collection, a cache that expires. Observing its \
             process, its database and its runtime shows which of them goes along."
        )
    } else {
        format!("Look for what does that every {period}, and let it do less at a time or aside from requests.")
    };
    let doubt = if facts.generator.grade() == Grade::Invalid { GeneratorDoubt::None } else { GeneratorDoubt::Possible };
    Some(RankedFinding { doubt, ..found.try_next(next) })
}
