//! `user.redis` against a Redis server.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use loadstone_engine::{IterationEnd, VirtualUser};
use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Outcome, SeriesKind, SeriesSlice, Snapshot};

use crate::running::TestWorker;

const PASSED: IterationEnd = IterationEnd::Ended(Outcome::Passed);
const FAILED: IterationEnd = IterationEnd::Ended(Outcome::Step);

const START_LIMIT_NS: u64 = 20_000_000_000;

/// A server that ends with its test.
struct Server {
    process: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let mut tries = (0..3).filter_map(|_| Self::try_start());
        tries.next().expect("redis-server did not start: `cargo xtask setup` installs it")
    }

    /// `None`: another process has taken the port.
    fn try_start() -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is missing: `cargo xtask setup` installs it");
        let mut server = Self { process, port, _folder: folder };
        let clock = Monotonic::start();
        while clock.now() < START_LIMIT_NS && server.process.try_wait().unwrap().is_none() {
            // Another server on the same port would answer as well. Its process id distinguishes them.
            if inline_answer(port, "INFO server").contains(&format!("process_id:{}\r", server.process.id())) {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The answer of a server to an inline command.
fn inline_answer(port: u16, command: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return String::new() };
    let mut text = String::new();
    let _ = stream.write_all(format!("{command}\r\nQUIT\r\n").as_bytes());
    let _ = stream.read_to_string(&mut text);
    text
}

/// Runs a scenario of this body, in which `url` ends after the port.
fn run<T>(server: &Server, body: &str, act: impl AsyncFnOnce(&TestWorker) -> T) -> T {
    let text = format!(
        "import {{ test, scenario, once, param }} from \"loadstone\";\nconst target = param.url(\"target\");\n\
         const s = scenario(\"S\", async (user) => {{\nconst url = `redis://${{target.slice(7)}}`;\n{body}\n}});\n\
         export default test({{ target, load: s.run(once()), options: {{ requestTimeout: \"15s\" }} }});\n"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let worker = TestWorker::open(&text, &format!("http://127.0.0.1:{}", server.port), &[]);
        tokio::time::timeout(Duration::from_secs(20), worker.with(act(&worker))).await.expect("the scenario should end")
    })
}

fn once(body: &str) -> (IterationEnd, Vec<String>, Snapshot) {
    run(&Server::start(), body, async |worker| {
        let end = worker.iterate(0).await;
        (end, worker.texts(), worker.drain())
    })
}

fn request<'s>(snapshot: &'s Snapshot, name: &str) -> &'s SeriesSlice {
    let found = snapshot.series.iter().find(|series| series.key.kind == SeriesKind::Request && &*series.key.name == name);
    found.unwrap_or_else(|| panic!("no request {name}"))
}

#[test]
fn replies_have_the_types_of_the_server() {
    let (end, lines, snapshot) = once(
        r#"
        const r = user.redis(url);
        const of = async (...command) => (await r.command(...command)).value;
        user.log(JSON.stringify([
          await of("set", "k", "grün"), await of("GET", "k"), await of("GET", "none"), await of("INCRBY", "n", 41), await of("INCR", "n"),
          await of("RPUSH", "l", "a", 2, new Uint8Array([98])), await of("LRANGE", "l", 0, -1), await of("SET", "big", "9007199254740992"),
          await of("INCR", "big"), await of("HSET", "h", "f", "v"), await of("HGETALL", "h"),
        ]));
        await r.command("SET", "raw", new Uint8Array([0, 255, 13, 10]));
        const raw = await r.command("GET", "raw", { bytes: true, name: "Raw" });
        user.log(JSON.stringify([[...raw.value], raw.ok, raw.error, raw.times.total > 0]));
        const three = user.redis(url, { protocol: 3 });
        const map = await three.command("HGETALL", "h");
        const score = await three.command("ZADD", "z", "INCR", 1.5, "m");
        user.log(JSON.stringify([map.value, score.value, (await three.command("SMEMBERS", "none")).value, (await three.command("GET", "none")).value]));
        "#,
    );
    assert_eq!(end, PASSED, "{:?}", snapshot.errors);
    assert_eq!(lines[0], r#"["OK","grün",null,41,42,3,["a","2","b"],"OK","9007199254740993",1,["f","v"]]"#);
    assert_eq!(lines[1], "[[0,255,13,10],true,null,true]");
    assert_eq!(lines[2], r#"[{"f":"v"},1.5,[],null]"#);
    // One connection for RESP2 and one for RESP3. The first command of each opens the connection.
    assert_eq!(snapshot.generator[0].connections_opened, 2);
    assert_eq!((request(&snapshot, "SET").count, request(&snapshot, "SET").phases.connect.count()), (3, 1));
    // Lengths on the wire: `*2 GET k` has 20 bytes, `$5 grün` 11.
    let get = request(&snapshot, "GET");
    assert_eq!((get.count, get.bytes_sent, get.bytes_received), (3, 20 + 23 + 23, 11 + 5 + 3));
    assert_eq!((get.phases.wait.count(), request(&snapshot, "Raw").outcomes.as_slice()), (3, &[(Outcome::Passed, 1)][..]));
}

#[test]
fn an_error_fails_the_command_but_not_the_connection() {
    let (end, lines, snapshot) = once(
        r#"
        const r = user.redis(url);
        await r.command("SET", "k", "text");
        const wrong = await r.command("LPUSH", "k", "x");
        const after = await r.command("GET", "k");
        user.log(JSON.stringify([wrong.ok, wrong.value === undefined, wrong.error, after.value]));
        const both = await r.pipeline([["GET", "k"], ["INCR", "k"], ["GET", "k"]], { name: "Both" });
        user.log(JSON.stringify([both.ok, both.value, both.error]));
        await r.command("MULTI");
        await r.command("INCR", "k");
        const done = await r.command("EXEC");
        user.log(JSON.stringify([done.ok, done.value]));
        "#,
    );
    assert_eq!(end, FAILED);
    let wrong = "WRONGTYPE Operation against a key holding the wrong kind of value";
    assert_eq!(lines[0], format!(r#"[false,true,"{wrong}","text"]"#));
    let no_integer = "ERR value is not an integer or out of range";
    assert_eq!(lines[1], format!(r#"[false,["text",{{"error":"{no_integer}"}},"text"],"{no_integer}"]"#));
    assert_eq!(lines[2], format!(r#"[false,[{{"error":"{no_integer}"}}]]"#));
    assert_eq!(snapshot.generator[0].connections_opened, 1);
    assert_eq!(request(&snapshot, "LPUSH").outcomes, [(Outcome::Status, 1)]);
    let error = snapshot.errors.iter().find(|error| &*error.message == "error WRONGTYPE").expect("the code is the message");
    assert_eq!(error.samples[0].body, wrong);
    assert_eq!(request(&snapshot, "Both").outcomes, [(Outcome::Status, 1)]);
}

#[test]
fn concurrent_commands_share_one_connection_in_order() {
    let (end, lines, snapshot) = once(
        r#"
        const commands = Array.from({ length: 50 }, (_, i) => user.redis(url).command("RPUSH", "l", i, { name: "Push" }));
        const lengths = (await Promise.all(commands)).map((reply) => reply.value);
        const large = "x".repeat(3_000_000);
        const r = user.redis(url);
        const sizes = await r.pipeline([["SET", "large", large], ["GET", "large"], ["LRANGE", "l", 0, -1]]);
        user.log(JSON.stringify([lengths.every((length, i) => length === i + 1), sizes.value[1] === large, sizes.value[2].length]));
        "#,
    );
    assert_eq!(end, PASSED, "{:?}", snapshot.errors);
    assert_eq!(lines[0], "[true,true,50]");
    let push = request(&snapshot, "Push");
    assert_eq!((push.count, push.phases.connect.count(), push.phases.queue.count()), (50, 1, 49));
    assert_eq!((request(&snapshot, "pipeline").count, snapshot.generator[0].connections_opened), (1, 1));
}

#[test]
fn the_url_sets_the_user_and_the_database() {
    let (end, lines, snapshot) = once(
        r#"
        const open = user.redis(`${url}/0`);
        await open.command("ACL", "SETUSER", "app", "on", ">p@ss", "~*", "+@all");
        await open.command("CONFIG", "SET", "requirepass", "hidden-word");
        const [, at] = url.split("//");
        const whoami = async (url, options) => (await user.redis(url, options).command("ACL", "WHOAMI")).value;
        user.log(JSON.stringify([
          await whoami(`redis://app:p%40ss@${at}`), await whoami(`redis://:hidden-word@${at}`), await whoami(`redis://app:p%40ss@${at}/2`, { protocol: 3 }),
        ]));
        const second = user.redis(`redis://:hidden-word@${at}/2`);
        await second.command("SET", "only", "here");
        user.log(JSON.stringify([(await second.command("DBSIZE")).value, (await user.redis(`redis://:hidden-word@${at}`).command("DBSIZE")).value]));
        for (const protocol of [2, 3]) {
          const denied = await user.redis(`redis://:wrong-word@${at}/1`, { protocol }).command("GET", "k", { name: `Denied ${protocol}` });
          const nowhere = await user.redis(`redis://:hidden-word@${at}/99`, { protocol }).command("GET", "k", { name: `Nowhere ${protocol}` });
          user.log(JSON.stringify([denied.ok, denied.error.includes("WRONGPASS"), nowhere.ok, nowhere.error]));
        }
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines[..2], [r#"["app","default","app"]"#, "[1,0]"]);
    let expected = r#"[false,true,false,"the server refused the connection: ERR DB index is out of range"]"#;
    assert_eq!(lines[2..], [expected, expected]);
    for name in ["Denied 2", "Denied 3", "Nowhere 2", "Nowhere 3"] {
        assert_eq!(request(&snapshot, name).outcomes, [(Outcome::Status, 1)]);
    }
}

#[test]
fn a_connection_is_open_while_the_user_keeps_connections() {
    let server = Server::start();
    run(&server, r#"await user.redis(url).command("PING");"#, async |worker| {
        let mut user = worker.user(0);
        for sequence in 0..3 {
            assert_eq!(user.iterate(worker.iteration(sequence, None)).await, PASSED);
        }
        assert_eq!(worker.drain().generator[0].connections_opened, 1);
        // The server closes its connections. The next command connects again, since no part of it had been sent.
        assert!(inline_answer(server.port, "CLIENT KILL TYPE normal SKIPME yes").starts_with(":1"));
        while user.iterate(worker.iteration(3, None)).await != PASSED {}
        assert_eq!(worker.drain().generator[0].connections_opened, 1);
        // In open load every arrival is a new visitor. Its connection stays open as with HTTP.
        assert_eq!(user.iterate(worker.iteration(4, Some(worker.clock.now()))).await, PASSED);
        drop(user);
        assert_eq!(worker.drain().generator[0].connections, 0);
    });
}

#[test]
fn a_wrong_or_silent_server_is_reported() {
    let (end, lines, snapshot) = once(
        r#"
        const refused = await user.redis("redis://127.0.0.1:1").command("GET", "k", { name: "Refused" });
        const r = user.redis(url);
        const late = await r.command("BLPOP", "none", 0, { name: "Late", timeout: "20ms" });
        const after = await r.command("PING");
        user.log(JSON.stringify([refused.ok, refused.value, refused.error, late.error, after.value]));
        "#,
    );
    assert_eq!(end, FAILED);
    assert_eq!(lines[0], r#"[false,null,"connection refused","timed out waiting for an answer","PONG"]"#);
    assert_eq!(request(&snapshot, "Refused").outcomes, [(Outcome::Refused, 1)]);
    assert_eq!(request(&snapshot, "Late").outcomes, [(Outcome::Timeout, 1)]);
}

#[test]
fn mistakes_are_thrown_with_a_remedy() {
    let server = Server::start();
    for (body, expected) in [
        (r#"user.redis(String("127.0.0.1:6379"));"#, "write it as redis://127.0.0.1:6379/0"),
        (r#"user.redis(url, { protocol: 4 });"#, "protocol: expected 2 or 3"),
        (r#"await user.redis(url).command();"#, "a command begins with its name"),
        (
            r#"await user.redis(url).command("SET", "k", ["a"]);"#,
            "arguments of a command are strings, numbers or bytes (Uint8Array), not array",
        ),
        (r#"await user.redis(url).command("SET", "k", "v", { nmae: "x" });"#, "did you mean `name`"),
        (r#"await user.redis(url).pipeline(["GET", "k"]);"#, "a pipeline is a list of commands"),
        (r#"await user.redis(url).pipeline([]);"#, "a pipeline is a list of commands"),
    ] {
        let errors = run(&server, body, async |worker| {
            worker.iterate(0).await;
            worker.drain().errors.first().map(|error| error.message.to_string()).unwrap_or_default()
        });
        assert!(errors.contains(expected), "{body}: {errors}");
    }
}
