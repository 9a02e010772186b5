//! A request repeats the same call, one after another: a query for each row of another one (N+1), or a lookup in a loop.
//!
//! The rule needs [traces](../traces.md). It reports a call if both of these hold:
//!
//! - each request makes it at least {spans::REPEATED_CALLS_MIN} times, one after another
//! - these calls take {spans::REPEATED_SHARE_MIN:%} of the request's time within the system ({SHARE_HIGH_CONFIDENCE_MIN:%} for high confidence)
//!
//! Calls that run at the same time do not count: only the longest of them holds up the request.

use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};

/// Part of the request's time from which the confidence is high.
const SHARE_HIGH_CONFIDENCE_MIN: f64 = 0.5;

pub(super) const RULE: Rule = Rule {
    ids: &["repeated-calls"],
    page: "repeated-calls",
    title: "A call is repeated within each request",
    says: "a request repeats one call, one after another",
    example: Example {
        run: "examples/repeated-calls",
        claim: "\"List\" calls `SELECT item` 41 times per request, one after another: 97.3 % of its time",
    },
    needs: &["traces"],
    settings: &[],
    precedence: 310,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let call = facts.repeated_calls.first()?;
    let (calls, name) = (loadstone_units::number(call.calls), &call.span.name);
    let who = call.span.service.as_ref();
    let claim = format!(
        "\"{}\" calls `{name}` {calls} times per request, one after another: {} of its time",
        call.request,
        loadstone_units::share(call.share)
    );
    let confidence = if call.share >= SHARE_HIGH_CONFIDENCE_MIN { Confidence::High } else { Confidence::Medium };
    let mut found = RankedFinding::new(Standing::Fault, "repeated-calls", Subject::request(call.request), confidence, claim)
        .with(Quantity::count("calls", call.calls))
        .with(Quantity::share("share", call.share))
        .rests_on(
        format!(
            "{} per request for {calls} calls of \"{who}\", in {} traces",
            loadstone_units::seconds(call.time),
            loadstone_units::count(call.traces)
        ),
        vec!["response/p50".to_owned()],
        (call.from, call.to),
    )
    .at_level("response/p50", "in these calls", call.time);
    if let Some(parent) = call.parent {
        found = found.rests_on(format!("all of them run within `{}`", parent.name), Vec::new(), (call.from, call.to));
    }
    let found = found.weigh(Alternative::ruled_out(
        "Calls that run at the same time",
        format!("{} of their time adds up along the request path", loadstone_units::share(call.one_by_one)),
    ));
    let found = found.try_next("Replace them with one call (a join, a list of keys as in `where id in (…)`, a batch), or run them at the same time.");
    Some(RankedFinding { uncertainty: GeneratorUncertainty::None, ..found })
}
