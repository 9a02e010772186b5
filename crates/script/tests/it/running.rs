//! Scenarios run against a server in this process, iteration by iteration.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use loadstone_engine::{Arrival, Iteration, IterationEnd, UserFactory, VirtualUser, WorkerContext};
use loadstone_metrics::clock::{Clock, Monotonic};
use loadstone_metrics::{FlowKey, FlowStep, Nanos, Outcome, Recorder, SeriesKind, SeriesSlice, Snapshot};
use loadstone_plan::ScenarioId;
use loadstone_script::{ConsoleLine, Inputs, ScriptError, ScriptUser, ScriptUsers, Sinks};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::folder::Folder;

/// A worker with its users, its console lines and its measurements.
pub(crate) struct TestWorker {
    users: Rc<ScriptUsers>,
    recorder: Rc<RefCell<Recorder>>,
    pub(crate) clock: Clock,
    lines: Rc<RefCell<Vec<ConsoleLine>>>,
    /// Unknown options.
    pub(crate) misuse: Rc<RefCell<Vec<ScriptError>>>,
    pub(crate) load_end: Rc<std::cell::Cell<Nanos>>,
}

impl TestWorker {
    pub(crate) fn open(text: &str, target: &str, more: &[(&str, &str)]) -> Self {
        let mut files = vec![("t.load.ts", text)];
        files.extend_from_slice(more);
        let folder = Folder::new(&files);
        let inputs = Inputs { parameters: vec![("target".into(), target.into())], ..Inputs::default() };
        let loaded = loadstone_script::load(&folder.path("t.load.ts"), &inputs).unwrap_or_else(|error| panic!("{}", error.render()));
        let clock = Clock::real(Monotonic::start());
        let recorder = Rc::new(RefCell::new(Recorder::new(0, 500)));
        let context = WorkerContext { index: 0, workers: 1, first: 0, clock: clock.clone(), recorder: Rc::clone(&recorder) };
        let lines: Rc<RefCell<Vec<ConsoleLine>>> = Rc::default();
        let written = Rc::clone(&lines);
        let console: Rc<dyn Fn(&ConsoleLine)> = Rc::new(move |line| written.borrow_mut().push(line.clone()));
        let misuse: Rc<RefCell<Vec<ScriptError>>> = Rc::default();
        let misused = Rc::clone(&misuse);
        let misused: Rc<dyn Fn(&ScriptError)> = Rc::new(move |error| misused.borrow_mut().push(error.clone()));
        let sinks = Sinks { console: Some(console), misuse: Some(misused), ..Sinks::default() };
        let users = Rc::new(ScriptUsers::new(&Arc::new(loaded), &context, sinks).unwrap_or_else(|error| panic!("{}", error.render())));
        Self { users, recorder, clock, lines, misuse, load_end: Rc::new(std::cell::Cell::new(Nanos::MAX)) }
    }

    pub(crate) fn user(&self, number: u64) -> ScriptUser {
        self.users.new_user(0, ScenarioId(0), number).unwrap()
    }

    pub(crate) fn iteration(&self, sequence: u64, scheduled: Option<Nanos>) -> Iteration {
        let arrival = Arrival { scheduled: scheduled.unwrap_or_else(|| self.clock.now()), scenario: ScenarioId(0), sequence };
        Iteration { arrival, leaf: 0, open: scheduled.is_some(), waited_for_user: false, load_end: Rc::clone(&self.load_end) }
    }

    pub(crate) async fn iterate(&self, sequence: u64) -> IterationEnd {
        self.user(sequence).iterate(self.iteration(sequence, None)).await
    }

    /// Runs `act` concurrently with the users' driver and the clock.
    pub(crate) async fn with<T>(&self, act: impl Future<Output = T>) -> T {
        let clock = async {
            loop {
                tokio::time::sleep(Duration::from_millis(1)).await;
                self.clock.fire();
            }
        };
        tokio::select! {
            biased;
            value = act => value,
            () = self.users.drive() => unreachable!("the driver never completes"),
            () = clock => unreachable!("nor does the clock"),
        }
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.lines.borrow().iter().map(|line| line.text.clone()).collect()
    }

    pub(crate) fn drain(&self) -> Snapshot {
        let mut recorder = self.recorder.borrow_mut();
        self.users.count_into(recorder.generator());
        recorder.drain(0, 0, self.clock.now())
    }
}

pub(crate) fn run<T>(text: &str, act: impl AsyncFnOnce(&TestWorker) -> T) -> T {
    run_with(text, &[], act)
}

pub(crate) fn run_with<T>(text: &str, more: &[(&str, &str)], act: impl AsyncFnOnce(&TestWorker) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(serve(listener));
        let worker = TestWorker::open(text, &target, more);
        tokio::time::timeout(Duration::from_secs(20), worker.with(act(&worker))).await.expect("the scenario should end")
    })
}

/// Echoes method, path, headers and body as JSON. `/status/N` answers N, `/hang` never, `/set` sets a cookie, `/redirect` goes to `/echo`.
async fn serve(listener: TcpListener) {
    while let Ok((mut socket, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut buffer = Vec::new();
            for number in 1.. {
                let head = loop {
                    if let Some(end) = find(&buffer, b"\r\n\r\n") {
                        break String::from_utf8_lossy(&buffer[..end]).into_owned();
                    }
                    if socket.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                        return;
                    }
                };
                let mut lines = head.lines();
                let mut first = lines.next().unwrap().split(' ');
                let (method, path) = (first.next().unwrap(), first.next().unwrap());
                let x_lines: Vec<&str> = head.lines().filter(|line| line.to_ascii_lowercase().starts_with("x-")).collect();
                let headers: HashMap<String, String> =
                    lines.filter_map(|l| l.split_once(": ")).map(|(k, v)| (k.to_ascii_lowercase(), v.to_owned())).collect();
                let length: usize = headers.get("content-length").map_or(0, |n| n.parse().unwrap());
                let start = head.len() + 4;
                while buffer.len() < start + length {
                    if socket.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                let body = String::from_utf8_lossy(&buffer[start..start + length]).into_owned();
                buffer.drain(..start + length);
                let own: &[u8] = match path {
                    "/latin1" => b"text/html; charset=iso-8859-1\r\nContent-Length: 4\r\n\r\nCaf\xe9",
                    "/mark" => b"application/json\r\nContent-Length: 13\r\n\r\n\xef\xbb\xbf{\"a\":\"b\"} ",
                    "/latin1.json" => b"application/json; charset=iso-8859-1\r\nContent-Length: 12\r\n\r\n{\"a\":\"Caf\xe9\"}",
                    "/proto" => b"text/plain\r\n__proto__: b\r\nX-Odd: a\x01b\r\nContent-Length: 0\r\n\r\n",
                    "/trailers" => b"text/plain\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 7\r\nx-sum: 8\r\n\r\n",
                    _ => b"",
                };
                if !own.is_empty() {
                    let _ = socket.write_all(&[b"HTTP/1.1 200 OK\r\nContent-Type: ", own].concat()).await;
                    continue;
                }
                if path == "/hang" {
                    std::future::pending::<()>().await;
                }
                let path = if path == "/flaky" && number < 3 { "/status/503" } else { path };
                let status = path.strip_prefix("/status/").map_or(if path == "/redirect" { "302" } else { "200" }, |s| s);
                let more = match path {
                    "/set" => "Set-Cookie: seen=yes; Path=/\r\n",
                    "/redirect" => "Location: /echo?from=redirect\r\n",
                    _ => "",
                };
                let lines = x_lines.join("|");
                let answer =
                    serde_json::json!({ "method": method, "path": path, "headers": headers, "body": body, "lines": lines }).to_string();
                let text = format!(
                    "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nX-Two: a\r\nX-Two: b\r\n{more}Content-Length: {}\r\n\r\n{answer}",
                    answer.len()
                );
                if socket.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// A journey counts from the call, or from when the request or the iteration was due.
#[test]
fn journeys_start_at_the_call_or_at_the_scheduled_time() {
    let text = r#"
import { arrivals, flow, param, scenario, test } from "loadstone";
const f = flow("Journey", { stages: ["half"] });
const s = scenario("s", async (user) => {
  f.start("user", { since: user });
  const first = await user.get("/echo");
  f.start("first", { since: first });
  const second = await user.get("/echo");
  f.start("second", { since: second });
  f.start(7);
  f.stage("half", 7);
  f.finish("7");
  let refused = "";
  try { f.start("x", { since: {} as any }); } catch (error) { refused = String(error); }
  user.log(refused);
});
export default test({ target: param.url("target"), load: s.run(arrivals(1).for("1s")) });
"#;
    run(text, async |worker| {
        let due = worker.clock.now();
        tokio::time::sleep(Duration::from_millis(30)).await;
        let begun = worker.clock.now();
        assert_eq!(
            worker.user(0).iterate(worker.iteration(0, Some(due))).await,
            IterationEnd::Ended(Outcome::Passed),
            "{:?}",
            worker.texts()
        );
        let events = worker.drain().flow_events;
        let at = |key: &str, step| {
            events.iter().find(|event| event.key == FlowKey::of(key) && event.step == step).map(|event| event.at).unwrap()
        };
        assert_eq!((at("user", FlowStep::Start), at("first", FlowStep::Start)), (due, due));
        // The second request has no schedule: it counts from its start.
        let second = at("second", FlowStep::Start);
        assert!(second > begun && second < at("7", FlowStep::Start), "{events:?}");
        assert!(at("7", FlowStep::Start) <= at("7", FlowStep::Stage(0)) && at("7", FlowStep::Stage(0)) <= at("7", FlowStep::Finish));
        assert_eq!(events.len(), 6);
        assert!(worker.texts()[0].contains("`since` must be a response"), "{:?}", worker.texts());
    });
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// A test with one scenario of this body.
pub(crate) fn scenario(body: &str) -> String {
    scenario_with("", body, "")
}

pub(crate) fn scenario_with(top: &str, body: &str, options: &str) -> String {
    format!(
        "import {{ test, scenario, once, param, rows, shared, hash }} from \"loadstone\";\n{top}\n\
         const s = scenario(\"S\", async (user) => {{\n{body}\n}}{options});\n\
         export default test({{ target: param.url(\"target\"), load: s.run(once()) }});\n"
    )
}

fn series<'s>(snapshot: &'s Snapshot, kind: SeriesKind, name: &str) -> &'s SeriesSlice {
    let found = snapshot.series.iter().find(|series| series.key.kind == kind && &*series.key.name == name);
    found.unwrap_or_else(|| panic!("no {name} among {:?}", snapshot.series.iter().map(|s| &s.key).collect::<Vec<_>>()))
}

pub(crate) const PASSED: IterationEnd = IterationEnd::Ended(Outcome::Passed);
const FAILED: IterationEnd = IterationEnd::Ended(Outcome::Step);
const THREW: IterationEnd = IterationEnd::Threw(Outcome::Script);

#[test]
fn a_request_is_sent_answered_and_recorded() {
    let text = scenario(
        "const r = await user.get('/tickets/17?x=1');\n\
         console.log(r.ok, r.status, r.json('$.path'), r.header('X-Two'), r.headers['x-two'], r.times.total > 0);",
    );
    run(&text, async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["true 200 /tickets/17?x=1 a a, b true"]);
        let snapshot = worker.drain();
        let series = series(&snapshot, SeriesKind::Request, "GET /tickets/:id");
        assert_eq!((series.count, series.failed, &*series.statuses), (1, 0, &[(200, 1)][..]));
        assert_eq!(snapshot.generator[0].connections_opened, 1);
        assert!(snapshot.generator[0].in_flight_ns > 0);
    });
}

#[test]
fn options_reach_the_wire() {
    let body = r#"
const show = (r) => {
  const j = r.json();
  console.log(JSON.stringify([j.method, j.path, j.body, j.headers['content-type'] ?? null, j.headers.authorization ?? null, j.headers['x-a'] ?? null]));
};
show(await user.post("/p", { json: { a: [1, null] }, headers: { "X-A": "mine" } }));
show(await user.put("/p?z=0", { form: { a: "b c", d: ["1", "2"], gone: null }, query: { q: "ä", n: 5, u: undefined } }));
show(await user.patch("/p", { body: "raw", headers: { "content-type": "text/x" }, auth: { username: "u", password: "p" } }));
show(await user.delete("/p", { body: new Uint8Array([104, 105]), auth: null }));
show(await user.request("report", "/p"));
"#;
    let text = scenario_with("", body, ", { headers: { 'x-a': 'scenario' }, auth: { bearer: 't' } }");
    run(&text, async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        let expected = [
            r#"["POST","/p","{\"a\":[1,null]}","application/json","Bearer t","mine"]"#,
            r#"["PUT","/p?z=0&q=%C3%A4&n=5","a=b+c&d=1&d=2","application/x-www-form-urlencoded","Bearer t","scenario"]"#,
            r#"["PATCH","/p","raw","text/x","Basic dTpw","scenario"]"#,
            r#"["DELETE","/p","hi",null,null,"scenario"]"#,
            r#"["report","/p","",null,"Bearer t","scenario"]"#,
        ];
        assert_eq!(worker.texts(), expected);
    });
}

#[test]
fn constant_options_reach_the_wire_every_time() {
    let body = "for (const path of ['/echo/a', '/echo/b', '/echo/a', '/echo/a']) {
                  const made = await user.post(path, { name: 'made', headers: { 'X-One': '1' }, json: { a: [1, 2.5] }, expect: { status: 200 } });
                  if (made.json().headers['x-one'] !== '1' || made.json('$.body') !== '{\"a\":[1,2.5]}') user.fail(made.text);
                }
                for (let n = 0; n < 4; n++) await user.get('/status/404', { name: 'none', expect: { status: 404 } });
                for (let n = 0; n < 4; n++) await user.get('/status/404', { name: 'wrong', expect: { status: 200 } });";
    run(&scenario(body), async |worker| {
        assert_eq!(worker.iterate(0).await, FAILED);
        let snapshot = worker.drain();
        for (name, count, failed) in [("made", 4, 0), ("none", 4, 0), ("wrong", 4, 4)] {
            let series = series(&snapshot, SeriesKind::Request, name);
            assert_eq!((series.count, series.failed), (count, failed), "{name}");
        }
    });
}

#[test]
fn a_wrapper_of_a_user_receives_its_own_options() {
    let top = "const seen = [];
               const wrap = (user) => ({ get(path, options) { seen.push(options); \
                 options.headers = { 'X-Turn': String(seen.length) }; return user.get(path, options); } });";
    let body = "const wrapped = wrap(user);
                for (let n = 0; n < 3; n++) console.log((await wrapped.get('/echo', { name: 'one' })).json().headers['x-turn']);
                console.log(new Set(seen).size, Object.isFrozen(seen[0]));
                const other = new Map();
                try { other.post('/', { name: 'a' }) } catch (error) { console.log(error.message) }";
    run(&scenario_with(top, body, ""), async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["1", "2", "3", "3 false", "not a function"]);
    });
}

#[test]
fn files_are_uploaded_in_multipart() {
    let top = "import { file } from \"loadstone\";\nconst photo = file(\"photo.txt\", { name: \"p.jpg\", type: \"image/jpeg\" });";
    let text =
        scenario_with(top, "const r = await user.post('/u', { multipart: { title: 'Sun', photo } });\nconsole.log(r.json('$.body'));", "");
    run_with(&text, &[("photo.txt", "pixels")], async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        let body = &worker.texts()[0];
        assert!(
            body.contains("name=\"title\"\r\n\r\nSun\r\n")
                && body.contains("filename=\"p.jpg\"\r\nContent-Type: image/jpeg\r\n\r\npixels\r\n"),
            "{body}"
        );
    });
}

#[test]
fn a_failed_request_does_not_throw_and_fails_the_iteration() {
    let text = scenario(
        "const r = await user.get('/status/503', { name: 'Down' });\nconsole.log(r.ok, r.error);\n\
         const e = await user.get('/status/404', { name: 'Absent', expect: { status: [200, '4xx'] } });\nconsole.log(e.ok);",
    );
    run(&text, async |worker| {
        assert_eq!(worker.iterate(0).await, FAILED);
        assert_eq!(worker.texts(), ["false status 503", "true"]);
        let snapshot = worker.drain();
        let down = series(&snapshot, SeriesKind::Request, "Down");
        assert_eq!((down.failed, &*down.outcomes), (1, &[(Outcome::Status, 1)][..]));
        assert_eq!(series(&snapshot, SeriesKind::Request, "Absent").failed, 0);
        assert_eq!((snapshot.errors.len(), &*snapshot.errors[0].message), (1, "status 503"));
    });
}

#[test]
fn expectations_are_evaluated_in_order() {
    let body = r#"
for (const expect of [
  { header: { "content-type": /json/, "x-two": "a", "X-Two": true } }, { header: { "x-gone": true } }, { header: { "x-two": "b" } },
  { text: "\"path\":" }, { text: /nothing like it/ },
  { json: { "$.method": "GET", "$.headers": (h) => h.host.length > 0, "$.path": /^\/e/, "$.body": () => true } },
  { json: { "$.method": "PUT" } }, { json: { "$.method": true } }, { json: { "$.gone": true } },
  { within: "20s" }, { within: "1ns" },
]) {
  const r = await user.get("/e", { name: "E", expect });
  console.log(r.ok ? "ok" : r.error);
}"#;
    run(&scenario(body), async |worker| {
        assert_eq!(worker.iterate(0).await, FAILED);
        let expected = [
            "ok",
            "header x-gone is missing",
            "header x-two is \"a\", expected \"b\"",
            "ok",
            "the body does not contain a match of /nothing like it/",
            "ok",
            "$.method is \"GET\", expected \"PUT\"",
            "$.method is \"GET\", expected true",
            "nothing at $.gone, expected true",
            "ok",
            "the response took longer than 1ns",
        ];
        assert_eq!(worker.texts(), expected);
        assert_eq!(series(&worker.drain(), SeriesKind::Request, "E").outcomes, [(Outcome::Passed, 4), (Outcome::Expect, 7)]);
    });
}

#[test]
fn errors_name_the_line_of_the_typescript() {
    let text = scenario("const n: number = 1;\nawait user.get('/');\nif (n > 0) {\n  throw new Error('no luck');\n}");
    run(&text, async |worker| {
        assert_eq!(worker.iterate(0).await, THREW);
        assert_eq!(&*worker.drain().errors[0].message, "no luck (t.load.ts:7:13)");
    });
}

#[test]
fn users_and_responses_may_have_custom_properties() {
    let text =
        scenario("const own: any = user; own.token ??= 'mine'; const r: any = await user.get('/'); user.log(own.token, r.note, own.then);");
    run(&text, async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["mine undefined undefined"]);
    });
}

#[test]
fn mistakes_in_calls_name_the_line_and_the_remedy() {
    for (line, part) in [
        (
            "await user.get('/', { ...{ header: {} } });",
            "a request has no option `header` (did you mean `headers`?); its options are: name, headers",
        ),
        ("await user.get('/', { expect: { ...{ statsu: 200 } } });", "expect has no option `statsu` (did you mean `status`?)"),
        ("await user.get('/', { auth: { ...{ bearre: 't' } } });", "auth has no option `bearre` (did you mean `bearer`?)"),
        ("const own: any = user; await own.gett('/');", "there is no `gett` here (did you mean `get`?)"),
        ("await user.group('G', (inner) => (inner as any).psot('/'));", "there is no `psot` here (did you mean `post`?)"),
        ("(await user.get('/')).jsn('$');", "there is no `jsn` here (did you mean `json`?)"),
        ("(await user.get('/')).css('a', { atribute: 'href' });", "css(…) has no option `atribute` (did you mean `attribute`?)"),
        ("await user.get('/', { timeout: 5 });", "timeout: \"\" is not a duration"),
        ("await user.post('/', { json: 1, body: 'x' });", "one body"),
        ("await user.get(5 as any);", "expected the URL as a string, such as"),
        ("await user.get('ftp://x/');", "scheme `ftp`"),
        ("await user.pause('uniform(3s, 1s)');", "the first duration must be shorter than the second"),
        ("user.check('c', undefined as any);", "true or false"),
        ("(await user.get('/')).json('$.gone');", "\"GET /\" answered 200: nothing at $.gone"),
        ("(await user.get('/')).regex(/gone/);", "has no match"),
        ("await user.group('G', async () => { await user.pause('1ms'); throw new TypeError('inside'); });", "TypeError: inside"),
    ] {
        run(&scenario(line), async |worker| {
            assert_eq!(worker.iterate(0).await, THREW, "{line}");
            let message = worker.drain().errors[0].message.clone();
            assert!(message.contains(part) && message.contains(" (t.load.ts:4:"), "{line}: {message}");
        });
    }
}

#[test]
fn a_forgotten_await_is_reported() {
    let text = scenario("(async () => { await user.pause('1ms'); throw new Error('lost'); })();\nawait user.pause('20ms');");
    run(&text, async |worker| {
        assert_eq!(worker.iterate(0).await, THREW);
        assert_eq!(&*worker.drain().errors[0].message, "unhandled rejection: lost (t.load.ts:4:51)");
    });
}

#[test]
fn requests_run_in_parallel_and_groups_contain_their_requests() {
    let body = r#"
await user.group("Both", async (user) => {
  await Promise.all([
    user.group("A", async (a) => { await a.pause("30ms"); await a.get("/a", { name: "a" }); }),
    user.group("B", async (b) => { await b.get("/status/500", { name: "b" }); await b.pause("30ms"); }),
  ]);
  user.check("fine", true);
  user.check("poor", false);
});
await user.get("/c", { name: "c" });
"#;
    run(&scenario(body), async |worker| {
        assert_eq!(worker.iterate(0).await, FAILED);
        let snapshot = worker.drain();
        let group_of = |kind, name| series(&snapshot, kind, name).key.group.to_string();
        assert_eq!(["a", "b", "c"].map(|name| group_of(SeriesKind::Request, name)), ["A", "B", ""]);
        assert_eq!(group_of(SeriesKind::Check, "fine"), "Both");
        assert_eq!(["A", "B", "Both"].map(|name| group_of(SeriesKind::Group, name)), ["Both", "Both", ""]);
        let outcomes = |name| series(&snapshot, SeriesKind::Group, name).outcomes.clone();
        assert_eq!(outcomes("A"), [(Outcome::Passed, 1)]);
        assert_eq!((outcomes("B"), outcomes("Both")), (vec![(Outcome::Step, 1)], vec![(Outcome::Step, 1)]));
        let poor = series(&snapshot, SeriesKind::Check, "poor");
        assert_eq!((poor.count, poor.failed), (1, 1));
    });
}

#[test]
fn cookies_and_redirects_follow_the_user() {
    let body = r#"
await user.get("/set"); console.log((await user.get("/redirect", { name: "R" })).json("$.path"), user.cookies.get("seen"));
console.log((await user.get("/echo")).json("$.headers.cookie"), (await user.get("/echo", { cookies: false })).json("$.headers.cookie", "none"));
user.cookies.clear(); user.cookies.set("own", "1"); const bare = await user.get("/redirect", { cookies: false });
console.log(bare.json("$.path"), bare.json("$.headers.cookie", "none"), bare.json("$.headers['user-agent']").slice(0, 10));
console.log((await user.get("/echo")).json("$.headers.cookie"), (await user.get("/redirect", { redirects: 0 })).status);
"#;
    run(&scenario(body), async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["/echo?from=redirect yes", "seen=yes none", "/echo?from=redirect none loadstone/", "own=1 302"]);
        assert_eq!(series(&worker.drain(), SeriesKind::Request, "R").count, 1);
    });
}

#[test]
fn an_interrupted_iteration_closes_connections_and_records_requests() {
    let text = scenario("await user.group('G', async () => { await user.get('/hang', { name: 'H' }); });\nconsole.log('never');");
    run(&text, async |worker| {
        let mut user = worker.user(0);
        let cut = tokio::time::timeout(Duration::from_millis(100), user.iterate(worker.iteration(0, None))).await;
        assert!(cut.is_err());
        let snapshot = worker.drain();
        for (kind, name) in [(SeriesKind::Request, "H"), (SeriesKind::Group, "G")] {
            let cut = series(&snapshot, kind, name);
            assert_eq!((cut.count, &*cut.outcomes, cut.censored.count()), (0, &[(Outcome::Interrupted, 1)][..], 1));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(worker.drain().generator[0].connections, 0, "its connection is closed");
        assert!(worker.texts().is_empty());
    });
}

#[test]
fn an_endless_loop_fails_its_iteration_and_the_others_continue() {
    let text = scenario("await user.pause('1ms');\nif (user.iteration === 0) {\n  let n = 0;\n  while (true) n++;\n}");
    run(&text, async |worker| {
        assert_eq!(worker.iterate(0).await, THREW);
        assert_eq!(worker.iterate(1).await, PASSED);
        let message = worker.drain().errors[0].message.clone();
        assert!(message.contains("without yielding") && message.contains(" (t.load.ts:7:"), "{message}");
    });
}

#[test]
fn the_first_request_of_an_open_iteration_counts_from_its_schedule() {
    let text = scenario("await user.get('/', { name: 'first' });\nawait user.get('/', { name: 'second' });");
    run(&text, async |worker| {
        tokio::time::sleep(Duration::from_millis(60)).await;
        let due = worker.clock.now() - 50_000_000;
        let mut user = worker.user(0);
        assert_eq!(user.iterate(worker.iteration(0, Some(due))).await, PASSED);
        let snapshot = worker.drain();
        let (first, second) = (series(&snapshot, SeriesKind::Request, "first"), series(&snapshot, SeriesKind::Request, "second"));
        assert!(first.lag.min() >= 50_000_000 && first.response.max() >= 50_000_000);
        assert!(second.lag.is_empty() && second.response.max() == second.service.max());
    });
}

#[test]
fn a_pause_before_the_first_request_is_not_lateness() {
    let text = scenario("await user.pause('100ms');\nawait user.get('/', { name: 'first' });");
    run(&text, async |worker| {
        let mut user = worker.user(0);
        let due = worker.clock.now();
        assert_eq!(user.iterate(worker.iteration(0, Some(due))).await, PASSED);
        let snapshot = worker.drain();
        let first = series(&snapshot, SeriesKind::Request, "first");
        assert!(first.lag.max() < 100_000_000, "{}", first.lag.max());
        assert!(first.response.max() >= first.service.max());
    });
}

#[test]
fn no_request_is_due_before_it_could_begin() {
    for pauses in [
        // Not awaited before the request.
        "const later = user.pause('200ms');\nawait user.get('/', { name: 'first' });\nawait later;",
        // At the same time.
        "await Promise.all([user.pause('60ms'), user.pause('60ms'), user.pause('20ms')]);\nawait user.get('/', { name: 'first' });",
        "await Promise.race([user.pause('10ms'), user.pause('1h')]);\nawait user.get('/', { name: 'first' });",
    ] {
        run(&scenario(pauses), async |worker| {
            let mut user = worker.user(0);
            let due = worker.clock.now();
            assert_eq!(user.iterate(worker.iteration(0, Some(due))).await, PASSED);
            let snapshot = worker.drain();
            let first = series(&snapshot, SeriesKind::Request, "first");
            assert!(first.response.max() >= first.service.max(), "{pauses}: {} {}", first.response.max(), first.service.max());
        });
    }
}

#[test]
fn the_file_is_evaluated_for_all_planned_users_before_the_load() {
    let text = r#"import { param, scenario, test, users } from "loadstone";
console.log("evaluated");
const s = scenario("S", () => {});
export default test({ target: param.url("target"), load: s.run(users(5000).for("1s")) });"#;
    run(text, async |worker| {
        worker.users.prepare(5_000).unwrap();
        assert_eq!(worker.texts().len(), 3);
        let users: Vec<ScriptUser> = (0..5_000).map(|number| worker.user(number)).collect();
        assert_eq!((users.len(), worker.texts().len()), (5_000, 3));
    });
}

#[test]
fn draws_repeat_by_arrival_or_by_user_and_iteration_and_state_by_user() {
    let text = scenario(
        "user.state.n = (user.state.n ?? 0) + 1;\nconsole.log(user.random.integer(0, 1e9), user.state.n, user.number, user.iteration);",
    );
    let play = || {
        run(&text, async |worker| {
            // Closed load: draws do not depend on the numbering of a user's iterations, which depends on the speed of the others.
            let (mut user, mut slower) = (worker.user(3), worker.user(3));
            for sequence in [4, 5] {
                user.iterate(worker.iteration(sequence, None)).await;
                slower.iterate(worker.iteration(sequence + 3, None)).await;
            }
            // Open load: for any user that takes an arrival.
            user.iterate(worker.iteration(4, Some(0))).await;
            worker.user(8).iterate(worker.iteration(4, Some(0))).await;
            user.iterate(worker.iteration(6, Some(0))).await;
            worker.texts()
        })
    };
    let lines = play();
    let column = |at: usize| lines.iter().map(|line| line.split(' ').nth(at).unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(lines, play());
    let draws = column(0);
    assert_eq!((&draws[0], &draws[2], &draws[4]), (&draws[1], &draws[3], &draws[5]));
    assert_eq!(BTreeSet::from_iter(&draws).len(), 4, "{draws:?}");
    assert_eq!(column(1), ["1", "1", "2", "2", "1", "1", "1"]);
    assert_eq!(column(2), ["3", "3", "3", "3", "3", "8", "3"]);
    assert_eq!(column(3), ["4", "7", "5", "8", "4", "4", "6"]);
}

#[test]
fn timers_intervals_and_pace_follow_the_clock() {
    let body = r#"
const seen: string[] = [];
const never = setTimeout(() => seen.push("never"), 5);
clearTimeout(never);
let n = 0;
await new Promise<void>((done) => {
  const each = setInterval((word) => { seen.push(word + ++n); if (n === 3) { clearInterval(each); done(); } }, 2, "i");
  queueMicrotask(() => seen.push("micro"));
});
for await (const turn of user.pace({ every: "2ms", times: 3 })) seen.push("p" + turn);
await user.pause("5ms");
console.log(seen.join(" "));
"#;
    run(&scenario(body), async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["micro i1 i2 i3 p0 p1 p2"]);
    });
}

#[test]
fn a_paced_loop_ends_with_its_load() {
    let text = scenario("for await (const turn of user.pace({ perSecond: 500 })) if (turn > 1000) throw new Error('still going');");
    run(&text, async |worker| {
        worker.load_end.set(worker.clock.now() + 30_000_000);
        assert_eq!(worker.iterate(0).await, PASSED);
        assert!(worker.clock.now() >= 30_000_000);
    });
}

#[test]
fn a_user_whose_next_turn_is_after_the_load_waits_for_its_end() {
    let text = scenario(
        "for await (const turn of user.pace({ every: '10s' })) console.log(turn);
console.log('over');",
    );
    run(&text, async |worker| {
        worker.load_end.set(worker.clock.now() + 50_000_000);
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["0", "over"]);
        assert!(worker.clock.now() >= 50_000_000);
    });
}

#[test]
fn an_exhausted_feeder_is_reported() {
    let text = scenario_with("const q = rows([1, 2]).queue();", "console.log(q.next());", "");
    run(&text, async |worker| {
        assert_eq!((worker.iterate(0).await, worker.iterate(1).await, worker.iterate(2).await), (PASSED, PASSED, IterationEnd::Exhausted));
        assert_eq!(
            worker.texts(),
            ["1", "2", "rows is exhausted: all 2 rows have been used (queue); the part of the load that needs more rows ends"]
        );
        assert!(worker.drain().errors.is_empty());
    });
}

#[test]
fn a_scenario_without_async_fails_and_is_exhausted_in_the_same_way() {
    let text = r#"import { once, param, rows, scenario, test } from "loadstone";
const q = rows([1, 2]).queue();
const s = scenario("S", (user) => { if (q.next() === 2) throw new Error("two"); });
export default test({ target: param.url("target"), load: s.run(once()) });"#;
    run(text, async |worker| {
        assert_eq!((worker.iterate(0).await, worker.iterate(1).await, worker.iterate(2).await), (PASSED, THREW, IterationEnd::Exhausted));
        let messages: Vec<String> = worker.drain().errors.iter().map(|error| error.message.to_string()).collect();
        assert_eq!(messages, ["two (t.load.ts:3:67)"]);
    });
}

#[test]
fn many_users_share_realms_and_leave_no_values_behind() {
    let text = scenario("const r = await user.get('/n');\nuser.check('ok', r.status === 200);");
    run(&text, async |worker| {
        let mut users: Vec<ScriptUser> = (0..50).map(|number| worker.user(number)).collect();
        for round in 0..4 {
            let all = users.iter_mut().enumerate().map(|(at, user)| user.iterate(worker.iteration(round * 50 + at as u64, None)));
            let ends = futures_util::future::join_all(all).await;
            assert!(ends.iter().all(|end| *end == PASSED));
        }
        let snapshot = worker.drain();
        assert_eq!(series(&snapshot, SeriesKind::Request, "GET /n").count, 200);
        assert_eq!((snapshot.generator[0].connections, snapshot.generator[0].connections_opened), (50, 50));
    });
}
