//! Requests stand still again and again, at even distances or not: a job, a flush, a collection that comes back.
//!
//! *Every 10.0 s requests take up to 393 ms: the target stands still for about that long.*
//!
//! Made if seconds whose slowest request took four times the usual and 20 ms more come three times or more. At even distances (within a second or a
//! tenth) it is a `periodic-stall`: with high confidence where random pauses would come as evenly in less than 0.1 % of runs, medium in less than 1 %,
//! low in less than 10 %. They may take up to half of the seconds: the usual second has none. Where all requests together show none, each is looked at by
//! itself, as others may always take as long: then both chances must be small, the one of falling together divided by the number of requests. From a
//! quarter on, random ones come close to each other as well, and the chance is that of seconds that are each slow with the same probability. Where that
//! is not enough (then the distance that they kept is told, as *3 times, about 7.60 s apart*), or they come unevenly (`stall`, low, pauses of two seconds
//! and 40 % of the seconds at most), as many slow requests would have to fall into so few seconds by themselves in less than one of 10,000 runs. The
//! signals that are elsewhere in just those seconds are named.
//!
//! *Alternatives:* chance; bursts of load, ruled out where no more of it came in those seconds; the generator, ruled out where it did not stand still
//! itself.

use crate::finding::Alternative;
use crate::evidence::examined;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::stalls::Stalls;
use crate::instant::{clock, named};
use crate::{Confidence, Grade};

/// Chance of so even pauses from which they are no chance, and from which they hardly are.
const SURE: f64 = 1e-3;
const LIKELY: f64 = 1e-2;
/// Signals and instants that are named.
const NAMED_MAX: usize = 3;

pub(super) const RULE: Rule = Rule {
    ids: &["periodic-stall", "stall"],
    title: "Requests stand still",
    says: "requests stand still again and again",
    needs: &[],
    settings: &[],
    precedence: 210,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let stalls = facts.stalls.as_ref()?;
    let is_crowded = examined::others_fill_the_machine(facts, &stalls.at);
    // Pauses without a rhythm while others have the cores are theirs; the remark tells of them.
    if stalls.period.is_none() && is_crowded == Some(true) {
        return None;
    }
    let held_up: Vec<&str> = stalls.held_up.iter().map(String::as_str).collect();
    let spared: Vec<&str> = stalls.unaffected.iter().map(String::as_str).collect();
    let who = match held_up[..] {
        [one] if !spared.is_empty() => format!("{} takes", named(&[one])),
        [_, _, ..] if !spared.is_empty() => format!("{} take", named(&held_up)),
        _ => "requests take".to_owned(),
    };
    let (longest, usual) = (loadstone_units::seconds(stalls.longest_s), loadstone_units::seconds(stalls.usual_longest_s));
    let when = match (stalls.period, stalls.apart_s) {
        (Some(period), _) => format!("Every {}", loadstone_units::seconds(period.seconds)),
        (None, Some(apart)) => format!("{} times, about {} apart,", stalls.at.len(), loadstone_units::seconds(apart)),
        (None, None) => format!("{} times, unevenly spaced,", stalls.at.len()),
    };
    let what = if spared.is_empty() || held_up.is_empty() { "the target" } else { "what that needs" };
    let claim = format!("{when} {who} up to {longest}: {what} stands still for about that long");
    let confidence = match stalls.period {
        Some(period) if period.p_value <= SURE => Confidence::High,
        Some(period) if period.p_value <= LIKELY => Confidence::Medium,
        _ => Confidence::Low,
    };
    let rule = if stalls.period.is_some() { "periodic-stall" } else { "stall" };
    let at: Vec<String> = stalls.at.iter().take(NAMED_MAX).map(|at| clock(*at)).collect();
    let (from, to) = (stalls.at.first().copied()?, stalls.at.last().copied()? + 1.0);
    let subject = Subject::requests(if spared.is_empty() { Vec::new() } else { held_up.clone() });
    let found = RankedFinding::new(Standing::Fault, rule, subject, confidence, claim).rests_on(
        format!(
            "{} pauses, at {}{}: the slowest request of such a second took {longest}, of any other {usual}; {} of the {} requests that \
             ended in those seconds were slower than usual",
            stalls.at.len(),
            at.join(", "),
            if stalls.at.len() > NAMED_MAX { " and so on" } else { "" },
            loadstone_units::count(stalls.slow),
            loadstone_units::count(stalls.requests)
        ),
        vec!["response/max".to_owned()],
        (from, to),
    );
    let found = stalls.correlated.iter().take(NAMED_MAX).fold(found, |found, (name, during, others)| {
        let text = format!("{name} goes along: {during} in those seconds, {others} in the others");
        found.rests_on(text, vec![name.clone()], (from, to))
    });
    let found = if spared.is_empty() || held_up.is_empty() {
        found
    } else {
        found.rests_on(format!("{} kept going meanwhile", named(&spared)), Vec::new(), (from, to))
    };
    let found = is_crowded.into_iter().fold(found, |found, is_crowded| found.weigh(by_neighbours(is_crowded)));
    let found = found
        .weigh(by_chance(stalls))
        .weigh(Alternative::ruled_out("The load", "no more of it came in those seconds"))
        .weigh(Alternative::ruled_out("The load generator", "in most of those seconds it stood still for less than half as long"));
    let often = stalls
        .period
        .map_or_else(|| "at those instants".to_owned(), |period| format!("every {}", loadstone_units::seconds(period.seconds)));
    let next = if stalls.correlated.is_empty() {
        format!(
            "Look for what the system does {often}: a job, a flush or checkpoint, a full collection, a cache that expires. Observing its \
             process, its database and its runtime shows which of them goes along. A longer run shows whether the pauses keep their distance."
        )
    } else {
        format!("Look for what does that {often}, and let it do less at a time or aside from requests.")
    };
    let uncertainty = if facts.generator.grade() == Grade::Invalid { GeneratorUncertainty::None } else { GeneratorUncertainty::Possible };
    Some(RankedFinding { uncertainty, ..found.try_next(next) })
}

/// Other programs on the machine, as another cause.
fn by_neighbours(is_crowded: bool) -> Alternative {
    const OTHER: &str = "Other programs on the machine";
    if is_crowded {
        Alternative::not_ruled_out(OTHER, "in most of those seconds they left it no idle core")
    } else {
        Alternative::ruled_out(OTHER, "in most of those seconds the machine had an idle core, or the observed processes used its cores")
    }
}

/// Chance, as another cause: of the distances, or of slow requests that fall together.
fn by_chance(stalls: &Stalls) -> Alternative {
    const OTHER: &str = "Chance";
    match stalls.period {
        Some(period) => {
            let told =
                format!("pauses that come at random would be as evenly spaced in {} of runs", loadstone_units::share(period.p_value));
            if period.p_value <= LIKELY { Alternative::ruled_out(OTHER, told) } else { Alternative::not_ruled_out(OTHER, told) }
        }
        None => Alternative::ruled_out(
            OTHER,
            format!(
                "requests that are slow by themselves would fall into so few seconds in less than {} of runs",
                loadstone_units::share(stalls.together.max(1e-5))
            ),
        ),
    }
}
