//! Traces show which span, or which wait before one, accounts for the time that a request takes longer.
//!
//! The rule needs [traces](../traces.md). It compares the parts of a request's critical path (Zhang et al., *CRISP*, USENIX ATC 2022) under low and high
//! load, or before and after a [change](change.md).
//!
//! | condition | limit |
//! |---|---|
//! | the request takes longer | {load_response::SLOWER_FACTOR_MIN} times as long under high load; or a change; {changes::CHANGE_MIN_S:ms} or more |
//! | traces | {spans::TRACES_MIN} in each stretch |
//! | the part's share of the added time | {spans::GROWTH_PART_MIN:%}; of all spans of a service, {spans::SERVICE_GROWTH_PART_MIN:%} |
//! | its share for high confidence | {SHARE_HIGH_CONFIDENCE_MIN:%} |
//! | seconds of the later stretch that show it | {spans::SECONDS_SHARE_MIN:%} |
//!
//! | the part | its meaning |
//! |---|---|
//! | right before a call | the caller waits for a pooled connection, a lock, a thread or its event loop |
//! | before a server's span, within the call | the network, or a queue in front of the server |
//! | a call without spans below it | the called system (a database, an uninstrumented service) is slower, or is called more often |
//! | a span's own time | the service itself: CPU, a lock, garbage collection |
//! | many spans of one service | the service computes more slowly, or waits for a core |
//! | outside of all spans | before the first service handles the request, or the network: at most medium confidence |
//!
//! One name may stand for requests of several kinds, and few of them may make a call. So the parts are also compared call by call, at an instant from which
//! one takes longer. "For the same calls" then compares with the time that the later calls took before. {spans::CALLS_GROWTH_PART_MIN:%} of the request's time
//! is enough.
//!
//! A call may become slower without the span of the called service. The time is then spent between both, and the finding names the slow side:
//!
//! - the caller, if all of its calls to other services gained {span_services::CALLER_SIDE_FACTOR_MIN} times as much as those of the called service
//! - otherwise the called service. It is certain if other calls of the caller did not become slower
//!
//! [`repeated-calls`](repeated-calls.md) reports a call that each request repeats.

use loadstone_metrics::span::SpanPath;

use crate::facts::Facts;
use crate::facts::span_services::{CallSides, ServiceGrowth, SlowSide};
use crate::facts::span_stretch::TimePart;
use crate::facts::spans::{GrownPart, GrowthWhy, SpanGrowth};
use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::clock;
use crate::{Confidence, Evidence};

/// Maximum number of findings.
const FINDINGS_MAX: usize = 2;
/// Part of the growth from which the confidence is high.
const SHARE_HIGH_CONFIDENCE_MIN: f64 = 0.75;
/// Ratio of a call's times from which it is slower, and up to which it is unchanged.
const SLOWER_RATIO_MIN: f64 = 1.5;
const UNCHANGED_RATIO_MAX: f64 = 1.25;
/// Part of a service's growth from which one kind of its time is named alone.
const KIND_PART_MIN: f64 = 0.5;
/// Spans of a service that are listed.
const LISTED_MAX: usize = 4;

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
    facts.span_growths.iter().take(FINDINGS_MAX).map(|growth| finding(facts, growth)).collect()
}

fn finding(facts: &Facts<'_>, growth: &SpanGrowth<'_>) -> RankedFinding {
    let (before, after) = (growth.before, growth.after);
    let (from, to) = (loadstone_units::seconds(before.whole), loadstone_units::seconds(after.whole));
    let when = match growth.why {
        GrowthWhy::Load => "under high load".to_owned(),
        GrowthWhy::Change(at) => format!("from {} on", clock(at)),
        GrowthWhy::Calls(at) => format!("from {} on for the same calls", clock(at)),
    };
    let share = loadstone_units::share(growth.share());
    let claim = format!("{share} of the added time of \"{}\" {when} ({from} → {to}) is {}", growth.request, place(growth));
    let is_outside = matches!(growth.part, GrownPart::One(TimePart::Outside));
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
    let mut found = RankedFinding::new(Standing::Cause, "span-growth", subject(growth), confidence, claim)
        .with(Quantity::share("share", growth.share()))
        .with(Quantity::seconds("before", before.whole))
        .with(Quantity::seconds("after", after.whole))
        .rests_on_drawn(drawn(growth, part));
    found = match &growth.part {
        GrownPart::One(TimePart::Outside) => found,
        GrownPart::One(_) => found.rests_on(calls(growth), Vec::new(), growth.after_span),
        GrownPart::Service(service) => found.rests_on_drawn(listed(facts, growth, service)),
    };
    found = if is_outside {
        found.weigh(Alternative::not_ruled_out("The network, or the load generator", "no span covers that time"))
    } else {
        found.weigh(Alternative::ruled_out(
            "The load generator, or the network in front of the system",
            "the spans of the system contain the time",
        ))
    };
    let uncertainty = if is_outside { GeneratorUncertainty::Possible } else { GeneratorUncertainty::None };
    RankedFinding { uncertainty, ..found.try_next(next(growth)) }
}

/// The service in which the time is spent, or the request.
fn subject(growth: &SpanGrowth<'_>) -> Subject {
    let service = match &growth.part {
        GrownPart::One(TimePart::Outside) => "",
        GrownPart::One(TimePart::Own(_)) => growth.sides.map_or(&*growth.span.service, CallSides::service),
        GrownPart::One(TimePart::Before(_)) => {
            growth.sides.map_or_else(|| &*growth.parent.unwrap_or(growth.span).service, CallSides::service)
        }
        GrownPart::Service(service) => service.service,
    };
    if service.is_empty() { Subject::request(growth.request) } else { Subject::service(service) }
}

/// The spans of a service with the largest growth.
fn listed(facts: &Facts<'_>, growth: &SpanGrowth<'_>, service: &ServiceGrowth<'_>) -> Evidence {
    let largest = || service.paths.iter().filter(|(_, by)| *by > 0.0).take(LISTED_MAX);
    let paths = &facts.run.traces.paths;
    let texts: Vec<String> =
        largest().map(|(path, by)| format!("`{}` {} longer", paths[*path as usize].name, loadstone_units::seconds(*by))).collect();
    let series = largest().map(|(path, _)| format!("spans/own/{path}")).collect();
    Evidence::new(format!("per request: {}", texts.join(", ")), series, growth.after_span).of_requests([growth.request])
}

/// The request's own time and the part of it, each with its mean before and after.
fn drawn(growth: &SpanGrowth<'_>, text: String) -> Evidence {
    const TIME: &str = "service/mean";
    let (before, after) = (growth.before, growth.after);
    let names = match growth.why {
        GrowthWhy::Load => ("low load", "high load"),
        GrowthWhy::Change(_) | GrowthWhy::Calls(_) => ("before", "after"),
    };
    let part = match growth.part {
        GrownPart::One(TimePart::Outside) | GrownPart::Service(_) => None,
        GrownPart::One(TimePart::Own(path)) => Some(format!("spans/own/{path}")),
        GrownPart::One(TimePart::Before(path)) => Some(format!("spans/before/{path}")),
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
    let unchanged = if growth.after.each <= UNCHANGED_RATIO_MAX * growth.before.each {
        format!("; `{name}` itself still takes {each}")
    } else {
        String::new()
    };
    let part = match &growth.part {
        GrownPart::One(part) => *part,
        GrownPart::Service(service) => return in_service(growth, service),
    };
    match (part, growth.sides, growth.parent) {
        (TimePart::Outside, ..) => format!("outside of its spans: before `{name}` in \"{}\" begins, or in the network", service(span)),
        (TimePart::Before(_), Some(sides), _) => format!("{}: {}{unchanged}", between(sides), reason(sides, name)),
        (TimePart::Before(_), None, parent) => format!("spent in \"{}\" before `{name}`{unchanged}", service(parent.unwrap_or(span))),
        (TimePart::Own(_), Some(sides), _) => format!("{}, in the call `{name}`", between(sides)),
        (TimePart::Own(_), None, _) if span.kind.is_call() => format!("spent in `{name}`, which \"{}\" calls", service(span)),
        (TimePart::Own(_), None, _) => format!("spent in `{name}` of \"{}\" itself", service(span)),
    }
}

/// The two services of a call, the slow one first.
fn between(sides: CallSides<'_>) -> String {
    let CallSides { caller, called, slow } = sides;
    match slow {
        SlowSide::Caller => format!("between \"{caller}\" and what it calls, such as \"{called}\""),
        SlowSide::Called | SlowSide::Unknown => format!("between \"{called}\" and its caller \"{caller}\""),
    }
}

/// What may take that time. A queue in front of the called service is no reason if calls to others became slower, too.
fn reason(sides: CallSides<'_>, span: &str) -> String {
    match sides.slow {
        SlowSide::Caller => format!("in the network of \"{}\"", sides.caller),
        SlowSide::Called | SlowSide::Unknown => format!("in the network, or in a queue before `{span}` begins"),
    }
}

/// Completes the same sentence for all spans of a service.
fn in_service(growth: &SpanGrowth<'_>, of: &ServiceGrowth<'_>) -> String {
    let (name, most) = (of.service, &growth.span.name);
    let is_most = |part: f64| part >= KIND_PART_MIN * of.all();
    if is_most(of.own) {
        format!("spent in \"{name}\", in several of its spans, most in `{most}`")
    } else if is_most(of.between) {
        format!("spent between \"{name}\" and the services that it exchanges calls with: in its network, or in a queue in front of it")
    } else {
        format!("spent in \"{name}\" and in its calls, most in `{most}`")
    }
}

/// The measured part, as the beginning of a sentence.
fn what(growth: &SpanGrowth<'_>) -> String {
    match &growth.part {
        GrownPart::One(TimePart::Outside) => "outside of all spans".to_owned(),
        GrownPart::One(TimePart::Own(_)) => format!("`{}` itself", growth.span.name),
        GrownPart::One(TimePart::Before(_)) => format!("the time right before `{}`", growth.span.name),
        GrownPart::Service(service) => format!("\"{}\"", service.service),
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
    let part = match &growth.part {
        GrownPart::Service(of) => {
            return format!(
                "Observe the process of \"{}\" (CPU, waiting for a core), and check its network: many of its spans take longer.",
                of.service
            );
        }
        GrownPart::One(part) => *part,
    };
    match (part, growth.sides) {
        (TimePart::Outside, _) => format!(
            "Check what \"{service}\" does before its first span: accepting connections, its thread pool or event loop, a proxy in front of it."
        ),
        (_, Some(sides)) if sides.slow == SlowSide::Caller => format!(
            "Check the network of \"{}\", and what it does between a call and its answer: observe its process (CPU, waiting for a core).",
            sides.caller
        ),
        (_, Some(sides)) => format!(
            "Check the network in front of \"{}\", and what it does before its span begins: accepting connections, its thread pool or event loop, a proxy.",
            sides.called
        ),
        (TimePart::Before(_), None) => format!(
            "Find what \"{}\" waits for before `{name}`: a connection from a pool, a lock, a thread or the event loop. Observe its pool and its process.",
            growth.parent.map_or(service, |parent| &parent.service)
        ),
        (TimePart::Own(_), None) if is_more_often => {
            format!("Each request calls `{name}` more often than before: find out what determines the number of calls.")
        }
        (TimePart::Own(_), None) if growth.span.kind.is_call() && each_is_slower(growth) => {
            format!("Check what `{name}` calls: observe it, or let it send spans, too.")
        }
        (TimePart::Own(_), None) => {
            format!("Find out what `{name}` itself does: observe the process of \"{service}\" (CPU, waiting for a core), or profile it.")
        }
    }
}
