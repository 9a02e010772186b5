//! What a target states in its failed responses: its limit, and why it failed.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::{ErrorGroup, FailureSample, Outcome, Role, SeriesKind};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::synthetic::{self, MS, SECOND, Slice, counter};

/// A ramp from 4/s to 40/s of which up to `accepted` per second are accepted, and the others fail with this response.
fn failing(status: u16, accepted: u64, headers: &[(&str, &str)], body: &str) -> Run {
    failing_within(2 * MS, status, accepted, headers, body)
}

/// The same, with the time that a rejection takes. The others take 5 ms.
fn failing_within(rejection_ns: u64, status: u16, accepted: u64, headers: &[(&str, &str)], body: &str) -> Run {
    let slice = |second: u32| {
        let asked = 4 + u64::from(second) * 36 / 40;
        let failed = asked.saturating_sub(accepted + u64::from(second % 2));
        let mut slice = Slice::new(second).arrivals(asked).requests("Buy", asked - failed, 5 * MS);
        for _ in 0..failed {
            slice = slice.request("Buy", 0, rejection_ns, Outcome::Status);
        }
        let mut snapshot = slice.done();
        for series in snapshot.series.iter_mut().filter(|series| series.key.kind == SeriesKind::Request) {
            series.statuses = vec![(200, asked - failed), (status, failed)];
        }
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let sample = FailureSample { at: snapshot.start, status, headers, body: body.to_owned(), body_bytes: body.len() as u64 };
        let key = synthetic::key(SeriesKind::Request, "Buy");
        let error = ErrorGroup::new(key, Outcome::Status, &format!("status {status}"), snapshot.start);
        let error = ErrorGroup { count: failed, samples: vec![sample], ..error };
        snapshot.errors = if failed > 0 { vec![error] } else { Vec::new() };
        snapshot
    };
    let stage = OpenStage::Rate { from: 4.0, to: 40.0, duration_ns: 40 * SECOND, timing: Timing::Even };
    synthetic::run_of(synthetic::plan(LoadProfile::Open { stages: vec![stage] }), (0..40).map(slice).collect())
}

fn limit(found: &[Finding]) -> f64 {
    let first = found.first().unwrap_or_else(|| panic!("nothing was found"));
    first.quantities.iter().find(|quantity| quantity.name == "limit").map_or(0.0, |quantity| quantity.value)
}

/// A limiter in windows accepts somewhat less than it allows, since work comes in bursts.
#[test]
fn a_limit_that_the_target_states_is_reported_with_that_number() {
    for (headers, body) in [
        (&[][..], r#"{"error":"too_many_requests","limit":14}"#),
        (&[("RateLimit-Limit", "14"), ("RateLimit-Remaining", "0")], ""),
        (&[("RateLimit-Policy", "840;w=60")], ""),
        (&[], "429 Too Many Requests: 14 per 1 second"),
    ] {
        let found = findings(&failing(429, 12, headers, body));
        assert!(found[0].rule == "rate-limit" && found[0].confidence == Confidence::High, "{}", shown(&found));
        assert!(found[0].claim.starts_with("\"Buy\" is limited to 14/s, as the target states"), "{}", shown(&found));
        assert_eq!(limit(&found), 14.0, "{}", shown(&found));
        assert!(found[0].evidence.iter().any(|evidence| evidence.text.starts_with("its responses state a limit of ")), "{}", shown(&found));
    }
    // A number of an unknown window that does not fit the accepted rate is evidence only.
    let found = findings(&failing(429, 12, &[("X-RateLimit-Limit", "5000")], ""));
    assert!(found[0].claim.starts_with("\"Buy\" is limited to about 12.5/s:"), "{}", shown(&found));
    assert!((limit(&found) - 12.5).abs() < 0.1, "{}", shown(&found));
}

/// A rejection that takes as long as a success is no rejection at once, so only the response shows that the target rejects on purpose.
#[test]
fn rejections_that_ask_to_retry_later_are_on_purpose_whatever_their_status() {
    let failures = |status, headers: &[(&str, &str)]| {
        let found = findings(&failing_within(6 * MS, status, 12, headers, r#"{"detail":"Locked"}"#));
        found.into_iter().find(|finding| finding.rule == "failures").expect("failures")
    };
    for (status, headers) in [(423, [("Retry-After", "0.26")]), (503, [("Retry-After", "1")]), (403, [("X-RateLimit-Remaining", "0")])] {
        let found = failures(status, &headers);
        assert!(found.claim.contains(&format!("(status {status}): the target rejects them on purpose")), "{}", found.claim);
        let asks = |text: &str| text.starts_with("all ") && text.contains("recorded responses ask the client to retry later");
        assert!(found.evidence.iter().any(|evidence| asks(&evidence.text)), "{:?}", found.evidence);
        assert!(found.next.starts_with("Find the limit that rejects them"), "{}", found.next);
    }
    // A server that failed, requests that are left, and no header at all.
    for (status, headers) in [(502, [("Retry-After", "60")]), (403, [("X-RateLimit-Remaining", "9")]), (423, [("Server", "nginx")])] {
        let found = failures(status, &headers);
        assert!(!found.claim.contains("on purpose") && found.next.starts_with("Read the system's log"), "{} {}", found.claim, found.next);
    }
}

/// Bodies of Directus, MLflow, Spring and a custom service.
#[test]
fn the_message_of_any_body_is_quoted_in_the_claim() {
    let reason = "too many connections for role \\\"app\\\"";
    let plain = "too many connections for role \"app\"";
    for body in [
        format!(r#"{{"errors":[{{"message":"{reason}","extensions":{{"code":"INTERNAL_SERVER_ERROR"}}}}]}}"#),
        format!(r#"{{"error_code":"INTERNAL_ERROR","message":"{reason}"}}"#),
        format!(r#"{{"status":500,"error":"Internal Server Error","path":"/v1/orders","cause":{{"reason":"{reason}"}}}}"#),
        format!("\"{reason}\""),
    ] {
        let found = findings(&failing(500, 12, &[], &body));
        let first = found.iter().find(|finding| finding.rule == "failures").unwrap_or_else(|| panic!("{}", shown(&found)));
        assert!(first.claim.ends_with(&format!("(status 500: \"{plain}\")")), "{body}: {}", first.claim);
    }
    // A stack trace, a page or an identifier is no message.
    for body in [r#"{"trace":"java.lang.X: a b c\n at d.e(f.java:3)"}"#, "<html><p>Internal error</p></html>", r#"{"id":"4711"}"#] {
        let found = findings(&failing(500, 12, &[], body));
        let first = found.iter().find(|finding| finding.rule == "failures").unwrap_or_else(|| panic!("{}", shown(&found)));
        assert!(first.claim.ends_with("(status 500)"), "{body}: {}", first.claim);
    }
}

#[test]
fn connections_that_the_database_refused_are_evidence() {
    let mut run = failing(500, 12, &[], "");
    counter("mysql", "connections_refused")
        .role(Role::ConnectionsRefused)
        .each_second(&mut run, |second| if second > 12 { 3.0 } else { 0.0 });
    let found = findings(&run);
    assert!(shown(&found).contains("\"mysql\" refused ") && shown(&found).contains("it had as many as it allows"), "{}", shown(&found));
}
