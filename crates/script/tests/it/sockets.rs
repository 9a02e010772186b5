//! `user.ws` against a server that its messages control.

#![expect(clippy::result_large_err, reason = "the library's own signature")]

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use loadstone_engine::{IterationEnd, VirtualUser};
use loadstone_metrics::{Outcome, SeriesKind, SeriesSlice, Snapshot};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::running::TestWorker;

const PASSED: IterationEnd = IterationEnd::Ended(Outcome::Passed);
const FAILED: IterationEnd = IterationEnd::Ended(Outcome::Step);
const THREW: IterationEnd = IterationEnd::Threw(Outcome::Script);

/// Counts of the server.
#[derive(Default)]
struct Log {
    lines: RefCell<Vec<String>>,
    open: Cell<i32>,
    /// Sockets of `/tenth`.
    opened: Cell<u32>,
}

/// Runs a scenario of this body, whose target is the server.
fn run<T>(body: &str, act: impl AsyncFnOnce(&TestWorker, &Log) -> T) -> T {
    let text = format!(
        "import {{ test, scenario, once, param }} from \"loadstone\";\nconst s = scenario(\"S\", async (user) => {{\n{body}\n}});\n\
         export default test({{ target: param.url(\"target\"), load: s.run(once()), options: {{ requestTimeout: \"15s\" }} }});\n"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = format!("http://{}", listener.local_addr().unwrap());
        let log: Rc<Log> = Rc::default();
        tokio::task::spawn_local(serve(listener, Rc::clone(&log)));
        let worker = TestWorker::open(&text, &target, &[]);
        tokio::time::timeout(Duration::from_secs(20), worker.with(act(&worker, &log))).await.expect("the scenario should end")
    })
}

async fn serve(listener: TcpListener, log: Rc<Log>) {
    while let Ok((stream, _)) = listener.accept().await {
        let log = Rc::clone(&log);
        tokio::task::spawn_local(async move {
            let mut path = String::new();
            let accepted =
                tokio_tungstenite::accept_hdr_async(stream, |request: &Request, response| answer(request, response, &mut path)).await;
            if let Ok(socket) = accepted {
                log.open.set(log.open.get() + 1);
                attend(socket, &path, &log).await;
                log.open.set(log.open.get() - 1);
            }
        });
    }
}

fn answer(request: &Request, mut response: Response, path: &mut String) -> Result<Response, ErrorResponse> {
    request.uri().path().clone_into(path);
    if path == "/forbidden" {
        let mut refusal = ErrorResponse::new(None);
        *refusal.status_mut() = tokio_tungstenite::tungstenite::http::StatusCode::FORBIDDEN;
        refusal.headers_mut().insert("retry-after", "7".parse().unwrap());
        refusal.headers_mut().insert("content-length", "8".parse().unwrap());
        *refusal.body_mut() = Some("too many".to_owned());
        return Err(refusal);
    }
    if let Some(offered) = request.headers().get("sec-websocket-protocol").and_then(|offered| offered.to_str().ok()) {
        let last = offered.rsplit(", ").next().unwrap();
        response.headers_mut().insert("sec-websocket-protocol", last.parse().unwrap());
    }
    Ok(response)
}

/// Executes the commands that it receives, and records the messages.
async fn attend(mut socket: WebSocketStream<TcpStream>, path: &str, log: &Log) {
    if path == "/tenth" {
        let number = log.opened.replace(log.opened.get() + 1);
        if number % 10 == 9 {
            let _tap = socket.next().await;
            if number % 20 == 9 {
                let _ = socket.close(Some(CloseFrame { code: CloseCode::Error, reason: "".into() })).await;
            }
            return;
        }
    }
    if path == "/silent" {
        return std::future::pending().await;
    }
    while let Some(Ok(message)) = socket.next().await {
        let text = match message {
            Message::Text(text) => text.to_string(),
            Message::Binary(bytes) => {
                log.lines.borrow_mut().push(format!("{} bytes", bytes.len()));
                socket.send(Message::Binary(bytes)).await.unwrap();
                continue;
            }
            Message::Close(frame) => {
                let code = frame.map_or(0, |frame| u16::from(frame.code));
                log.lines.borrow_mut().push(format!("close {code}"));
                continue;
            }
            Message::Pong(_) => {
                log.lines.borrow_mut().push("pong".to_owned());
                continue;
            }
            _ => continue,
        };
        let (order, rest) = text.split_once(' ').unwrap_or((&text, ""));
        match order {
            "echo" => socket.send(Message::text(rest)).await.unwrap(),
            "late" => {
                tokio::time::sleep(Duration::from_millis(rest.parse().unwrap())).await;
                socket.send(Message::text(text)).await.unwrap();
            }
            "flood" => {
                for number in 0..rest.parse::<u32>().unwrap() {
                    socket.feed(Message::text(format!("m{number}"))).await.unwrap();
                }
                let _ = socket.flush().await;
            }
            "ping" => socket.send(Message::Ping(Vec::new().into())).await.unwrap(),
            "bye" => {
                let frame = CloseFrame { code: CloseCode::from(rest.parse::<u16>().unwrap()), reason: "requested".into() };
                let _ = socket.close(Some(frame)).await;
            }
            "drop" => return,
            _ => log.lines.borrow_mut().push(text),
        }
    }
}

fn request<'s>(snapshot: &'s Snapshot, name: &str) -> &'s SeriesSlice {
    let found = snapshot.series.iter().find(|series| series.key.kind == SeriesKind::Request && &*series.key.name == name);
    found.unwrap_or_else(|| panic!("no {name} among {:?}", snapshot.series.iter().map(|series| &series.key).collect::<Vec<_>>()))
}

fn errors(snapshot: &Snapshot) -> Vec<(&str, Outcome, &str, u64)> {
    snapshot.errors.iter().map(|error| (&*error.key.name, error.outcome, &*error.message, error.count)).collect()
}

#[test]
fn a_request_is_answered_by_the_message_that_matches() {
    let body = r#"
const socket = await user.ws("/validate/17", { protocols: ["a", "b"] });
console.log(socket.open, socket.error, socket.protocol);
await socket.send("hello");
await socket.send("echo not this one");
const tap = await user.group("Tap", () =>
  socket.request('echo tap-response\n{ "access": true, "n": [7] }', { name: "Tap", match: /^tap-response/m, within: "10s" }));
console.log(tap.ok, tap.error, tap.regex(/"access" *: *(true|false)/)[1]);
const json = await socket.request('echo {"n":[7,8]}', { match: (message) => message.text.startsWith("{") });
console.log(json.json("$.n[0]"), json.jsonAll("$.n[*]").length, json.json().n[1], json.json("$.gone", "none"));
console.log((await socket.receive({ match: "this one" })).text);
const bytes = await socket.request(new Uint8Array([1, 2, 255]), { name: "Bytes" });
console.log(bytes.bytes.join());
"#;
    run(body, async |worker, log| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["true undefined b", "true undefined true", "7 2 8 none", "not this one", "1,2,255"]);
        assert_eq!(*log.lines.borrow(), ["hello", "3 bytes", "close 1000"]);
        let snapshot = worker.drain();
        assert_eq!((request(&snapshot, "WS /validate/:id").count, &*request(&snapshot, "WS /validate/:id").statuses), (1, &[(101, 1)][..]));
        let tap = request(&snapshot, "Tap");
        assert_eq!((&*tap.key.group, tap.count, tap.failed), ("Tap", 1, 0));
        assert!(tap.bytes_sent > 30 && tap.bytes_received > 30);
        assert_eq!(request(&snapshot, "WS /validate/:id request").count, 1);
        assert_eq!(request(&snapshot, "Bytes").count, 1);
        assert_eq!(snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Request).count(), 4);
        assert_eq!(snapshot.generator[0].connections, 0);
    });
}

#[test]
fn a_late_message_is_a_timeout() {
    let body = r#"
const socket = await user.ws("/", { name: "Connect" });
const late = await socket.request("late 300", { name: "Late", match: /^late/, within: "20ms" });
console.log(late.ok, late.error, late.text === "");
try { late.regex(/x/); } catch (error) { console.log(error.message); }
const none = await socket.receive({ match: "never", within: "1ms" });
console.log(none.ok, none.error);
"#;
    run(body, async |worker, _| {
        assert_eq!(worker.iterate(0).await, FAILED);
        let expected = [
            "false no message like /^late/ came within 20ms true",
            "\"Late\" got no message (no message like /^late/ came within 20ms): /x/ has no match in it",
            "false no message with \"never\" came within 1ms",
        ];
        assert_eq!(worker.texts(), expected);
        let snapshot = worker.drain();
        let late = request(&snapshot, "Late");
        assert_eq!((late.failed, &*late.outcomes, late.censored.count()), (1, &[(Outcome::Timeout, 1)][..], 1));
        assert!(late.response.min() >= 19_900_000);
        assert_eq!(errors(&snapshot), [("Late", Outcome::Timeout, "no message like /^late/ came within 20ms", 1)]);
    });
}

#[test]
fn sockets_that_do_not_open_are_counted_by_kind() {
    let body = r#"
const forbidden = await user.ws("/forbidden", { name: "Forbidden" });
console.log(forbidden.open, forbidden.error);
console.log(forbidden.status, forbidden.headers["retry-after"], forbidden.text);
const refused = await user.ws("ws://127.0.0.1:1/", { name: "Refused" });
console.log(refused.open, refused.error);
console.log(refused.status, Object.keys(refused.headers).length, refused.text === "");
await refused.send("into the void");
console.log((await refused.request("hello?", { name: "Tap" })).error, (await refused.closed).code, await refused.ping());
for await (const _ of refused.messages()) user.fail("no message can come");
await refused.close();
"#;
    run(body, async |worker, _| {
        assert_eq!(worker.iterate(0).await, FAILED);
        let expected = [
            "false status 403 instead of a WebSocket",
            "403 7 too many",
            "false connection refused",
            "0 0 true",
            "connection refused 1006 false",
        ];
        assert_eq!(worker.texts(), expected);
        let snapshot = worker.drain();
        let forbidden = request(&snapshot, "Forbidden");
        assert_eq!((&*forbidden.outcomes, &*forbidden.statuses), (&[(Outcome::Status, 1)][..], &[(403, 1)][..]));
        assert_eq!(&*request(&snapshot, "Refused").outcomes, &[(Outcome::Refused, 1)]);
        assert_eq!(&*request(&snapshot, "Tap").outcomes, &[(Outcome::NotConnected, 1)]);
        let errors = errors(&snapshot);
        assert!(errors.contains(&("Refused", Outcome::Refused, "connection refused", 1)), "{errors:?}");
        // The message and the ping that were not sent.
        assert!(errors.contains(&("Refused", Outcome::NotConnected, "connection refused", 2)), "{errors:?}");
    });
}

#[test]
fn a_loss_is_counted_once_by_kind() {
    for (order, outcome, message, ordinary) in [
        ("bye 1011", Outcome::Closed, "the server closed the WebSocket with code 1011 (requested)", false),
        ("bye 1000", Outcome::Closed, "the server closed the WebSocket with code 1000 (requested)", true),
        ("drop", Outcome::Reset, "the server closed the connection without a close frame", false),
    ] {
        // A step waits for it.
        let body = format!(
            "const socket = await user.ws('/', {{ name: 'Connect' }});\nconst closed = socket.closed;\n\
             const tap = await socket.request('{order}', {{ name: 'Tap' }});\nconsole.log(tap.error, socket.open, (await closed).code);"
        );
        run(&body, async |worker, _| {
            assert_eq!(worker.iterate(0).await, FAILED);
            let code = order.strip_prefix("bye ").unwrap_or("1006");
            assert_eq!(worker.texts(), [format!("{message} false {code}")]);
            let snapshot = worker.drain();
            assert_eq!(&*request(&snapshot, "Tap").outcomes, &[(outcome, 1)]);
            assert_eq!(errors(&snapshot), [("Tap", outcome, message, 1)]);
        });
        // No step waits.
        let body =
            format!("const socket = await user.ws('/', {{ name: 'Connect' }});\nawait socket.send('{order}');\nawait socket.closed;");
        run(&body, async |worker, _| {
            assert_eq!(worker.iterate(0).await, if ordinary { PASSED } else { FAILED });
            let snapshot = worker.drain();
            assert_eq!(request(&snapshot, "Connect").failed, 0);
            let expected = if ordinary { vec![] } else { vec![("Connect", outcome, message, 1)] };
            assert_eq!(errors(&snapshot), expected);
        });
    }
}

#[test]
fn messages_arrive_one_after_another_until_the_end() {
    let body = r#"
const socket = await user.ws("/");
await socket.send("flood 500");
const seen = [];
for await (const message of socket.messages()) {
  seen.push(message.text);
  if (seen.length === 500) await socket.send("bye 1000");
}
console.log(seen[0], seen[499], seen.length, socket.open);
"#;
    run(body, async |worker, _| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["m0 m499 500 false"]);
    });
}

#[test]
fn messages_end_with_the_load() {
    let body = "const socket = await user.ws('/');\n\
                for await (const message of socket.messages()) console.log(message.text);\nconsole.log('over', socket.open);";
    run(body, async |worker, log| {
        worker.load_end.set(worker.clock.now() + 200_000_000);
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["over true"]);
        assert_eq!(*log.lines.borrow(), ["close 1000"]);
    });
}

#[test]
fn unread_messages_are_bounded_or_discarded() {
    let body = "const socket = await user.ws('/', { name: 'Connect' });\nawait socket.send('flood 1500');\nawait socket.closed;\nconsole.log(socket.error);";
    run(body, async |worker, _| {
        assert_eq!(worker.iterate(0).await, IterationEnd::Ended(Outcome::Script));
        assert!(worker.texts()[0].contains("receive() or messages(), or open it with `unread: \"drop\"`"));
        assert_eq!(errors(&worker.drain())[0].1, Outcome::Script);
    });
    let body = "const socket = await user.ws('/', { unread: 'drop' });\nawait socket.send('flood 1500');\n\
                console.log((await socket.request('echo last', { match: 'last' })).text, (await socket.receive({ within: '1ms' })).ok);";
    run(body, async |worker, _| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["last false"]);
    });
}

#[test]
fn pings_are_answered_in_both_directions_and_silence_is_detected() {
    let body = r#"
const socket = await user.ws("/");
await socket.send("ping");
await socket.request("echo x");
console.log(await socket.ping({ name: "Ping" }), await socket.ping());
const silent = await user.ws("/silent", { name: "Silent" });
const waiting = silent.request("anybody?", { name: "Tap" });
console.log(await silent.ping({ within: "30ms" }), silent.open, silent.error);
console.log((await waiting).error);
"#;
    run(body, async |worker, log| {
        assert_eq!(worker.iterate(0).await, FAILED);
        let lost = "no pong arrived within 30ms: the connection is lost";
        assert_eq!(worker.texts(), ["true true".to_owned(), format!("false false {lost}"), lost.to_owned()]);
        assert!(log.lines.borrow().contains(&"pong".to_owned()));
        let snapshot = worker.drain();
        assert_eq!((request(&snapshot, "Ping").count, request(&snapshot, "Ping").failed), (1, 0));
        assert_eq!(&*request(&snapshot, "Tap").outcomes, &[(Outcome::Timeout, 1)]);
        assert_eq!(errors(&snapshot).len(), 2);
    });
}

#[test]
fn kept_sockets_outlive_an_iteration_and_others_are_closed() {
    let body = r#"
const kept = (user.state.socket ??= await user.ws("/kept", { keep: true }));
const other = await user.ws("/other");
console.log((await kept.request(`echo ${user.iteration}`)).text, kept.open, other.open);
"#;
    run(body, async |worker, log| {
        let mut user = worker.user(0);
        for sequence in 0..3 {
            assert_eq!(user.iterate(worker.iteration(sequence, None)).await, PASSED);
        }
        assert_eq!(worker.texts(), ["0 true true", "1 true true", "2 true true"]);
        assert_eq!((*log.lines.borrow()).clone(), ["close 1000"; 3]);
        assert_eq!(log.open.get(), 1);
        drop(user);
        while log.open.get() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(log.lines.borrow().last().unwrap(), "close 1001");
        // Open load: every arrival is a new visitor with its own sockets.
        assert_eq!(worker.user(1).iterate(worker.iteration(3, Some(worker.clock.now()))).await, PASSED);
        assert_eq!(log.lines.borrow().iter().filter(|line| *line == "close 1000").count(), 5);
    });
}

#[test]
fn an_interruption_closes_and_counts_steps_in_progress() {
    let body = "const socket = await user.ws('/', { name: 'Connect' });\nawait socket.request('nothing', { name: 'Tap' });";
    run(body, async |worker, log| {
        let mut user = worker.user(0);
        let playing = tokio::time::timeout(Duration::from_millis(200), user.iterate(worker.iteration(0, None)));
        assert!(playing.await.is_err());
        while log.open.get() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(*log.lines.borrow(), ["nothing", "close 1001"]);
        assert_eq!(&*request(&worker.drain(), "Tap").outcomes, &[(Outcome::Interrupted, 1)]);
    });
}

#[test]
fn mistakes_are_named() {
    let body = r#"
const socket = await user.ws("/");
for (const wrong of [
  () => user.ws("/", { ...{ nme: "x" } }), () => user.ws("/", { unread: "throw" }), () => user.ws("/", { protocols: ["a b"] }), () => user.ws("ftp://h/"),
  () => socket.send({ a: 1 }), () => socket.request("x", { mtch: /x/ }), () => socket.request("x", { match: 7 }), () => socket.request("x", { within: 5 }),
  () => socket.close(1006), () => socket.close(1000, "x".repeat(124)), () => socket.ping({ match: "x" }),
]) {
  try { await wrong(); console.log("no error"); } catch (error) { console.log(error.message); }
}
await socket.request("echo x", { name: "Threw", match: () => { throw new Error("mine"); } });
"#;
    run(body, async |worker, _| {
        assert_eq!(worker.iterate(0).await, THREW);
        let expected = [
            "a WebSocket has no option `nme` (did you mean `name`?); its options are: name, headers, auth, timeout, protocols, compression, unread, \
             keep, tags, source",
            "unread: expected \"keep\" or \"drop\"",
            "protocols: \"a b\" is not the name of a sub-protocol",
            "`ftp://h/` has the scheme `ftp`; requests go to http:// or https://, sockets to ws:// or wss://",
            "expected the message as a string or bytes (Uint8Array); write objects with JSON.stringify(…)",
            "request(…) has no option `mtch` (did you mean `match`?); its options are: name, match, within, tags",
            "match: expected a string, a regular expression or a function",
            "within: \"\" is not a duration: expected a number and a unit, such as \"500ms\", \"30s\", \"1m30s\" or \"2h\"",
            "close(1006): the close code must be 1000, or from 3000 to 4999",
            "close(…): the reason must be at most 123 bytes",
            "ping(…) has no option `match`; its options are: name, within, tags",
        ];
        assert_eq!(worker.texts(), expected);
        let snapshot = worker.drain();
        assert_eq!(&*request(&snapshot, "Threw").outcomes, &[(Outcome::Script, 1)]);
        assert!(errors(&snapshot).iter().any(|(_, _, message, _)| message.contains("mine (t.load.ts:")), "{:?}", errors(&snapshot));
    });
}

#[test]
fn a_server_that_drops_every_tenth_connection_is_counted_by_kind_and_reconnected_to() {
    let body = r#"
let socket = await user.ws("/tenth", { name: "Connect" });
for (let turn = 0; turn < 2; turn++) {
  if (!socket.open) socket = await user.ws("/tenth", { name: "Connect again" });
  await socket.request("echo decision", { name: "Tap" });
}
"#;
    run(body, async |worker, _| {
        let ends = futures_util::future::join_all((0..40).map(|number| worker.iterate(number))).await;
        let snapshot = worker.drain();
        let (connect, again, tap) = (request(&snapshot, "Connect"), request(&snapshot, "Connect again"), request(&snapshot, "Tap"));
        // Of 44 connections, the server drops the 10th, 20th, 30th and 40th, in two different ways.
        assert_eq!((connect.count, connect.failed, again.count, again.failed), (40, 0, 4, 0));
        let mut outcomes = tap.outcomes.clone();
        outcomes.sort_unstable();
        assert_eq!(outcomes, [(Outcome::Passed, 76), (Outcome::Reset, 2), (Outcome::Closed, 2)]);
        assert_eq!(ends.iter().filter(|end| **end == FAILED).count(), 4);
        let mut errors = errors(&snapshot);
        errors.sort_unstable();
        assert_eq!(
            errors,
            [
                ("Tap", Outcome::Reset, "the server closed the connection without a close frame", 2),
                ("Tap", Outcome::Closed, "the server closed the WebSocket with code 1011", 2),
            ]
        );
    });
}

#[test]
fn steps_count_for_the_part_with_their_tags() {
    let body = r#"
const socket = await user.ws("/", { name: "Connect", tags: { step: "open" } });
await socket.send("echo first", { name: "Send", tags: { step: "send" } });
await socket.receive({ name: "Receive", tags: { step: "receive" } });
await socket.request("echo second", { name: "Ask", tags: { step: "request" } });
await socket.request("echo third", { name: "Ask" });
await socket.ping({ name: "Ping", tags: { step: "ping" } });
await socket.receive({ name: "Never", within: "1ms", tags: { step: "late" } });
"#;
    run(body, async |worker, _| {
        worker.iterate(0).await;
        let snapshot = worker.drain();
        assert_eq!(request(&snapshot, "Ask").count, 2, "the whole has both");
        let mut parts: Vec<(String, String, u64, u64)> = Vec::new();
        for part in &snapshot.tagged {
            parts.push((part.series.key.name.to_string(), part.tags.to_string(), part.series.count, part.series.failed));
        }
        parts.sort();
        let part = |name: &str, step: &str, failed| (name.to_owned(), format!("step={step}"), 1, failed);
        let expected = [
            part("Ask", "request", 0),
            part("Connect", "open", 0),
            part("Never", "late", 1),
            part("Ping", "ping", 0),
            part("Receive", "receive", 0),
            part("Send", "send", 0),
        ];
        assert_eq!(parts, expected);
    });
}
