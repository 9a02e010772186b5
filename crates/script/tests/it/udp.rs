//! `user.udp` against a server that follows the commands in datagrams.

use std::time::Duration;

use loadstone_engine::{IterationEnd, VirtualUser};
use loadstone_metrics::{Outcome, SeriesKind, SeriesSlice, Snapshot};
use tokio::net::UdpSocket;
use tokio::task::LocalSet;

use crate::running::TestWorker;

const PASSED: IterationEnd = IterationEnd::Ended(Outcome::Passed);
const FAILED: IterationEnd = IterationEnd::Ended(Outcome::Step);

/// Runs a scenario of this body, in which `at` is the server's address.
fn run<T>(body: &str, act: impl AsyncFnOnce(&TestWorker) -> T) -> T {
    let text = format!(
        "import {{ test, scenario, once, param }} from \"loadstone\";\nconst target = param.url(\"target\");\n\
         const s = scenario(\"S\", async (user) => {{\nconst at = target.slice(7);\n{body}\n}});\n\
         export default test({{ target, load: s.run(once()), options: {{ requestTimeout: \"15s\" }} }});\n"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let target = format!("http://{}", socket.local_addr().unwrap());
        tokio::task::spawn_local(attend(socket));
        let worker = TestWorker::open(&text, &target, &[]);
        tokio::time::timeout(Duration::from_secs(20), worker.with(act(&worker))).await.expect("the scenario should end")
    })
}

fn once(body: &str) -> (IterationEnd, Vec<String>, Snapshot) {
    run(body, async |worker| {
        let end = worker.iterate(0).await;
        (end, worker.texts(), worker.drain())
    })
}

/// Answers each datagram as its command says.
async fn attend(socket: UdpSocket) {
    let mut room = vec![0; 65536];
    let mut waiting = Vec::new();
    while let Ok((count, from)) = socket.recv_from(&mut room).await {
        let text = String::from_utf8_lossy(&room[..count]).into_owned();
        let (order, rest) = text.split_once(' ').unwrap_or((&text, ""));
        match order {
            "echo" => drop(socket.send_to(rest.as_bytes(), from).await),
            "bytes" => drop(socket.send_to(&[0, 255, 13, 10, 7], from).await),
            // Answers the datagrams that waited for this one.
            "hold" => waiting.push(rest.to_owned()),
            "release" => {
                for answer in std::iter::once(rest.to_owned()).chain(waiting.drain(..)) {
                    let _ = socket.send_to(answer.as_bytes(), from).await;
                }
            }
            "count" => drop(socket.send_to(format!("{} bytes", rest.len()).as_bytes(), from).await),
            _ => {}
        }
    }
}

fn request<'s>(snapshot: &'s Snapshot, name: &str) -> &'s SeriesSlice {
    let found = snapshot.series.iter().find(|series| series.key.kind == SeriesKind::Request && &*series.key.name == name);
    found.unwrap_or_else(|| panic!("no request {name}"))
}

#[test]
fn answers_are_timed_and_belong_to_the_matching_request() {
    let (end, lines, snapshot) = once(
        r#"
        const socket = await user.udp(at, { name: "Meter" });
        const hello = await socket.request("echo hello", { name: "Echo" });
        const bytes = await socket.request(new TextEncoder().encode("bytes"), { name: "Bytes", within: "5s" });
        const large = await socket.request("count " + "x".repeat(60_000), { name: "Large" });
        await socket.send("hold 1:first", { name: "Hold" });
        const [second, first] = await Promise.all([
          socket.request("release 2:second", { name: "Ask", match: /^2:/ }),
          socket.receive({ name: "First", match: "1:" }),
        ]);
        user.log(JSON.stringify([hello.text, [...bytes.bytes], large.regex(/(\d+) bytes/)[1], second.text, first.text, socket.received, socket.open]));
        await socket.send("echo more");
        for await (const message of socket.messages()) { user.log(message.text); break; }
        const unnamed = await socket.request("echo x");
        socket.close();
        const late = await socket.request("echo y", { name: "Late" });
        user.log(JSON.stringify([unnamed.text, socket.open, socket.error, late.ok, late.error]));
        "#,
    );
    assert_eq!(end, FAILED, "{:?}", snapshot.errors);
    assert_eq!(lines[0], r#"["hello",[0,255,13,10,7],"60000","2:second","1:first",5,true]"#);
    assert_eq!(lines[1], "more");
    assert_eq!(lines[2], r#"["x",false,null,false,"the script closed the UDP socket"]"#);
    let echo = request(&snapshot, "Echo");
    assert_eq!((echo.count, echo.bytes_sent, echo.bytes_received, echo.phases.wait.count()), (1, 10, 5, 1));
    assert_eq!((request(&snapshot, "Hold").count, request(&snapshot, "Meter request").count), (1, 1));
    assert_eq!(request(&snapshot, "Late").outcomes.as_slice(), [(Outcome::NotConnected, 1)]);
    // Opening a socket is not a request.
    assert!(snapshot.series.iter().all(|series| &*series.key.name != "Meter" || series.count == 0));
}

#[test]
fn a_lost_datagram_ends_with_its_time_limit_and_a_late_one_answers_nothing() {
    let (end, lines, snapshot) = once(
        r#"
        const socket = await user.udp(`udp://${at}`, { unread: "drop" });
        const lost = await socket.request("hold late", { name: "Lost", within: "30ms" });
        await socket.send("release later");
        await user.pause("50ms");
        const next = await socket.request("echo next", { name: "Next", within: "5s" });
        user.log(JSON.stringify([lost.ok, lost.error, next.text, socket.open, socket.received]));
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines, [r#"[false,"no message came within 30ms","next",true,3]"#], "{:?}", snapshot.errors);
    assert_eq!(request(&snapshot, "Lost").outcomes.as_slice(), [(Outcome::Timeout, 1)]);
    assert_eq!(request(&snapshot, "Next").outcomes.as_slice(), [(Outcome::Passed, 1)]);
}

#[test]
fn closed_ports_unknown_names_and_mistakes_are_errors() {
    let (end, lines, snapshot) = once(
        r#"
        const nobody = await user.udp("127.0.0.1:1");
        const refused = await nobody.request("x", { name: "Refused" });
        const nowhere = await user.udp("does-not-exist.invalid:7", { name: "Nowhere" });
        user.log(JSON.stringify([refused.error, nobody.open, nowhere.open, typeof nowhere.error]));
        const errors = [];
        for (const [address, options] of [["127.0.0.1"], ["tls://127.0.0.1:1"], [at, { tls: true }]]) {
          try { await user.udp(address, options); } catch (error) { errors.push(error.message); }
        }
        const socket = await user.udp(at);
        try { await socket.send({ a: 1 }); } catch (error) { errors.push(error.message); }
        user.log(errors.join("\n"));
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines[0], r#"["no process listens at the address (ICMP: port unreachable)",false,false,"string"]"#);
    assert_eq!(request(&snapshot, "Refused").outcomes.as_slice(), [(Outcome::Refused, 1)]);
    assert!(snapshot.errors.iter().any(|error| error.outcome == Outcome::Dns), "{:?}", snapshot.errors);
    for expected in ["write \"127.0.0.1:7000\"", "has the scheme `tls`", "has no option `tls`", "write objects with JSON.stringify"] {
        assert!(lines[1].contains(expected), "{expected}: {}", lines[1]);
    }
}

#[test]
fn a_socket_closes_with_its_iteration_unless_it_is_kept() {
    let body = r#"
        const socket = user.state.socket ??= await user.udp(at, { keep: true });
        const other = await user.udp(at);
        user.state.others = [...user.state.others ?? [], other];
        user.log(JSON.stringify([(await socket.request("echo x")).text, user.state.others.map((other) => other.open)]));
    "#;
    run(body, async |worker| {
        let mut user = worker.user(0);
        for sequence in 0..2 {
            assert_eq!(user.iterate(worker.iteration(sequence, None)).await, PASSED);
        }
        assert_eq!(worker.texts(), [r#"["x",[true]]"#, r#"["x",[false,true]]"#]);
    });
}
