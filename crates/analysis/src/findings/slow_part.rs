//! A part of all requests takes longer, regardless of the request: one of several instances is slow.
//!
//! The rule examines each request with at least {SAMPLES_MIN} samples. A request shows two kinds of samples if its times have a second hump, as for
//! [`two-kinds`](two-kinds.md), with up to {SLOW_SHARE_MAX:%} of its samples. At least {NAMES_MIN} requests must show two kinds, and slow and fast samples must
//! have ended throughout the run. One of these must hold:
//!
//! - **Equal added times.** All examined requests show two kinds, and have {COVERED_SHARE_MIN:%} of all samples. The added times (median of the slow samples
//!   minus the median of the others) are within {ADDED_TIME_WITHIN:%} of each other. Each share of slow samples is within a factor of {SHARE_FACTOR_MAX} of the
//!   overall share.
//! - **Equal shares.** The requests with two kinds have {COVERED_BY_SHARE_MIN:%} of all samples. Their shares differ by no more than chance (χ² test at 1 %).
//!   The 95 % interval of each share is within a factor of {SHARE_FACTOR_MAX} of the overall share.
//!
//! A slow kind of request would show in some requests only. A slow instance shows in all. An instance with a slow path to its database adds time to each
//! statement, so requests take longer by different times, and those without a statement by none. Its share of every request is the same all the same.
//!
//! The rule cannot distinguish a slow instance from something that the service does only for some requests or users, such as a lookup or a new connection. The
//! confidence is medium.
//!
//! A timer may be the reason if all added times are {slow_part::FIXED_TIME_MIN_S} s or longer and within {slow_part::FIXED_TIME_WITHIN:%} of each other, and
//! the slow samples of each request within {slow_part::FIXED_TIME_SPREAD_MAX:%} of it (90th minus 10th percentile): an instance does not answer, and after a
//! time limit another one is asked. The claim names both.

use crate::Confidence;
use crate::Evidence;
use crate::facts::Facts;
use crate::facts::slow_part::{SlowPart, SlowPartOf};
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
    says: "the same share of many requests takes longer: one of several instances is slow",
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
    let whole = (0.0, facts.tally.duration_seconds());
    let found = RankedFinding::new(Standing::Fault, "slow-part", Subject::Whole, Confidence::Medium, claim(part))
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
    let limit = if part.is_fixed_time() {
        format!(
            " Look for a time limit of about {} in the configuration of the balancer and of clients.",
            loadstone_units::seconds(part.longer_s)
        )
    } else {
        String::new()
    };
    let why = match part.is_same_time {
        true => format!("all {} requests have slow samples, slower by the same time", part.each.len()),
        false => format!("the shares of {} requests differ by no more than chance", part.each.len()),
    };
    Some(
        found
            .weigh(Alternative::ruled_out("Two kinds of one request", why))
            .weigh(Alternative::ruled_out("Pauses", "slow and fast samples ended throughout the run".to_owned()))
            .try_next(format!(
                "Find the slow instance: compare the instances' times at the load balancer, or call each one alone. With a single instance, find what the \
                 service does only for some requests: a lookup, a new connection, a cache miss.{limit}"
            )),
    )
}

fn claim(part: &SlowPart) -> String {
    let (share, seconds) = (loadstone_units::share(part.share()), loadstone_units::seconds);
    if part.is_fixed_time() {
        return format!(
            "{share} of all requests take {} longer than the others, regardless of the request: one of several instances that serve them is slow, or \
             does not answer, so that after a time limit of that length another one does",
            seconds(part.longer_s)
        );
    }
    if part.is_same_time {
        return format!(
            "{share} of all requests take {} longer than the others, regardless of the request: one of several instances that serve them is slow, or \
             something that only some requests use",
            seconds(part.longer_s)
        );
    }
    let longer = || part.each.iter().map(SlowPartOf::longer_s);
    format!(
        "{share} of each of {} requests take longer than the others, by {} to {}: one of several instances that serve them is slow, or its path to \
         something that they use",
        part.each.len(),
        seconds(longer().fold(f64::INFINITY, f64::min)),
        seconds(longer().fold(0.0, f64::max))
    )
}
