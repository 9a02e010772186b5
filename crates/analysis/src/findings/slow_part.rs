//! A part of all requests takes longer by the same time, regardless of the request: one of several instances is slow.
//!
//! The rule examines each request with at least {SAMPLES_MIN} samples. A request shows two kinds of samples if its times have a second hump, as for
//! [`two-kinds`](two-kinds.md), with up to {SLOW_SHARE_MAX:%} of its samples. The rule reports the run if all of these hold:
//!
//! - at least {NAMES_MIN} requests, and {COVERED_SHARE_MIN:%} of those examined, show two kinds
//! - the added times are within {ADDED_TIME_WITHIN:%} of each other (median of the slow samples minus the median of the others)
//! - each request's share of slow samples is within a factor of {SHARE_FACTOR_MAX} of the overall share
//! - slow and fast samples ended throughout the run
//!
//! A slow kind of request would show in some requests only. A slow instance shows in all.
//!
//! The rule cannot distinguish a slow instance from something that the service does only for some requests, such as a lookup or a new connection. The
//! confidence is medium.

use crate::Confidence;
use crate::Evidence;
use crate::facts::Facts;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};

/// Maximum number of requests that the evidence lists.
const LISTED_MAX: usize = 5;

pub(super) const RULE: Rule = Rule {
    ids: &["slow-part"],
    page: "slow-part",
    title: "A part of all requests is slower",
    says: "a share of all requests takes longer by the same time: one of several instances is slow",
    example: Example {
        run: "corpus/nginx.slow-instance.plain.constant.nothing.1",
        claim: "9.90 % of all requests take 206 ms longer than the others, regardless of the request: one of several instances that serve them is \
                slow, or something that only some requests use",
    },
    needs: &[],
    settings: &["instance"],
    precedence: 180,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let part = facts.slow_part.as_ref()?;
    let (share, longer) = (loadstone_units::share(part.share()), loadstone_units::seconds(part.longer_s));
    let claim = format!(
        "{share} of all requests take {longer} longer than the others, regardless of the request: one of several instances that serve them is slow, or \
         something that only some requests use"
    );
    let whole = (0.0, facts.tally.duration_seconds());
    let found = RankedFinding::new(Standing::Fault, "slow-part", Subject::Whole, Confidence::Medium, claim)
        .with(Quantity::share("slow_share", part.share()))
        .with(Quantity::seconds("added", part.longer_s));
    let found = part.each.iter().take(LISTED_MAX).fold(found, |found, one| {
        let text = format!(
            "{} of \"{}\" take {}, the others {}",
            loadstone_units::share(one.share),
            one.name,
            loadstone_units::seconds(one.slow_s),
            loadstone_units::seconds(one.others_s)
        );
        let series = vec!["response/p50".to_owned(), "response/p90".to_owned()];
        let evidence = Evidence::new(text, series, whole).of_requests([one.name.as_str()]);
        found.rests_on_drawn(evidence.time("the others", one.others_s).time("slow ones", one.slow_s))
    });
    Some(
        found
            .weigh(Alternative::ruled_out(
                "Two kinds of one request",
                format!("all {} requests have slow samples, slower by the same time", part.each.len()),
            ))
            .weigh(Alternative::ruled_out("Pauses", "slow and fast samples ended throughout the run".to_owned()))
            .try_next(
                "Find the slow instance: compare the instances' times at the load balancer, or call each one alone. With a single instance, find what the \
                 service does only for some requests: a lookup, a new connection, a cache miss.",
            ),
    )
}
