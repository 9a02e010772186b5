//! Which span, or which wait before one, carries what a request takes longer.
//!
//! Made from [traces](../traces.md). The mean time of a request is a sum of parts: what no span covers, what each span does itself on the critical path,
//! and what lies right before a call (Zhang et al., *CRISP*, USENIX ATC 2022). `span-growth` compares these parts under low and under high load, or
//! before and after a [change](change.md), and names the one that carries most of what the request takes longer.
//!
//! - **the request takes longer**: 1.5 times as long as under low load in 4 blocks of time, and in three quarters of those from the first to the last; or
//!   a [change](change.md). By at least 1 ms
//! - **traces**: 30 in each of the two stretches
//! - **the part's share of the growth**: at least 50 %; high confidence from 75 %
//! - **seconds of the later stretch that show it**: 75 %
//!
//! What it names is a place, and the place says what is waited for:
//!
//! | the part | what that means |
//! |---|---|
//! | right before a call | its caller waits: for a connection of a pool, a lock, a thread, its event loop |
//! | before a server's span, within the call that it answers | the way between the two, or the server does not take it up: a full queue in front of it |
//! | a call without spans below it | what is called (a database, a service without instrumentation) has become slower, or is called more often |
//! | a span's own time | the service itself: CPU, a lock, garbage collection |
//! | outside of all spans | before the first service takes the request up, or the network: at most medium |
//!
//! `repeated-calls` is made if each request makes a call at least ten times, one after another, and these take 30 % of its time within the system (50 %
//! for high confidence). Calls at once are none: they hold a request up for one of them.

use crate::finding::Alternative;
use crate::finding::ranked::{GeneratorUncertainty, RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::spans::{GrowthWhy, SpanGrowth, TimePart};
use crate::instant::clock;
use loadstone_metrics::span::{SpanKind, SpanPath};

/// Findings that are made.
const FINDINGS_MAX: usize = 2;
/// Part of the growth from which a place is sure.
const SURE: f64 = 0.75;
/// A call that takes so many times as long is slower; one that takes less than so many times as long is as it was.
const SLOWER: f64 = 1.5;
const ALIKE: f64 = 1.25;

pub(super) const RULE: Rule = Rule {
    ids: &["span-growth"],
    title: "A part of the request became slower",
    says: "which span, or which wait before one, accounts for the time that a request takes longer",
    needs: &["traces"],
    settings: &[],
    precedence: 30,
    find: FindingSearch::Each(find),
};

fn find(facts: &Facts<'_>) -> Vec<RankedFinding> {
    facts.span_growths.iter().take(FINDINGS_MAX).map(told).collect()
}

fn told(growth: &SpanGrowth<'_>) -> RankedFinding {
    let (before, after) = (growth.before, growth.after);
    let (from, to) = (loadstone_units::seconds(before.whole), loadstone_units::seconds(after.whole));
    let when = match growth.why {
        GrowthWhy::Load => "under high load".to_owned(),
        GrowthWhy::Change(at) => format!("from {} on", clock(at)),
    };
    let share = loadstone_units::share(growth.share());
    let claim = format!("{share} of what \"{}\" takes longer {when} ({from} → {to}) is {}", growth.request, place(growth));
    let is_outside = growth.part == TimePart::Outside;
    let is_sure = growth.share() >= SURE && !is_outside;
    let confidence = if is_sure { Confidence::High } else { Confidence::Medium };
    let part = format!(
        "{} per request: {} → {}, of {} and {} traces",
        what(growth),
        loadstone_units::seconds(before.part),
        loadstone_units::seconds(after.part),
        loadstone_units::count(before.traces),
        loadstone_units::count(after.traces)
    );
    let mut found = RankedFinding::new(Standing::Cause, "span-growth", Subject::request(growth.request), confidence, claim).rests_on(
        part,
        vec!["response/p50".to_owned()],
        growth.after_span,
    );
    if !is_outside {
        found = found.rests_on(calls(growth), Vec::new(), growth.after_span);
    }
    found = if is_outside {
        found.weigh(Alternative::not_ruled_out("The network, or the load generator", "no span covers that time"))
    } else {
        found.weigh(Alternative::ruled_out("The load generator, and the way to the system", "the time was taken within the system"))
    };
    let uncertainty = if is_outside { GeneratorUncertainty::Possible } else { GeneratorUncertainty::None };
    RankedFinding { uncertainty, ..found.try_next(next(growth)) }
}

/// `shop`, or the span's own name where its service is not known.
fn service(span: &SpanPath) -> &str {
    if span.service.is_empty() { &span.name } else { &span.service }
}

fn each_is_slower(growth: &SpanGrowth<'_>) -> bool {
    growth.after.each >= SLOWER * growth.before.each
}

/// Completes "… of what it takes longer is".
fn place(growth: &SpanGrowth<'_>) -> String {
    let (span, name) = (growth.span, &growth.span.name);
    let each = loadstone_units::seconds(growth.after.each);
    let kept =
        if growth.after.each <= ALIKE * growth.before.each { format!("; `{name}` itself takes {each} as before") } else { String::new() };
    match (growth.part, growth.parent, growth.is_answered_elsewhere) {
        (TimePart::Outside, _, _) => format!("outside of its spans: before `{name}` in \"{}\" begins, or on the way", service(span)),
        (TimePart::Before(_), Some(parent), _) if is_answer(span, parent) => {
            format!("between \"{}\" and \"{}\": on the way, or waiting until `{name}` is taken up{kept}", service(parent), service(span))
        }
        (TimePart::Before(_), _, _) => format!("spent in \"{}\" before `{name}`{kept}", service(growth.parent.unwrap_or(span))),
        (TimePart::Own(_), _, Some(answer)) => format!("between \"{}\" and \"{}\", in the call `{name}`", service(span), service(answer)),
        (TimePart::Own(_), _, None) if span.kind.is_call() => format!("spent in `{name}`, which \"{}\" calls", service(span)),
        (TimePart::Own(_), _, None) => format!("spent in `{name}` of \"{}\" itself", service(span)),
    }
}

fn is_answer(span: &SpanPath, caller: &SpanPath) -> bool {
    span.kind == SpanKind::Server && caller.kind == SpanKind::Client && span.service != caller.service
}

/// What was measured, at the beginning of a sentence.
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
    let is_more_often = growth.after.calls >= SLOWER * growth.before.calls;
    match growth.part {
        TimePart::Outside => format!(
            "Look at what \"{service}\" does before its first span: accepting connections, its thread pool or event loop, a proxy in front."
        ),
        TimePart::Before(_) => format!(
            "Look for what \"{}\" waits for before `{name}`: a connection from a pool, a lock, a thread or the event loop. Observe its pool and its process.",
            growth.parent.map_or(service, |parent| &parent.service)
        ),
        TimePart::Own(_) if is_more_often => {
            format!("Each request makes `{name}` more often than before: find out what decides how often.")
        }
        TimePart::Own(_) if growth.span.kind.is_call() && each_is_slower(growth) => {
            format!("Look at what `{name}` calls: observe it, or let it send spans too.")
        }
        TimePart::Own(_) => {
            format!("Find out what `{name}` does itself: observe the process of \"{service}\" (CPU, waiting for a core), or profile it.")
        }
    }
}
