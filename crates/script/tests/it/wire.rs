//! What scripts write is what is sent, or an error of the script. The generator's refusals never count as the target's.

use loadstone_engine::IterationEnd;
use loadstone_metrics::{Outcome, SeriesKind, Snapshot};

use crate::running::{run, run_with, scenario, scenario_with};

const PASSED: IterationEnd = IterationEnd::Ended(Outcome::Passed);
const THREW: IterationEnd = IterationEnd::Threw(Outcome::Script);

fn refused(snapshot: &Snapshot) -> u64 {
    let outcomes = snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Request).flat_map(|series| &series.outcomes);
    outcomes.filter(|(outcome, _)| *outcome == Outcome::Unsendable).map(|(_, count)| count).sum()
}

#[test]
fn a_request_that_cannot_be_sent_is_a_script_error_and_no_sample() {
    for (call, problem) in [
        ("user.get('/echo', { name: 'A', headers: { 'x a': '1' } })", "the header name \"x a\" is empty, or contains"),
        ("user.get('/echo', { name: 'A', headers: { 'x-a': '1\\r\\nb: 2' } })", "the value of the header x-a contains a line break"),
        ("user.post('/echo', { name: 'A', body: 'abc', headers: { 'Content-Length': '7' } })", "its Content-Length differs"),
        ("user.get('/echo', { name: 'A', auth: { bearer: 'a\\nb' } })", "the value of the header Authorization contains a line break"),
        ("user.events('/echo', { name: 'A', headers: { 'é': '1' } })", "the header name \"é\""),
        ("user.events('/echo', { name: 'A', method: 'G T' })", "\"G T\" is not an HTTP method"),
        ("user.ws('/echo', { name: 'A', headers: { '': '1' } })", "the header name \"\" is empty"),
    ] {
        run(&scenario(&format!("await user.get('/echo', {{ name: 'A' }});\nawait {call};")), async |worker| {
            assert_eq!(worker.iterate(0).await, THREW, "{call}");
            let snapshot = worker.drain();
            let series = snapshot.series.iter().find(|series| &*series.key.name == "A").unwrap();
            assert_eq!((series.count, series.failed, series.response.count()), (1, 0, 1), "{call}");
            assert_eq!(refused(&snapshot), 1, "{call}");
            let iterations = snapshot.series.iter().find(|series| series.key.kind == SeriesKind::Iteration).unwrap();
            assert_eq!(iterations.script_errors, 1, "{call}");
            let message = snapshot.errors.iter().find(|error| error.outcome == Outcome::Script).map(|error| error.message.to_string());
            let message = message.unwrap_or_default();
            assert!(message.contains(problem) && message.contains("\"A\": ") && message.contains("t.load.ts:"), "{call}: {message}");
        });
    }
}

#[test]
fn a_call_that_is_prepared_is_refused_like_any_other() {
    // Headers of a scenario are checked before the load. Its credentials are not.
    let body = "for (let n = 0; n < 4; n++) try { await user.get('/echo'); } catch (error) { user.log(error.message); }";
    let text = scenario_with("", body, ", { auth: { bearer: 'a\\nb' } }");
    run(&text, async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts().len(), 4, "{:?}", worker.texts());
        let snapshot = worker.drain();
        assert_eq!(refused(&snapshot), 4);
        assert!(snapshot.series.iter().all(|series| series.key.kind != SeriesKind::Request || series.count == 0));
    });
}

#[test]
fn values_without_an_obvious_text_are_refused_by_name() {
    for (options, problem) in [
        ("{ form: { a: { b: 1 } } }", "form.a: expected a string, number or boolean, but it is an object"),
        ("{ form: { a: [1, [2]] } }", "form.a: expected a string, number or boolean, but it is a list"),
        ("{ query: { a: NaN } }", "query.a: expected a string, number or boolean, but it is NaN"),
        ("{ query: { a: new Uint8Array(1) } }", "query.a: expected a string, number or boolean, but it is an object"),
        ("{ query: [1] }", "query: expected an object of names and values"),
        ("{ headers: { 'x-a': undefined } }", "headers[\"x-a\"]: expected a string, number or boolean, but it is undefined"),
        ("{ headers: { 'x-a': null } }", "headers[\"x-a\"]: expected a string, number or boolean, but it is null"),
        ("{ multipart: { a: { name: 'x' } } }", "multipart.a has no option `name`"),
        ("{ multipart: { a: { filename: 'x' } } }", "multipart.a: a part needs its `content`"),
        ("{ multipart: { a: { content: {} } } }", "multipart.a.content: expected a string, bytes (Uint8Array) or a file"),
        ("{ multipart: { a: () => 1 } }", "multipart.a: expected a string, number or boolean, but it is a function"),
        ("{ multipart: { a: 1 }, headers: { 'content-type': 'multipart/form-data' } }", "multipart: remove the Content-Type header"),
    ] {
        let body = format!("try {{ await user.post('/echo', {options}); }} catch (error) {{ user.log(error.message); }}");
        run(&scenario(&body), async |worker| {
            assert_eq!(worker.iterate(0).await, PASSED, "{options}");
            assert!(worker.texts().first().is_some_and(|text| text.starts_with(problem)), "{options}: {:?}", worker.texts());
        });
    }
}

#[test]
fn lists_bytes_and_described_parts_are_parts() {
    let top = "import { file } from \"loadstone\";\nconst one = file(\"one.txt\"), two = file(\"two.bin\", { name: \"2\" });";
    let body = r#"
const r = await user.post("/u", { multipart: {
  files: [one, two], bytes: new Uint8Array([65, 66]), big: 12345678901234567890n, none: undefined,
  meta: { content: JSON.stringify({ a: 1 }), contentType: "application/json" },
  named: { content: new Uint8Array([67]), filename: "c.dat" },
  again: { content: one, filename: "other.txt", contentType: "text/x" },
} });
console.log(r.json("$.body").replaceAll(/--loadstone[0-9a-f]+/g, "--"));
console.log(r.json().headers["content-type"].startsWith("multipart/form-data; boundary=loadstone"));
"#;
    run_with(&scenario_with(top, body, ""), &[("one.txt", "first"), ("two.bin", "second")], async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        let part = |head: &str, content: &str| format!("--\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n");
        let expected = [
            part("name=\"files\"; filename=\"one.txt\"\r\nContent-Type: text/plain", "first"),
            part("name=\"files\"; filename=\"2\"\r\nContent-Type: application/octet-stream", "second"),
            part("name=\"bytes\"\r\nContent-Type: application/octet-stream", "AB"),
            part("name=\"big\"", "12345678901234567890"),
            part("name=\"meta\"\r\nContent-Type: application/json", "{\"a\":1}"),
            part("name=\"named\"; filename=\"c.dat\"\r\nContent-Type: application/octet-stream", "C"),
            part("name=\"again\"; filename=\"other.txt\"\r\nContent-Type: text/x", "first"),
        ];
        assert_eq!(worker.texts(), [format!("{}----\r\n", expected.concat()), "true".to_owned()]);
    });
}

#[test]
fn a_user_name_in_a_url_becomes_basic_authorization() {
    let body = r#"
const seen = async (url, options = {}) => (await user.get(url, options)).json("$.headers.authorization", "none");
const there = new URL(target); there.username = "us"; there.password = "pw"; there.pathname = "/echo";
console.log(await seen(there.href), await seen(there), await seen("/echo"));
console.log(await seen(there.href, { auth: null }), await seen(there.href, { auth: { bearer: "t" } }),
  await seen(there.href, { headers: { Authorization: "own" } }));
console.log(await seen(there.href, { query: { a: 1 } }));
"#;
    let text = scenario_with("const target = param.url(\"target\");", body, "").replace("target: param.url(\"target\")", "target");
    run(&text, async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["Basic dXM6cHc= Basic dXM6cHc= none", "none Bearer t own", "Basic dXM6cHc="]);
    });
    // In the scenario's target, for each request to its origin.
    let body = r#"
console.log((await user.get("/echo")).json("$.headers.authorization", "none"), (await user.get("/echo?q=ü")).json("$.headers.authorization", "none"));
console.log((await user.get("/echo", { auth: { bearer: "t" } })).json("$.headers.authorization"));
"#;
    let text = scenario_with("const target = param.url(\"target\");", body, ", { target: target.replace('://', '://us:pw@') }");
    let text = text.replace("target: param.url(\"target\")", "target");
    run(&text, async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["Basic dXM6cHc= Basic dXM6cHc=", "Bearer t"]);
    });
}

#[test]
fn the_path_of_the_target_precedes_each_relative_path_and_no_other() {
    let body = r#"
const path = async (url, options) => (await user.get(url, options)).json("$.path");
console.log(await path("/task"), await path("task"), await path("/täsk"), await path("/task", { query: { a: "b" } }), await path(""));
console.log(await path(new URL("/task", origin)), await path(`${origin}/task`), await path("/../redirect"));
console.log((await user.post("/task", { json: {} })).json("$.path"));
user.cookies.set("a", "1", "/task");
console.log((await user.get("/task")).json("$.headers.cookie"), user.cookies.get("a"), user.cookies.get("a", `${origin}/`));
"#;
    for end in ["/engine-rest", "/engine-rest/"] {
        let text = scenario_with("const origin = param.url(\"target\");", body, "");
        let text = text.replace("target: param.url(\"target\")", &format!("target: `${{origin}}{end}`"));
        run(&text, async |worker| {
            assert_eq!(worker.iterate(0).await, PASSED, "{:?}", worker.texts());
            let (base, task) = (end, "/engine-rest/task");
            // The redirect is relative to the host.
            let expected = [
                format!("{task} {task} /engine-rest/t%C3%A4sk {task}?a=b {base}"),
                "/task /task /echo?from=redirect".to_owned(),
                task.to_owned(),
                "a=1 1 1".to_owned(),
            ];
            assert_eq!(worker.texts(), expected);
            let snapshot = worker.drain();
            assert!(snapshot.series.iter().any(|series| &*series.key.name == "GET /engine-rest/task"));
        });
    }
    // Of a scenario, too.
    let text = scenario_with(
        "const origin = param.url(\"target\");",
        "console.log((await user.get('/task')).json('$.path'));",
        ", { target: `${origin}/own` }",
    );
    run(&text.replace("target: param.url(\"target\")", "target: `${origin}/other`"), async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["/own/task"]);
    });
}

#[test]
fn several_values_of_one_header_are_several_lines() {
    let text = scenario_with(
        "",
        "console.log((await user.get('/lines', { headers: { 'X-A': ['1', 2] } })).json('$.lines'));",
        ", { headers: { 'x-a': 'scenario' } }",
    );
    run(&text, async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["X-A: 1|X-A: 2"]);
    });
}

#[test]
fn a_name_in_two_spellings_is_sent_as_written() {
    let text = scenario_with(
        "",
        "console.log((await user.get('/lines', { headers: { 'X-A': '1', 'X-B': '2', 'x-a': '3' } })).json('$.lines'));
         console.log((await user.get('/lines', { headers: { 'X-SCENARIO': '1' } })).json('$.lines'));",
        ", { headers: { 'x-scenario': 'scenario' } }",
    );
    run(&text, async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["x-scenario: scenario|X-A: 1|X-B: 2|x-a: 3", "X-SCENARIO: 1"]);
    });
}

#[test]
fn a_method_is_sent_as_written() {
    let body = "for (const method of ['patch', 'get', 'pUrGe']) console.log((await user.request(method, '/p')).json('$.method'));";
    run(&scenario(body), async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        assert_eq!(worker.texts(), ["patch", "get", "pUrGe"]);
    });
}

#[test]
fn odd_headers_and_trailers_of_a_response_are_readable() {
    let body = r#"
const odd = await user.get("/proto");
console.log(odd.ok, Object.keys(odd.headers).includes("__proto__"), Object.getOwnPropertyDescriptor(odd.headers, "__proto__")?.value, odd.header("__proto__"));
console.log(JSON.stringify(odd.headers["x-odd"]));
const chunked = await user.get("/trailers");
console.log(chunked.text, JSON.stringify(chunked.trailers), JSON.stringify(odd.trailers));
"#;
    run(&scenario(body), async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED, "{:?}", worker.texts());
        assert_eq!(worker.texts(), ["true true b b", r#""a\u0001b""#, r#"a {"x-sum":"7, 8"} {}"#]);
    });
}

#[test]
fn a_compressed_body_names_its_coding() {
    let body = r#"
for (const compress of ["gzip", "deflate", "br", "zstd"]) {
  const r = await user.post("/p", { json: "x".repeat(1000), compress });
  const { headers } = r.json();
  console.log(headers["content-encoding"], headers["content-type"], Number(headers["content-length"]) < 100);
}
for (const options of [{ body: "x", compress: "gzip", headers: { "content-encoding": "br" } }, { compress: "br" }, { body: "x", compress: "lz4" }])
  try { await user.post("/p", options); } catch (error) { console.log(error.message); }
"#;
    run(&scenario(body), async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED, "{:?}", worker.texts());
        let sent = ["gzip", "deflate", "br", "zstd"].map(|name| format!("{name} application/json true"));
        let refused = [
            "compress: remove the Content-Encoding header: Loadstone sends it",
            "compress: the request has no body",
            "compress: expected \"gzip\", \"deflate\", \"br\" or \"zstd\"",
        ];
        assert_eq!(worker.texts(), [&sent[..], &refused.map(str::to_owned)].concat());
    });
}

#[test]
fn each_attempt_of_a_retried_request_is_a_request() {
    let body = r#"
const wait = "10ms";
const seen = (r) => console.log(r.ok, r.status, r.attempts);
seen(await user.get("/flaky", { name: "F", retry: { times: 3, wait: "500ms" } }));
seen(await user.get("/status/500", { name: "S", retry: { times: 3, wait } }));
seen(await user.get("/status/404", { name: "T", retry: { times: 2, on: "4xx", wait } }));
seen(await user.get("/status/404", { name: "E", expect: { status: 404 }, retry: { times: 2, on: 404, wait } }));
for (const retry of [{ times: 0 }, { times: 1, on: "often" }, { times: 11 }, {}])
  try { await user.get("/", { retry }); } catch (error) { console.log(error.message.slice(0, 40)); }
"#;
    run(&scenario(body), async |worker| {
        worker.iterate(0).await;
        let texts = worker.texts();
        assert_eq!(texts[..4], ["true 200 3", "false 500 1", "false 404 3", "true 404 1"], "{texts:?}");
        let times = "retry.times: expected the number of retr";
        assert_eq!(texts[4..], [times, "retry.on: expected a status, a class suc", times, times]);
        let snapshot = worker.drain();
        let counted = |name: &str| {
            let series = snapshot.series.iter().find(|series| series.key.kind == SeriesKind::Request && &*series.key.name == name);
            series.map(|series| (series.count, series.failed, series.response.count()))
        };
        assert_eq!((counted("F"), counted("F retry")), (Some((1, 1, 1)), Some((2, 1, 2))));
        assert_eq!((counted("S"), counted("S retry")), (Some((1, 1, 1)), None));
        assert_eq!((counted("T"), counted("T retry")), (Some((1, 1, 1)), Some((2, 2, 2))));
        assert_eq!((counted("E"), counted("E retry")), (Some((1, 0, 1)), None));
        // No attempt's time includes a wait.
        let slowest =
            snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| series.response.max()).max();
        assert!(slowest < Some(500_000_000), "{slowest:?}");
    });
}

#[test]
fn a_repeated_attempt_does_not_fail_its_iteration() {
    let text =
        scenario_with("", "await user.get('/flaky', { name: 'F' });\nawait user.get('/status/503', { name: 'N', retry: false });", "");
    let with = |options: &str| text.replace("export default test({", &format!("export default test({{ options: {{ {options} }},"));
    run(&with("retry: { times: 2, wait: '1ms' }"), async |worker| {
        assert_eq!(worker.iterate(0).await, IterationEnd::Ended(Outcome::Step));
        let names: Vec<_> = worker.drain().series.iter().map(|series| (series.key.name.to_string(), series.count, series.failed)).collect();
        assert!(names.contains(&("F retry".to_owned(), 2, 1)) && names.contains(&("N".to_owned(), 1, 1)), "{names:?}");
        assert!(!names.iter().any(|(name, ..)| name == "N retry"), "{names:?}");
    });
    let passing = with("retry: { times: 2, wait: '1ms' }").replace("await user.get('/status/503', { name: 'N', retry: false });", "");
    run(&passing, async |worker| assert_eq!(worker.iterate(0).await, PASSED));
}

#[test]
fn cookies_and_timers_refuse_what_they_would_change() {
    let body = "for (const act of [() => user.cookies.set('q', 'a;b'), () => setTimeout(() => {}, 3e9), () => setInterval(() => {}, Infinity)])\n\
                  try { act(); user.log('accepted'); } catch (error) { user.log(error.message); }";
    run(&scenario(body), async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED);
        let texts = worker.texts();
        assert!(texts[0].starts_with("cookies.set(\"q\", …): a cookie's value cannot contain a semicolon"), "{texts:?}");
        assert!(texts[1].starts_with("setTimeout: 3000000000 ms is longer than the limit of 2147483647 ms"), "{texts:?}");
        assert!(texts[2].starts_with("setInterval: inf ms is longer"), "{texts:?}");
    });
}

#[test]
fn bodies_are_text_in_their_charset_and_json_may_have_a_mark() {
    let body = r#"
const page = await user.get("/latin1", { expect: { text: "Café" } });
console.log(page.text, page.ok, (await user.post("/echo", { form: { q: page.text } })).json("$.body"));
const marked = await user.get("/mark", { expect: { json: { "$.a": "b" } } });
console.log(marked.ok, marked.json("$.a"), marked.json().a, marked.jsonAll("$..a")[0], marked.bytes.length);
const latin = await user.get("/latin1.json", { expect: { json: { "$.a": "Café" } } });
console.log(latin.ok, latin.json("$.a"), latin.json().a, latin.jsonAll("$..a")[0]);
"#;
    run(&scenario(body), async |worker| {
        assert_eq!(worker.iterate(0).await, PASSED, "{:?}", worker.texts());
        assert_eq!(worker.texts(), ["Café true q=Caf%C3%A9", "true b b b 13", "true Café Café Café"]);
    });
}
