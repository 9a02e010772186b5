//! Evidence from spans about failures and about whole services: a front end that calls two services, each with known times and failures.

use loadstone_analysis::{Confidence, Finding, Subject, conclude};
use loadstone_metrics::span::{RequestLabel, SpanKind, SpanPath, SpanSlice, TraceSlice};
use loadstone_metrics::{ErrorGroup, FailureSample, Outcome, SeriesKind};
use loadstone_run_directory::{Run, RunTraces};

use crate::changes::noise;
use crate::draws::Draws;
use crate::synthetic::{self, SECOND, Slice, open, plan};

const SECONDS: u32 = 60;
const ONSET: u32 = 30;
const RATE: u64 = 20;

/// The spans of one path in a request: how many, their own time in seconds, and how many failed.
#[derive(Debug, Clone, Copy)]
struct OneSpan {
    calls: u64,
    own: f64,
    failed: u64,
}

const USUAL: OneSpan = OneSpan { calls: 1, own: 0.002, failed: 0 };

fn path(parent: Option<u32>, service: &str, name: &str, kind: SpanKind) -> SpanPath {
    let scenario = if parent.is_none() { "Buy" } else { "" };
    SpanPath { parent, scenario: scenario.into(), service: service.into(), name: name.into(), kind, label: RequestLabel::default() }
}

/// `front` calls `cart` and `payment`; `payment` calls `bank`, which has three more spans itself.
const FRONT: usize = 1;
const CALL_CART: usize = 2;
const CART: usize = 3;
const CALL_PAYMENT: usize = 4;
const PAYMENT: usize = 5;
const CALL_BANK: usize = 6;
const BANK: usize = 7;

fn paths() -> Vec<SpanPath> {
    vec![
        path(None, "", "Place order", SpanKind::Request),
        path(Some(0), "front", "POST /order", SpanKind::Server),
        path(Some(1), "front", "cart/Get", SpanKind::Client),
        path(Some(2), "cart", "Get", SpanKind::Server),
        path(Some(1), "front", "payment/Charge", SpanKind::Client),
        path(Some(4), "payment", "Charge", SpanKind::Server),
        path(Some(5), "payment", "bank/Pay", SpanKind::Client),
        path(Some(6), "bank", "Pay", SpanKind::Server),
        path(Some(7), "bank", "check", SpanKind::Internal),
        path(Some(7), "bank", "book", SpanKind::Internal),
        path(Some(7), "bank", "notify", SpanKind::Internal),
    ]
}

/// A request: its spans after the own one, and whether it failed.
type Request = (Vec<OneSpan>, bool);

/// Constant load of requests, by second and number within it.
fn run(request: impl Fn(u32, u64) -> Request) -> Run {
    let mut draws = Draws::new(7);
    let mut traces = RunTraces { paths: paths(), ..RunTraces::default() };
    let count = traces.paths.len();
    let slices = (0..SECONDS).map(|second| {
        let mut slice = Slice::new(second).arrivals(RATE);
        let mut spans: Vec<SpanSlice> = (0..count as u32).map(|path| SpanSlice { path, ..SpanSlice::default() }).collect();
        for number in 0..RATE {
            let (of_paths, failed) = request(second, number);
            let factor = noise(0.1, &mut draws);
            let mut total = 0.0;
            for (span, one) in spans[1..].iter_mut().zip(&of_paths) {
                let own = one.own * factor;
                total += if one.calls > 0 { own } else { 0.0 };
                span.calls += one.calls;
                span.traces += one.calls.min(1);
                span.errors += one.failed;
                (0..one.calls).for_each(|_| span.total.record((own / one.calls as f64 * 1e9) as u64));
                span.critical_ns += if one.calls > 0 { (own * 1e9) as u64 } else { 0 };
            }
            let whole = &mut spans[0];
            whole.calls += 1;
            whole.traces += 1;
            whole.errors += u64::from(of_paths[0].failed > 0);
            whole.total.record((total * 1e9) as u64);
            let outcome = if failed { Outcome::Status } else { Outcome::Passed };
            slice.record(SeriesKind::Request, "Place order", 20_000, ((total + 0.001) * 1e9) as u64, outcome);
        }
        traces.slices.push(TraceSlice { second, seconds: 1, spans });
        slice.done()
    });
    let slices = slices.collect();
    let mut run = synthetic::run_of(plan(open(RATE as f64, u64::from(SECONDS))), slices);
    run.traces = traces;
    run
}

fn usual() -> Vec<OneSpan> {
    vec![USUAL; 10]
}

/// Spans with a longer own time from the onset on.
fn slower(paths: &'static [usize], by: f64) -> impl Fn(u32, u64) -> Request {
    move |second, _| {
        let mut spans = usual();
        for path in paths.iter().filter(|_| second >= ONSET) {
            spans[*path - 1].own += by;
        }
        (spans, false)
    }
}

fn of_rule(run: &Run, rule: &str) -> Vec<Finding> {
    conclude(run).verdict.findings.findings.into_iter().filter(|finding| finding.rule == rule).collect()
}

fn first(run: &Run, rule: &str) -> Finding {
    let all = conclude(run).verdict.findings.findings;
    all.iter().find(|finding| finding.rule == rule).cloned().unwrap_or_else(|| panic!("{all:#?}"))
}

fn service(finding: &Finding) -> &str {
    match &finding.subject {
        Subject::Service { name } => name,
        other => panic!("{other:?}: {finding:#?}"),
    }
}

/// Four spans of "bank" gain 5 ms each: none has half of the added time.
#[test]
fn a_service_whose_spans_all_become_slower_is_named() {
    let found = first(&run(slower(&[BANK, 8, 9, 10], 0.005)), "span-growth");
    assert_eq!(service(&found), "bank");
    assert!(found.claim.contains("is spent in \"bank\", in several of its spans, most in `"), "{}", found.claim);
    assert_eq!(found.confidence, Confidence::High);
    assert!(found.evidence.iter().any(|evidence| evidence.text.starts_with("per request: `") && evidence.series.len() == 4), "{found:#?}");
}

/// The same added time, of which three services have a third each.
#[test]
fn time_that_several_services_gain_names_none() {
    assert_eq!(of_rule(&run(slower(&[FRONT, CART, PAYMENT, BANK], 0.005)), "span-growth"), []);
    assert_eq!(of_rule(&run(slower(&[], 0.0)), "span-growth"), []);
}

#[test]
fn a_slow_call_names_the_side_that_other_calls_show() {
    // Other calls of "front" are as fast as before.
    let called = first(&run(slower(&[CALL_PAYMENT], 0.02)), "span-growth");
    assert_eq!(service(&called), "payment");
    assert!(called.claim.ends_with("between \"payment\" and its caller \"front\", in the call `payment/Charge`"), "{}", called.claim);
    // All calls of "front".
    let caller = first(&run(slower(&[CALL_CART, CALL_PAYMENT], 0.02)), "span-growth");
    assert_eq!(service(&caller), "front", "{}", caller.claim);
    // All calls of "payment" and to it.
    let around = first(&run(slower(&[CALL_BANK, CALL_PAYMENT], 0.02)), "span-growth");
    assert_eq!(service(&around), "payment");
    // Nothing else is known of either side.
    let unknown = first(&run(slower(&[CALL_BANK], 0.02)), "span-growth");
    assert!(unknown.claim.contains("between \"bank\" and its caller \"payment\""), "{}", unknown.claim);
}

/// Orders of two kinds under one name: most only read the cart, at times that scatter widely, and one in twelve pays. Paying becomes slower at an instant.
fn two_kinds(second: u32, number: u64, added: f64) -> Request {
    let mut spans = usual();
    let pays = (u64::from(second) * RATE + number).is_multiple_of(12);
    spans[CART - 1].own = [0.004, 0.02, 0.06, 0.15, 0.4][(u64::from(second) * 7 + number * 3) as usize % 5];
    if pays {
        spans[PAYMENT - 1].own += if second >= ONSET { added } else { 0.0 };
    } else {
        spans[CALL_PAYMENT - 1..].fill(OneSpan { calls: 0, ..USUAL });
    }
    (spans, false)
}

#[test]
fn a_call_of_few_requests_that_becomes_slower_is_named() {
    let found = first(&run(|second, number| two_kinds(second, number, 0.15)), "span-growth");
    assert_eq!(service(&found), "payment");
    assert!(found.claim.contains("of the added time of \"Place order\" from 0:30 on for the same calls ("), "{}", found.claim);
    assert!(found.claim.ends_with("is spent in `Charge` of \"payment\" itself"), "{}", found.claim);
    assert!(
        found.evidence.iter().any(|evidence| evidence.text.starts_with("`Charge`: 2.0") && evidence.text.contains("→ 15")),
        "{found:#?}"
    );
    assert_eq!(of_rule(&run(|second, number| two_kinds(second, number, 0.0)), "span-growth"), []);
}

/// Every second request fails, in these spans.
fn failing(paths: &'static [usize]) -> impl Fn(u32, u64) -> Request {
    move |_, number| {
        let mut spans = usual();
        let fails = number % 2 == 0;
        for path in paths.iter().filter(|_| fails) {
            spans[*path - 1].failed = 1;
        }
        (spans, fails)
    }
}

#[test]
fn the_deepest_span_that_fails_as_often_is_the_place() {
    let found = first(&run(failing(&[FRONT, CALL_PAYMENT, PAYMENT])), "failures");
    assert_eq!(service(&found), "payment");
    assert!(found.claim.ends_with(": \"payment\" fails as often, in `Charge`"), "{}", found.claim);
    let text = "`Charge` of \"payment\" failed in 600 of 1,200 traces of \"Place order\", and no span below it as often";
    assert!(found.evidence.iter().any(|evidence| evidence.text == text), "{found:#?}");
    assert_eq!(found.next, "Read the log of \"payment\" for the first failure of `Charge`.");
}

#[test]
fn a_call_without_a_span_of_the_called_side_is_unreachable() {
    // From the onset on, every call to "payment" fails, and nothing of it is seen.
    let found = first(
        &run(|second, _| {
            let mut spans = usual();
            if second >= ONSET {
                spans[FRONT - 1].failed = 1;
                spans[CALL_PAYMENT - 1].failed = 1;
                spans[PAYMENT - 1..].fill(OneSpan { calls: 0, ..USUAL });
            }
            (spans, second >= ONSET)
        }),
        "failures",
    );
    assert_eq!(service(&found), "payment");
    assert!(
        found.claim.ends_with(": the calls `payment/Charge` of \"front\" fail as often and do not reach \"payment\""),
        "{}",
        found.claim
    );
    // The called side answers, and its caller gives up.
    let answered = first(&run(failing(&[FRONT, CALL_PAYMENT])), "failures");
    assert!(answered.claim.ends_with(" fail as often, while \"payment\" reports no failure"), "{}", answered.claim);
}

/// A failed order makes three attempts, each of which fails.
#[test]
fn attempts_that_are_repeated_count_as_one() {
    let found = first(
        &run(|_, number| {
            let mut spans = usual();
            let fails = number % 2 == 0;
            if fails {
                spans[FRONT - 1].failed = 1;
                for path in [CALL_PAYMENT, PAYMENT] {
                    spans[path - 1] = OneSpan { calls: 3, failed: 3, ..USUAL };
                }
            }
            (spans, fails)
        }),
        "failures",
    );
    assert_eq!(service(&found), "payment");
}

#[test]
fn spans_that_fail_in_other_requests_or_in_two_branches_are_no_place() {
    let is_about_request = |run: &Run| first(run, "failures").subject == Subject::request("Place order");
    // "cart" fails as often, in the seconds in which orders do not.
    let elsewhere = run(|second, number| {
        let mut spans = usual();
        let (fails, cart) = (second % 2 == 0 && number % 2 == 0, second % 2 == 1 && number % 2 == 0);
        spans[FRONT - 1].failed = u64::from(fails);
        spans[CART - 1].failed = u64::from(cart);
        (spans, fails)
    });
    let found = first(&elsewhere, "failures");
    assert!(!found.claim.contains("cart"), "{}", found.claim);
    // "cart" fails far more rarely, and "bank" all the time.
    let other_number = run(|_, number| {
        let mut spans = usual();
        spans[CART - 1].failed = u64::from(number % 10 == 0);
        spans[BANK - 1].failed = 1;
        (spans, number % 2 == 0)
    });
    assert!(is_about_request(&other_number), "{}", first(&other_number, "failures").claim);
    // Both of the front end's calls fail: either may be the cause.
    let branches = first(&run(failing(&[FRONT, CALL_CART, CART, CALL_PAYMENT, PAYMENT])), "failures");
    assert_eq!(service(&branches), "front");
}

/// Two messages of a status share their first words; the innermost part of a long one is quoted.
#[test]
fn the_message_of_the_status_is_quoted() {
    let mut run = run(failing(&[FRONT, CALL_PAYMENT, PAYMENT]));
    let key = run.slices[0].series.iter().find(|series| series.key.kind == SeriesKind::Request).unwrap().key.clone();
    let message = format!("order%20{}:%20the%20card%20was%20refused:%20invalid%20token", "7".repeat(90));
    let sample = |at| FailureSample { at, ..FailureSample::new(200, [("grpc-message", message.as_str())].into_iter(), b"") };
    let error = ErrorGroup::new(key, Outcome::Status, "status INTERNAL", SECOND);
    run.slices[1].errors.push(ErrorGroup { count: 600, samples: vec![sample(SECOND), sample(2 * SECOND)], ..error });
    let found = first(&run, "failures");
    let claim = "(status INTERNAL: \"…the card was refused: invalid token\"): \"payment\" fails as often, in `Charge`";
    assert!(found.claim.ends_with(claim), "{}", found.claim);
}
