//! Malformed responses, and connections that end early or unexpectedly.

use std::net::TcpListener;
use std::time::Duration;

use crate::harness::raw::{Raw, Step, send};
use crate::harness::{Ended, once, once_with};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Sends one GET to a server with these steps. Fails the test unless it ended with this outcome.
#[track_caller]
fn ends_as(outcome: &str, steps: Vec<Step>) -> Ended {
    let raw = Raw::answering(steps);
    let ended = once_with(&raw.address, r#"options: { requestTimeout: "3s" },"#, r#"await user.get("/");"#);
    assert_eq!(ended.outcomes(outcome), 1, "{}", ended.everything());
    assert_eq!(ended.summary()["totals"]["requests"], 1, "{}", ended.everything());
    ended
}

#[test]
fn an_early_end_is_a_reset_wherever_it_comes() {
    ends_as("reset", vec![Step::Close]);
    ends_as("reset", vec![send("HTTP/1.1 200 OK\r\nContent-Le"), Step::Close]);
    ends_as("reset", vec![send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive!"), Step::Close]);
    ends_as("reset", vec![send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfive!\r\n"), Step::Close]);
    ends_as("reset", vec![send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive!"), Step::Reset]);
}

#[test]
fn an_early_end_still_reached_the_target() {
    ends_as("reset", vec![Step::Close]).fails_a_threshold();
}

#[test]
fn malformed_responses_are_distinguished() {
    for broken in [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 abc OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\nnot gzip",
    ] {
        let ended = ends_as("protocol", vec![send(broken)]);
        assert!(!ended.errors().is_empty(), "{broken}");
    }
}

#[test]
fn a_slow_answer_times_out_at_its_limit() {
    for steps in [
        vec![Step::Wait(Duration::from_secs(30))],
        vec![send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"), Step::Wait(Duration::from_secs(30))],
    ] {
        let ended = ends_as("timeout", steps);
        let longest = ended.summary()["requests"][0]["response"]["max"].as_f64().unwrap();
        assert!((3.0..10.0).contains(&longest), "took {longest} s\n{}", ended.everything());
    }
}

#[test]
fn a_request_may_have_its_own_limit() {
    let raw = Raw::answering(vec![Step::Wait(Duration::from_secs(30))]);
    let ended =
        once(&raw.address, r#"const r = await user.get("/", { timeout: "200ms" }); user.check("no answer", r.status === 0 && !r.ok);"#);
    assert_eq!(ended.outcomes("timeout"), 1, "{}", ended.everything());
}

#[test]
fn a_body_without_a_length_ends_with_the_connection() {
    let raw = Raw::answering(vec![send("HTTP/1.1 200 OK\r\n\r\nall there is"), Step::Close]);
    once(&raw.address, r#"user.check("text", (await user.get("/")).text === "all there is");"#).all_checks_held();
}

#[test]
fn an_answer_in_single_bytes_is_put_together() {
    let steps = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello".bytes().map(|byte| Step::Send(vec![byte])).collect();
    let raw = Raw::answering(steps);
    once(&raw.address, r#"const r = await user.get("/"); user.check("whole", r.text === "hello" && r.header("x-a") === "b");"#)
        .all_checks_held();
}

#[test]
fn interim_answers_are_passed_over() {
    let raw = Raw::answering(vec![send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), send(OK)]);
    once(&raw.address, r#"const r = await user.get("/"); user.check("the real one", r.status === 200 && r.text === "ok");"#)
        .all_checks_held();
}

#[test]
fn large_headers_pass_and_huge_ones_fail() {
    let answer = |size: usize| format!("HTTP/1.1 200 OK\r\nX-Large: {}\r\nContent-Length: 2\r\n\r\nok", "a".repeat(size));
    let raw = Raw::answering(vec![send(answer(30_000))]);
    once(&raw.address, r#"user.check("large", (await user.get("/")).header("x-large").length === 30000);"#).all_checks_held();
    ends_as("protocol", vec![send(answer(20_000_000))]);
}

#[test]
fn a_body_beyond_the_limit_fails_and_is_not_kept() {
    let raw = Raw::answering(vec![send(format!("HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n{}", "b".repeat(50_000)))]);
    let ended = once_with(&raw.address, "options: { bodyBytesMax: 10000 },", r#"await user.get("/");"#);
    assert_eq!(ended.outcomes("protocol"), 1, "{}", ended.everything());
}

#[test]
fn connections_are_kept_unless_the_server_closes_them() {
    let kept = Raw::answering(vec![send(OK)]);
    once(&kept.address, r#"for (let n = 0; n < 5; n++) await user.get("/"); user.check("done", true);"#).all_checks_held();
    assert_eq!(kept.connections(), 1);

    let closing = Raw::answering(vec![send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"), Step::Close]);
    once(&closing.address, r#"for (let n = 0; n < 5; n++) await user.get("/"); user.check("done", true);"#).all_checks_held();
    assert_eq!(closing.connections(), 5);
}

#[test]
fn a_kept_connection_that_the_server_dropped_is_not_the_targets_failure() {
    // The server sends one response, then closes without announcing it. The next request must be retried.
    let raw = Raw::answering(vec![send(OK), Step::Close]);
    let body = r#"for (let n = 0; n < 3; n++) { await user.get("/"); await user.pause("100ms"); } user.check("done", true);"#;
    once(&raw.address, body).all_checks_held();
    assert_eq!(raw.connections(), 3);
}

#[test]
fn keep_alive_can_be_switched_off() {
    let raw = Raw::answering(vec![send(OK)]);
    let body = r#"for (let n = 0; n < 3; n++) await user.get("/"); user.check("done", true);"#;
    once_with(&raw.address, "options: { keepAlive: false, retryIdleClose: false },", body).all_checks_held();
    assert_eq!(raw.connections(), 3);
}

#[test]
fn a_server_that_never_accepts_times_out() {
    // The kernel completes the handshake, but nothing ever reads.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let ended = once_with(&address, r#"options: { requestTimeout: "1s" },"#, r#"await user.get("/");"#);
    assert_eq!(ended.outcomes("timeout"), 1, "{}", ended.everything());
}
