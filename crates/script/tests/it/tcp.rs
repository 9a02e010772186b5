//! `user.tcp` against a server that follows the commands in the lines it reads.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use loadstone_engine::{IterationEnd, VirtualUser};
use loadstone_metrics::{Outcome, SeriesKind, SeriesSlice, Snapshot};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

use crate::running::TestWorker;

const PASSED: IterationEnd = IterationEnd::Ended(Outcome::Passed);
const FAILED: IterationEnd = IterationEnd::Ended(Outcome::Step);

/// Runs a scenario of this body, in which `at` is the server's address. The count is that of the server's open connections.
fn run<T>(body: &str, act: impl AsyncFnOnce(&TestWorker, &Cell<i32>) -> T) -> T {
    let text = format!(
        "import {{ test, scenario, once, param }} from \"loadstone\";\nconst target = param.url(\"target\");\n\
         const s = scenario(\"S\", async (user) => {{\nconst at = target.slice(7);\n{body}\n}});\n\
         export default test({{ target, load: s.run(once()), options: {{ requestTimeout: \"15s\" }} }});\n"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = format!("http://{}", listener.local_addr().unwrap());
        let open: Rc<Cell<i32>> = Rc::default();
        tokio::task::spawn_local(serve(listener, Rc::clone(&open)));
        let worker = TestWorker::open(&text, &target, &[]);
        tokio::time::timeout(Duration::from_secs(20), worker.with(act(&worker, &open))).await.expect("the scenario should end")
    })
}

fn once(body: &str) -> (IterationEnd, Vec<String>, Snapshot) {
    run(body, async |worker, _| {
        let end = worker.iterate(0).await;
        (end, worker.texts(), worker.drain())
    })
}

async fn serve(listener: TcpListener, open: Rc<Cell<i32>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let open = Rc::clone(&open);
        tokio::task::spawn_local(async move {
            open.set(open.get() + 1);
            attend(stream).await;
            open.set(open.get() - 1);
        });
    }
}

/// Answers each line as its command says.
async fn attend(stream: TcpStream) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line).await.unwrap_or(0) > 0 {
        let (order, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        match order {
            "echo" => stream.write_all(format!("{rest}\r\n").as_bytes()).await.unwrap(),
            "bytes" => stream.write_all(&[0, 255, 13, 10, 7]).await.unwrap(),
            "two" => stream.write_all(b"first\r\nsecond\r\n").await.unwrap(),
            "half" => {
                stream.write_all(b"not the wh").await.unwrap();
                return;
            }
            "bye" => {
                stream.write_all(b"good\nbye\n").await.unwrap();
                return;
            }
            "reset" => {
                stream.get_ref().set_zero_linger().unwrap();
                return;
            }
            "count" => {
                let mut body = vec![0; rest.parse().unwrap()];
                stream.read_exact(&mut body).await.unwrap();
                stream.write_all(format!("{} bytes\r\n", body.len()).as_bytes()).await.unwrap();
            }
            _ => {}
        }
        line.clear();
    }
}

fn request<'s>(snapshot: &'s Snapshot, name: &str) -> &'s SeriesSlice {
    let found = snapshot.series.iter().find(|series| series.key.kind == SeriesKind::Request && &*series.key.name == name);
    found.unwrap_or_else(|| panic!("no request {name}"))
}

#[test]
fn an_answer_ends_as_the_script_sets() {
    let (end, lines, snapshot) = once(
        r#"
        const c = await user.tcp(at, { name: "Connect" });
        await c.write("echo hel");
        await c.write("lo\n");
        const line = await c.read({ until: "\r\n", name: "Echo" });
        const bytes = await c.request("bytes\n", { length: 5, name: "Bytes" });
        const first = await c.request("two\n", { until: "\r\n", name: "First" });
        const second = await c.read({ until: new Uint8Array([13, 10]), name: "Second" });
        const large = await c.request(new TextEncoder().encode("count 300000\n" + "x".repeat(300000)), { until: "\n", name: "Large" });
        const rest = await c.request("bye\n", { toEnd: true, name: "Rest" });
        user.log(JSON.stringify([line.text, [...bytes.bytes], first.text, second.text, large.regex(/(\d+) bytes/)[1], rest.text, c.open, c.error]));
        "#,
    );
    assert_eq!(end, PASSED, "{:?}", snapshot.errors);
    assert_eq!(lines[0], r#"["hello\r\n",[0,255,13,10,7],"first\r\n","second\r\n","300000","good\nbye\n",false,null]"#);
    let connect = request(&snapshot, "Connect");
    assert_eq!((connect.count, connect.phases.connect.count(), connect.phases.wait.count()), (1, 1, 0));
    let echo = request(&snapshot, "Echo");
    assert_eq!((echo.count, echo.bytes_sent, echo.bytes_received, echo.phases.connect.count()), (1, 11, 7, 0));
    assert_eq!((echo.phases.wait.count(), snapshot.generator[0].connections_opened), (1, 1));
    assert_eq!(request(&snapshot, "Large").bytes_sent, 300_013);
}

#[test]
fn failures_are_outcomes_and_end_the_connection() {
    let (end, lines, snapshot) = once(
        r#"
        const refused = await user.tcp("127.0.0.1:1", { name: "Refused" });
        const nothing = await refused.request("echo x\n", { until: "\n", name: "Nothing" });
        const silent = await user.tcp(at, { name: "Connect" });
        const late = await silent.request("silence\n", { until: "\n", name: "Late", timeout: "20ms" });
        const half = await (await user.tcp(at, { name: "Connect" })).request("half\n", { until: "\n", name: "Half" });
        const reset = await (await user.tcp(at, { name: "Connect" })).request("reset\n", { name: "Reset" });
        user.log(JSON.stringify([refused.open, refused.error, nothing.ok, silent.open, late.error, half.error, reset.ok]));
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(
        lines[0],
        r#"[false,"connection refused",false,false,"timed out waiting for an answer","the server closed the connection in the middle of the answer",false]"#
    );
    let outcome = |name: &str| request(&snapshot, name).outcomes.clone();
    assert_eq!(outcome("Refused"), [(Outcome::Refused, 1)]);
    assert_eq!(outcome("Nothing"), [(Outcome::NotConnected, 1)]);
    assert_eq!(outcome("Late"), [(Outcome::Timeout, 1)]);
    assert_eq!(outcome("Half"), [(Outcome::Reset, 1)]);
    assert_eq!(outcome("Reset"), [(Outcome::Reset, 1)]);
    assert_eq!(outcome("Connect"), [(Outcome::Passed, 3)]);
}

#[test]
fn the_default_name_is_the_address() {
    let (_, lines, snapshot) = once(
        r#"
        const c = await user.tcp(`tcp://${at}`);
        await c.request("echo a\n", { until: "\n" });
        await c.write("echo b\n");
        await c.read();
        user.log(at);
        "#,
    );
    for name in ["", " request", " read"] {
        assert_eq!(request(&snapshot, &format!("TCP {}{name}", lines[0])).count, 1);
    }
}

#[test]
fn a_connection_ends_with_its_iteration_unless_it_is_kept() {
    run(
        r#"
        const c = user.state.connection ??= await user.tcp(at, { keep: true });
        const other = await user.tcp(at);
        for (const one of [c, other]) await one.request("echo a\n", { until: "\n" });
        "#,
        async |worker, open| {
            let mut user = worker.user(0);
            for sequence in 0..3 {
                assert_eq!(user.iterate(worker.iteration(sequence, None)).await, PASSED);
                while open.get() > 1 {
                    tokio::task::yield_now().await;
                }
                assert_eq!(open.get(), 1, "the kept connection remains open");
            }
            drop(user);
            while open.get() > 0 {
                tokio::task::yield_now().await;
            }
            assert_eq!(worker.drain().generator[0].connections_opened, 4);
        },
    );
}

#[test]
fn mistakes_are_thrown_with_a_remedy() {
    for (body, expected) in [
        (r#"await user.tcp("localhost");"#, "\"localhost\" is not a host and a port: write \"127.0.0.1:7000\""),
        (r#"await user.tcp("http://h:80");"#, "has the scheme `http`"),
        (r#"const c = await user.tcp(at); await c.read({ until: "" });"#, "until: expected the end of the answer"),
        (r#"const c = await user.tcp(at); await c.read({ until: "x", length: 3 });"#, "a read has only one end"),
        (r#"const c = await user.tcp(at); await c.read({ length: 0.5 });"#, "length: expected a whole number"),
        (r#"const c = await user.tcp(at); await c.read({ untl: "x" });"#, "did you mean `until`"),
        (r#"const c = await user.tcp(at); await c.write({});"#, "expected the data to send as a string or bytes"),
        (
            r#"const c = await user.tcp(at); const soon = { timeout: "10ms" }; await Promise.all([c.read(soon), c.read(soon)]);"#,
            "another read of this connection is in progress",
        ),
    ] {
        let (_, _, snapshot) = once(body);
        let message = snapshot.errors.first().map(|error| error.message.to_string()).unwrap_or_default();
        assert!(message.contains(expected), "{body}: {message}");
    }
}
