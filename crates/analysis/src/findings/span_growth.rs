//! Traces show which span, or which wait before one, accounts for the time that a request takes longer.
//!
//! The rule needs [traces](../traces.md). It compares the parts of a request's critical path (Zhang et al., *CRISP*, USENIX ATC 2022) under low and high
//! load, or before and after a [change](change.md).
//!
//! | condition | limit |
//! |---|---|
//! | the request takes longer | {load_response::SLOWER_FACTOR_MIN} times as long under high load; or a change; {changes::CHANGE_MIN_S:ms} or more |
//! | traces | {spans::TRACES_MIN} in each stretch |
//! | the part's share of the added time | {spans::GROWTH_PART_MIN:%}; high confidence from {SHARE_HIGH_CONFIDENCE_MIN:%} on |
//! | seconds of the later stretch that show it | {spans::SECONDS_SHARE_MIN:%} |
//!
//! | the part | its meaning |
//! |---|---|
//! | right before a call | the caller waits for a pooled connection, a lock, a thread or its event loop |
//! | before a server's span, within the call | the network, or a queue in front of the server |
//! | a call without spans below it | the called system (a database, an uninstrumented service) is slower, or is called more often |
//! | a span's own time | the service itself: CPU, a lock, garbage collection |
//! | outside of all spans | before the first service handles the request, or the network: at most medium confidence |
//!
//! [`repeated-calls`](repeated-calls.md) reports a call that each request repeats.

use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::{Confidence, Evidence};
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::facts::spans::{GrowthWhy, SpanGrowth, TimePart};
use crate::instant::clock;
use loadstone_metrics::span::{SpanKind, SpanPath};

/// Maximum number of findings.
const FINDINGS_MAX: usize = 2;
/// Part of the growth from which the confidence is high.
const SHARE_HIGH_CONFIDENCE_MIN: f64 = 0.75;
/// Ratio of a call's times from which it is slower, and up to which it is unchanged.
const SLOWER_RATIO_MIN: f64 = 1.5;
const UNCHANGED_RATIO_MAX: f64 = 1.25;

pub(super) const RULE: Rule = Rule {
    ids: &["span-growth"],
    page: "span-growth",
    title: "A part of the request became slower",
    says: "which span, or which wait before one, accounts for the time that a request takes longer",
    example: Example {
        run: "examples/span-growth",
        claim: "100 % of the added time of \"List\" under high load (8.56 ms → 22.3 ms) is spent in \"prices\" before `SELECT item`; `SELECT item` \
                itself still takes 3.07 ms",
    },
    needs: &["traces"],
    settings: &[],
    precedence: 30,
    find: FindingSearch::Each(find),
};

fn find(facts: &Facts<'_>) -> Vec<RankedFinding> {
    facts.span_growths.iter().take(FINDINGS_MAX).map(finding).collect()
}

fn finding(growth: &SpanGrowth<'_>) -> RankedFinding {
    let (before, after) = (growth.before, growth.after);
    let (from, to) = (loadstone_units::seconds(before.whole), loadstone_units::seconds(after.whole));
    let when = match growth.why {
        GrowthWhy::Load => "under high load".to_owned(),
        GrowthWhy::Change(at) => format!("from {} on", clock(at)),
    };
    let share = loadstone_units::share(growth.share());
    let claim = format!("{share} of the added time of \"{}\" {when} ({from} → {to}) is {}", growth.request, place(growth));
    let is_outside = growth.part == TimePart::Outside;
    let is_sure = growth.share() >= SHARE_HIGH_CONFIDENCE_MIN && !is_outside;
    let confidence = if is_sure { Confidence::High } else { Confidence::Medium };
    let part = format!(
        "{} per request: {} → {}, of {} and {} traces",
        what(growth),
        loadstone_units::seconds(before.part),
        loadstone_units::seconds(after.part),
        loadstone_units::count(before.traces),
        loadstone_units::count(after.traces)
    );
    let mut found = RankedFinding::new(Standing::Cause, "span-growth", Subject::request(growth.request), confidence, claim)
        .with(Quantity::share("share", growth.share()))
        .with(Quantity::seconds("before", before.whole))
        .with(Quantity::seconds("after", after.whole))
        .rests_on_drawn(drawn(growth, part));
    if !is_outside {
        found = found.rests_on(calls(growth), Vec::new(), growth.after_span);
    }
    found = if is_outside {
        found.weigh(Alternative::not_ruled_out("The network, or the load generator", "no span covers that time"))
    } else {
        found.weigh(Alternative::ruled_out("The load generator, or the network in front of the system", "the spans of the system contain the time"))
    };
    let uncertainty = if is_outside { GeneratorUncertainty::Possible } else { GeneratorUncertainty::None };
    RankedFinding { uncertainty, ..found.try_next(next(growth)) }
}

/// The request's own time and the part of it, each with its mean before and after.
fn drawn(growth: &SpanGrowth<'_>, text: String) -> Evidence {
    const TIME: &str = "service/mean";
    let (before, after) = (growth.before, growth.after);
    let names = match growth.why {
        GrowthWhy::Load => ("low load", "high load"),
        GrowthWhy::Change(_) => ("before", "after"),
    };
    let part = match growth.part {
        TimePart::Outside => None,
        TimePart::Own(path) => Some(format!("spans/own/{path}")),
        TimePart::Before(path) => Some(format!("spans/before/{path}")),
    };
    let series = std::iter::once(TIME.to_owned()).chain(part.clone()).collect();
    let whole = Evidence::new(text, series, growth.after_span)
        .of_requests([growth.request])
        .level(TIME, names.0, before.whole, growth.before_span)
        .level(TIME, names.1, after.whole, growth.after_span);
    match part {
        None => whole,
        Some(part) => whole.level(&part, names.0, before.part, growth.before_span).level(&part, names.1, after.part, growth.after_span),
    }
}

/// `shop`, or the span's own name where its service is not known.
fn service(span: &SpanPath) -> &str {
    if span.service.is_empty() { &span.name } else { &span.service }
}

fn each_is_slower(growth: &SpanGrowth<'_>) -> bool {
    growth.after.each >= SLOWER_RATIO_MIN * growth.before.each
}

/// Completes "… of the added time is".
fn place(growth: &SpanGrowth<'_>) -> String {
    let (span, name) = (growth.span, &growth.span.name);
    let each = loadstone_units::seconds(growth.after.each);
    let unchanged =
        if growth.after.each <= UNCHANGED_RATIO_MAX * growth.before.each { format!("; `{name}` itself still takes {each}") } else { String::new() };
    match (growth.part, growth.parent, growth.is_answered_elsewhere) {
        (TimePart::Outside, _, _) => format!("outside of its spans: before `{name}` in \"{}\" begins, or in the network", service(span)),
        (TimePart::Before(_), Some(parent), _) if is_answer(span, parent) => {
            format!("between \"{}\" and \"{}\": in the network, or in a queue before `{name}` begins{unchanged}", service(parent), service(span))
        }
        (TimePart::Before(_), _, _) => format!("spent in \"{}\" before `{name}`{unchanged}", service(growth.parent.unwrap_or(span))),
        (TimePart::Own(_), _, Some(answer)) => format!("between \"{}\" and \"{}\", in the call `{name}`", service(span), service(answer)),
        (TimePart::Own(_), _, None) if span.kind.is_call() => format!("spent in `{name}`, which \"{}\" calls", service(span)),
        (TimePart::Own(_), _, None) => format!("spent in `{name}` of \"{}\" itself", service(span)),
    }
}

fn is_answer(span: &SpanPath, caller: &SpanPath) -> bool {
    span.kind == SpanKind::Server && caller.kind == SpanKind::Client && span.service != caller.service
}

/// The measured part, as the beginning of a sentence.
fn what(growth: &SpanGrowth<'_>) -> String {
    match growth.part {
        TimePart::Outside => "outside of all spans".to_owned(),
        TimePart::Own(_) => format!("`{}` itself", growth.span.name),
        TimePart::Before(_) => format!("the time right before `{}`", growth.span.name),
    }
}

fn calls(growth: &SpanGrowth<'_>) -> String {
    let (before, after) = (growth.before, growth.after);
    format!(
        "`{}`: {} → {} each, {} → {} per request",
        growth.span.name,
        loadstone_units::seconds(before.each),
        loadstone_units::seconds(after.each),
        loadstone_units::number(before.calls),
        loadstone_units::number(after.calls)
    )
}

fn next(growth: &SpanGrowth<'_>) -> String {
    let (name, service) = (&growth.span.name, service(growth.span));
    let is_more_often = growth.after.calls >= SLOWER_RATIO_MIN * growth.before.calls;
    match growth.part {
        TimePart::Outside => format!(
            "Check what \"{service}\" does before its first span: accepting connections, its thread pool or event loop, a proxy in front of it."
        ),
        TimePart::Before(_) => format!(
            "Find what \"{}\" waits for before `{name}`: a connection from a pool, a lock, a thread or the event loop. Observe its pool and its process.",
            growth.parent.map_or(service, |parent| &parent.service)
        ),
        TimePart::Own(_) if is_more_often => {
            format!("Each request calls `{name}` more often than before: find out what determines the number of calls.")
        }
        TimePart::Own(_) if growth.span.kind.is_call() && each_is_slower(growth) => {
            format!("Check what `{name}` calls: observe it, or let it send spans, too.")
        }
        TimePart::Own(_) => {
            format!("Find out what `{name}` itself does: observe the process of \"{service}\" (CPU, waiting for a core), or profile it.")
        }
    }
}
