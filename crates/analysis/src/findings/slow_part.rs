//! One of several instances is slow: a part of all requests takes longer by the same time, whatever is asked for.
//!
//! *47.6 % of all requests take 201 ms longer than the others, whichever they are: one of several instances that serve them, or something that only some
//! of them pass, is slow.*
//!
//! Made if each request with 40 samples or more, three of them at least and 80 % of all, has a hump as above, of up to 80 % of its samples, and the added
//! times (median of the slow ones less that of the others) lie within 25 % of each other, while shares are within a factor of three of the share of all.
//! What is asked for would show in some requests and not in others; what serves them shows in all. Both kinds must come throughout the run.

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};

/// Requests that the evidence lists.
const LISTED_MAX: usize = 5;

pub(super) const RULE: Rule = Rule {
    ids: &["slow-part"],
    title: "A part of all requests is slower",
    says: "a share of all requests takes longer by the same time: one of several instances is slow",
    needs: &[],
    settings: &["instance"],
    precedence: 180,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let part = facts.slow_part.as_ref()?;
    let (share, longer) = (loadstone_units::share(part.share()), loadstone_units::seconds(part.longer_s));
    let claim = format!(
        "{share} of all requests take {longer} longer than the others, whichever they are: one of several instances that serve them, or something that \
         only some of them pass, is slow"
    );
    let whole = (0.0, facts.tally.duration_seconds());
    let found = RankedFinding::new(Standing::Fault, "slow-part", Subject::Whole, Confidence::Medium, claim);
    let found = part.each.iter().take(LISTED_MAX).fold(found, |found, one| {
        let text = format!(
            "{} of \"{}\" take {}, the others {}",
            loadstone_units::share(one.share),
            one.name,
            loadstone_units::seconds(one.slow_s),
            loadstone_units::seconds(one.others_s)
        );
        found.rests_on(text, vec!["response/p50".to_owned(), "response/p90".to_owned()], whole)
    });
    Some(
        found
            .weigh(Alternative::ruled_out(
                "Two kinds of one request",
                format!("each of {} requests has slow ones, and they take longer by the same time", part.each.len()),
            ))
            .weigh(Alternative::ruled_out("Pauses", "slow ones and others ended throughout the run".to_owned()))
            .try_next(
                "See which instance answered: compare their times at the balancer, or call each of them alone. With one instance, look for what the \
                 service does for each request now and then: a look-up, a new connection, a cache that misses.",
            ),
    )
}
