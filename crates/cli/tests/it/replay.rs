//! Replay: what a server receives, and when, next to the record.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use loadstone_stub::{Behaviour, Server, StubRequest, StubResponse};
use serde_json::Value;

use crate::harness::{Ended, Folder, fairly};

/// 2026-11-28T17:00:00Z, in seconds.
const BEGIN: u64 = 1_795_885_200;

/// A server that records all requests.
struct RecordingServer {
    server: Server,
    received: Arc<Mutex<Vec<StubRequest>>>,
}

impl RecordingServer {
    fn start() -> Self {
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        let behaviour = Behaviour::function(move |request| {
            log.lock().expect("no panic in between").push(request.clone());
            StubResponse::new(200, "ok")
        });
        Self { server: Server::builder().route("* /*", behaviour).start().expect("a server"), received }
    }

    /// What was received since the last call, in order.
    fn take(&self) -> Vec<StubRequest> {
        let mut received = std::mem::take(&mut *self.received.lock().expect("no panic in between"));
        received.sort_by_key(|request| request.arrived_ns);
        received
    }

    fn test(&self, file: &str, options: &str) -> String {
        format!(
            r#"import {{ arrivals, scenario, test }} from "loadstone";
const visit = scenario("Visit", async (user) => {{ await user.replay(); }});
export default test({{ target: "{}", load: visit.run(arrivals.replay("{file}", {options})) }});
"#,
            self.server.url("")
        )
    }
}

fn lines(requests: &[StubRequest]) -> Vec<String> {
    let query = |request: &StubRequest| if request.query.is_empty() { String::new() } else { format!("?{}", request.query) };
    requests.iter().map(|request| format!("{} {}{}", request.method, request.path, query(request))).collect()
}

fn plan_of(folder: &Folder, more: &[&str]) -> Value {
    let ended = folder.run(&[&["inspect", "replay.load.ts"] as &[&str], more].concat()).code(0);
    let plan: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    plan["load"]["run"]["profile"]["open"]["stages"][0]["replay"].clone()
}

/// Irregular instants within four seconds. Milliseconds.
fn instants() -> Vec<u64> {
    (0..80u64).map(|k| (k * k * 7919) % 97 + k * 50).collect()
}

#[test]
fn a_server_receives_the_recorded_requests_at_the_recorded_instants() {
    let server = RecordingServer::start();
    let format = r#"$msec $request_time "$request" $status "$http_accept_language""#;
    let mut record: Vec<(u64, String)> =
        instants().into_iter().enumerate().map(|(k, ms)| (ms, format!("GET /p/{k}?n={}", k * 3))).collect();
    // The log has the order in which requests ended: later ones were faster.
    let mut by_end: Vec<(u64, u64, &str)> = record.iter().map(|(ms, line)| (*ms, (*ms * 31) % 700, line.as_str())).collect();
    by_end.sort_by_key(|(begin, duration, _)| begin + duration);
    let log = by_end.iter().fold(String::new(), |mut log, (begin, duration, line)| {
        let (end, seconds) = (BEGIN * 1000 + begin + duration, *duration as f64 / 1000.0);
        let _ok = writeln!(log, "{}.{:03} {seconds:.3} \"{line} HTTP/1.1\" 200 \"de\"", end / 1000, end % 1000);
        log
    });
    record.sort();
    for speed in [1.0, 2.0] {
        let test = server.test("access.log", &format!("{{ format: '{format}', speed: {speed} }}"));
        let folder = Folder::new().file("access.log", &log).file("replay.load.ts", &test);
        fairly(|| {
            server.take();
            folder.run(&["run", "replay.load.ts"])
        })
        .passes();
        let received = server.take();
        assert_eq!(received.len(), record.len());
        // Requests of the same instant may arrive in any order.
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            lines
        };
        assert_eq!(sorted(lines(&received)), sorted(record.iter().map(|(_, line)| line.clone()).collect()));
        assert!(received.iter().all(|request| request.header("accept-language") == Some("de")));
        let due_ms = |line: &String| record.iter().find(|(_, known)| known == line).map_or(f64::NAN, |(ms, _)| *ms as f64 / speed);
        let received_lines = lines(&received);
        let arrivals = received_lines.iter().zip(&received);
        let mut late: Vec<f64> = arrivals.map(|(line, request)| request.arrived_ns as f64 / 1e6 - due_ms(line)).collect();
        late.sort_by(f64::total_cmp);
        // The fastest request was on time, give or take a round trip. The others must have had the same distance to their instants.
        let typical = late[late.len() / 2] - late[0];
        assert!(typical < 30.0, "at speed {speed}, half of the requests were more than {typical} ms off: {late:?}");
    }
}

#[test]
fn writes_need_the_flag_and_credentials_are_never_sent() {
    let server = RecordingServer::start();
    let har = serde_json::json!({ "log": { "entries": [
        { "startedDateTime": "2026-11-28T17:00:00.000Z", "request": { "method": "GET", "url": "https://shop.example/a?b=c", "headers": [
            { "name": "Authorization", "value": "Bearer s3cret" }, { "name": "Cookie", "value": "id=s3cret" },
            { "name": "X-Api-Key", "value": "s3cret" }, { "name": "X-Tenant", "value": "blue" }, { "name": "Host", "value": "shop.example" } ] } },
        { "startedDateTime": "2026-11-28T17:00:00.200Z", "request": { "method": "POST", "url": "https://shop.example/buy",
            "headers": [{ "name": "Content-Type", "value": "application/json" }, { "name": "Content-Length", "value": "99" }],
            "postData": { "text": "{\"id\":\"ä\"}" } } } ] } });
    let folder = Folder::new().file("shop.har", &har.to_string()).file("replay.load.ts", &server.test("shop.har", "{}"));
    let plan = plan_of(&folder, &[]);
    assert_eq!((&plan["count"], &plan["writes_left_out"]), (&1.into(), &1.into()), "{plan}");
    folder.run(&["run", "replay.load.ts"]).code(0);
    let received = server.take();
    assert_eq!(lines(&received), ["GET /a?b=c"]);
    assert_eq!(received[0].header("x-tenant"), Some("blue"));
    assert!(!format!("{:?}", received[0].headers).contains("s3cret"), "{:?}", received[0].headers);
    folder.run(&["run", "replay.load.ts", "--allow-writes"]).code(0);
    let received = server.take();
    assert_eq!(lines(&received), ["GET /a?b=c", "POST /buy"]);
    assert_eq!((&received[1].body[..], received[1].header("content-type")), ("{\"id\":\"ä\"}".as_bytes(), Some("application/json")));
}

#[test]
fn gor_files_are_replayed_with_their_bodies() {
    let server = RecordingServer::start();
    let at = |ms: u64| BEGIN * 1_000_000_000 + ms * 1_000_000;
    let gor = format!(
        "1 a {} 0\nPUT /x HTTP/1.1\r\nHost: h\r\nX-Kind: one\r\nContent-Length: 5\r\n\r\nhe\nlo\n🐵🙈🙉\n\
         2 a {} 0\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n\n🐵🙈🙉\n\
         1 b {} 0\nGET /y HTTP/1.1\r\nHost: h\r\n\r\n\n🐵🙈🙉\n",
        at(0),
        at(1),
        at(100)
    );
    let folder = Folder::new().file("traffic.gor", &gor).file("replay.load.ts", &server.test("traffic.gor", "{}"));
    folder.run(&["run", "replay.load.ts", "--allow-writes"]).code(0);
    let received = server.take();
    assert_eq!(lines(&received), ["PUT /x", "GET /y"]);
    assert_eq!((&received[0].body[..], received[0].header("x-kind")), (&b"he\nlo"[..], Some("one")));
}

#[test]
fn a_part_of_a_combined_log_is_replayed() {
    let server = RecordingServer::start();
    let line = |k: u64| format!("203.0.113.{k} - - [28/Nov/2026:17:00:{k:02} +0000] \"GET /{k} HTTP/1.1\" 200 5 \"-\" \"agent/{k}\"\n");
    let log: String = (0..8).map(line).chain(["\\x16\\x03 not a request\n".to_owned()]).collect();
    let folder = Folder::new()
        .file("access.log", &log)
        .file("replay.load.ts", &server.test("access.log", "{ from: \"2s\", to: \"2026-11-28T17:00:05Z\", speed: 10 }"));
    let plan = plan_of(&folder, &[]);
    assert_eq!((&plan["count"], &plan["duration_ns"], &plan["unreadable"]), (&3.into(), &200_000_000.into(), &1.into()), "{plan}");
    folder.run(&["run", "replay.load.ts"]).code(0);
    let received = server.take();
    assert_eq!(lines(&received), ["GET /2", "GET /3", "GET /4"]);
    assert_eq!(received[0].header("user-agent"), Some("agent/2"));
    folder.run(&["try", "replay.load.ts"]).code(0).says("agent/2");
}

/// As log rotation leaves them: packed by the real programs, one after the other in a single file.
#[test]
fn packed_logs_are_replayed() {
    let server = RecordingServer::start();
    let line = |k: u64| format!("203.0.113.1 - - [28/Nov/2026:17:00:0{k} +0000] \"GET /{k} HTTP/1.1\" 200 5 \"-\" \"-\"\n");
    let folder = Folder::new()
        .file("a", &(line(0) + &line(1)))
        .file("b", &line(2))
        .file("replay.load.ts", &server.test("access.log.2.gz", "{ speed: 10 }"));
    let shell = |script: &str| std::process::Command::new("sh").args(["-c", script]).current_dir(folder.path()).status();
    assert!(shell("(gzip -c a; gzip -c b) > access.log.2.gz").is_ok_and(|status| status.success()));
    folder.run(&["run", "replay.load.ts"]).code(0);
    assert_eq!(lines(&server.take()), ["GET /0", "GET /1", "GET /2"]);
    assert!(shell("head -c 50 access.log.2.gz > cut; mv cut access.log.2.gz").is_ok_and(|status| status.success()));
    folder.run(&["run", "replay.load.ts"]).code(2).says("access.log.2.gz").says("gzip -t");
    assert_eq!(server.take().len(), 0);
}

#[test]
fn problems_are_reported_before_any_load() {
    let server = RecordingServer::start();
    let outside = Folder::new().file("other.log", "");
    let path = outside.path().join("other.log").display().to_string();
    let refused = |file: &str, options: &str, content: &str| -> Ended {
        let folder = Folder::new().file("access.log", content).file("replay.load.ts", &server.test(file, options));
        folder.run(&["run", "replay.load.ts"]).code(2)
    };
    refused("none.log", "{}", "").says("cannot be read");
    refused(&path, "{}", "").says("--allow-read");
    refused("access.log", "{}", "garbage\nmore\n").says("2 lines do not fit the format").says("docs/replay.md");
    refused("access.log", "{ format: \"$request\" }", "").says("has no time");
    refused("access.log", "{ speed: 0 }", "").says("speed");
    refused("access.log", "{ sped: 2 }", "").says("did you mean");
    refused("access.log", "{ from: \"noon\" }", "").says("neither an instant");
    let post = "1.2.3.4 - - [28/Nov/2026:17:00:00 +0000] \"POST /buy HTTP/1.1\" 200 5 \"-\" \"-\"\n";
    refused("access.log", "{}", post).says("--allow-writes");
    refused("access.log", "{}).then(arrivals(1).for(\"1s\")", "").says("a replay is a separate profile");
    assert_eq!(server.take().len(), 0);
    let target = server.server.url("");
    let test = format!(
        r#"import {{ once, scenario, test }} from "loadstone";
export default test({{ target: "{target}", load: scenario("A", async (user) => {{ await user.replay(); }}).run(once()) }});"#
    );
    Folder::new().file("a.load.ts", &test).run(&["try", "a.load.ts"]).says("this scenario has no record");
}
