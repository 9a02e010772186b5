//! One exchange as `try` shows it.

use loadstone_metrics::{Outcome, Phases};
use loadstone_report::terminal::Style;
use loadstone_report::{ExchangeView, ExpectationView, ResponseView, exchange};

use crate::fixtures::MS;

fn view() -> ExchangeView {
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    ExchangeView {
        scenario: "Buy a ticket".to_owned(),
        name: "Create ticket".to_owned(),
        method: "POST".to_owned(),
        url: "http://ann:pw1@127.0.0.1:8080/v1/tickets/create?channel=123&api_key=k1".to_owned(),
        request_headers: vec![
            header("content-type", "application/json"),
            header("authorization", "Bearer t1"),
            header("cookie", "session=s1"),
        ],
        request_body: br#"{"product":"OneHour","password":"p1"}"#.to_vec(),
        response: Some(ResponseView {
            status: 200,
            headers: vec![header("content-type", "application/json; charset=utf-8"), header("set-cookie", "session=s2; HttpOnly")],
            body: br#"{"ticketId":"abc123","valid":true,"stops":[1,2]}"#.to_vec(),
            bytes_received: 1204,
        }),
        outcome: Outcome::Passed,
        problem: String::new(),
        expectations: Vec::new(),
        response_ns: 12 * MS + 345_678,
        phases: Phases { connect: MS, wait: 11 * MS, body: 234_567, ..Phases::default() },
        connected: true,
    }
}

#[test]
fn an_exchange_is_shown_completely_and_without_its_secrets() {
    let text = exchange(&view(), &Style::plain(80));
    for secret in ["pw1", "k1", "t1", "s1", "s2", "p1"] {
        assert!(!text.contains(secret), "{secret} is shown in\n{text}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn every_expectation_is_shown_with_what_was_found() {
    let expectation = |wanted: &str, found: &str, holds| ExpectationView { wanted: wanted.to_owned(), found: found.to_owned(), holds };
    let view = ExchangeView {
        outcome: Outcome::Expect,
        problem: "$.valid is true, expected false".to_owned(),
        expectations: vec![expectation("status 200", "200", true), expectation("$.valid: false", "true", false)],
        ..view()
    };
    let text = exchange(&view, &Style::plain(80));
    assert!(text.contains("  ✓ expected status 200, found 200\n  ✗ expected $.valid: false, found true\n"), "{text}");
    assert!(!text.contains(&view.problem), "shown once\n{text}");
}

#[test]
fn a_refused_connection_has_no_answer() {
    let view = ExchangeView {
        response: None,
        outcome: Outcome::Refused,
        problem: "nothing listens there; is the target running?".to_owned(),
        request_body: Vec::new(),
        phases: Phases::default(),
        ..view()
    };
    insta::assert_snapshot!(exchange(&view, &Style::plain(60)));
}

fn with_answer(kind: &str, body: &[u8]) -> String {
    let mut view = view();
    let answer = view.response.as_mut().expect("the fixture has an answer");
    answer.headers = vec![("Content-Type".to_owned(), kind.to_owned())];
    answer.body = body.to_vec();
    exchange(&view, &Style::plain(80))
}

#[test]
fn long_and_binary_bodies_are_cut() {
    let long: Vec<u32> = (0..5000).collect();
    let text = with_answer("application/json", serde_json::to_string(&long).unwrap().as_bytes());
    assert!(text.contains("… 4,962 lines more (23.9 kB in all)"), "{text}");
    let text = with_answer("image/png", b"\x89PNG\r\n\x1a\n\0\0\0");
    assert!(text.contains("(11 B of binary data)"), "{text}");
    let text = with_answer("text/html", format!("<p>{}</p>", "x".repeat(10_000)).as_bytes());
    assert!(text.lines().all(|line| line.chars().count() < 410), "{text}");
    let text = with_answer("text/plain", b"caf\xe9 \x1b[2J");
    assert!(text.contains("caf\u{fffd}  [2J") && !text.contains('\x1b'), "{text}");
    let text = with_answer("application/json", b"{not json");
    assert!(text.contains("  {not json\n"), "{text}");
}
