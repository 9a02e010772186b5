//! Scripts of k6, line by line: what stands there, and what becomes of it.

use loadstone_import::{Choices, Format, Input, NoteKind};

use crate::{import, written};

/// A script whose default function holds these lines.
fn script(lines: &str) -> String {
    format!(
        "import http from 'k6/http'; import exec from 'k6/execution'; import encoding from 'k6/encoding';\n\
         import {{ check, group, sleep, fail }} from 'k6'; import {{ Rate, Gauge }} from 'k6/metrics';\n\
         import {{ browser }} from 'k6/browser';\n\
         const hits = new Rate('hits'), level = new Gauge('level');\n\
         export default function () {{\n{lines}\n}}\n"
    )
}

#[test]
fn steps_have_loadstones_words() {
    for (k6, here) in [
        ("http.get('/a');", "await user.get('/a');"),
        ("http.del('/a');", "await user.delete('/a');"),
        ("http.post('/a', null, { timeout: 500 });", "await user.post('/a', { timeout: \"500ms\" });"),
        ("http.post('/a', { x: 1 });", "await user.post('/a', { form: { x: 1 } });"),
        ("http.post('/a', 'text');", "await user.post('/a', { body: 'text' });"),
        ("http.post('/a', 'x', { compression: 'gzip' });", "await user.post('/a', { body: 'x', compress: \"gzip\" });"),
        ("http.put('/a', JSON.stringify([1]));", "await user.put('/a', { json: [1] });"),
        ("http.request('PATCH', '/a', 'x');", "await user.patch('/a', { body: 'x' });"),
        ("http.get('http://ann:pw@a.test/x');", "await user.get(\"http://a.test/x\", { auth: { username: \"ann\", password: \"pw\" } });"),
        ("http.request('PURGE', '/a');", "await user.request('PURGE', '/a');"),
        ("http.get(http.url`/a/${1}`);", "await user.get(`/a/${1}`, { name: \"/a/{1}\" });"),
        ("http.get('/a', { tags: { name: 'A', b: 'c' } });", "await user.get('/a', { name: 'A', tags: { b: 'c' } });"),
        ("http.get('/a', { cookies: { k: 'v' } });", "await user.get('/a', { headers: { cookie: `k=v` } });"),
        (
            "http.get('/a', { responseCallback: http.expectedStatuses({ min: 400, max: 499 }, 503) });",
            "await user.get('/a', { expect: { status: [\"4xx\", 503] } });",
        ),
        ("const status = http.get('/a').status;", "const status = (await user.get('/a')).status;"),
        ("sleep(0.5);", "await user.pause(\"500ms\");"),
        ("sleep(Math.random() * 2 + 1);", "await user.pause(\"uniform(1s, 3s)\");"),
        ("const r = http.get('/a'); r.json('a.0.b-c');", "r.json(\"$.a[0]['b-c']\", undefined);"),
        ("const r = http.get('/a'); r.timings.waiting;", "r.times.wait;"),
        ("const r = http.get('/a'); r.headers['X-A'];", "r.header(\"X-A\");"),
        ("const r = http.get('/a'); r.html().find('h1').text();", "r.css('h1', {}, \"\");"),
        ("const r = http.get('/a'); check(r, { ok: (a) => a.body.length > 1 });", "user.check(\"ok\", r.text.length > 1);"),
        (
            "const r = http.get('/a'); if (!check(r, { ok: (a) => a.json() })) fail('x');",
            "if (!user.check(\"ok\", Boolean(r.json()))) user.fail('x');",
        ),
        ("hits.add(1); level.add(2);", "hits.add(Boolean(1)); level.set(2);"),
        ("exec.vu.idInTest;", "(user.number + 1);"),
        ("encoding.b64decode('YQ', 'rawurl', 's');", "base64url.decodeText('YQ');"),
        ("group('g', () => { http.get('/a'); });", "await user.group('g', async () => { await user.get('/a'); });"),
    ] {
        let text = written(Format::K6, &script(k6));
        assert!(text.contains(here), "{k6}\n{here}\n{text}");
    }
}

#[test]
fn what_has_no_counterpart_is_a_comment_with_what_needs_it() {
    let text =
        script("http.get('/a');\nconst page = browser.newPage();\nif (page) page.close();\nfor (const x of [1]) page.x(x);\nsleep(1);");
    let imported = import(Format::K6, &text).unwrap();
    for line in imported.text.lines().filter(|line| line.contains("page")) {
        assert!(line.trim_start().starts_with("//"), "{line}\n{}", imported.text);
    }
    assert!(imported.text.contains("await user.get('/a');") && imported.text.contains("await user.pause(\"1s\");"), "{}", imported.text);
    let left_out: Vec<_> = imported.notes.iter().filter(|note| note.kind == NoteKind::LeftOut).map(|note| note.line).collect();
    assert_eq!(left_out, [Some(7), Some(8), Some(9)], "{:?}", imported.notes);
}

#[test]
fn clients_of_grpc_are_a_target_and_calls() {
    let script = |lines: &str| {
        format!(
            "import grpc from 'k6/net/grpc';\nimport {{ Client, Stream, StatusNotFound }} from 'k6/net/grpc'; import {{ check, sleep }} from 'k6';\n\
             const HOST = __ENV.HOST || '127.0.0.1:1';\nconst client = new Client();\nclient.load(['protos'], 'a.proto', '../b.proto');\n\
             export default function () {{\nclient.connect(HOST, {{ plaintext: true, reflect: true }});\n{lines}\nclient.close();\n}}\n"
        )
    };
    let text = written(Format::K6, &script("client.invoke('s.S/M', {});"));
    for part in [
        "proto(\"protos/a.proto\", { imports: [\"protos\"] });\nproto(\"./b.proto\");",
        "target: `http://${HOST}`,",
        "options: { grpcReflection: true },",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("client"), "{text}");
    for (k6, here) in [
        ("client.invoke('s.S/M', { a: 1 });", "await user.grpc('s.S/M', { a: 1 });"),
        ("client.invoke('s.S/M', null, { timeout: 500 });", "await user.grpc('s.S/M', {}, { timeout: \"500ms\" });"),
        (
            "client.invoke('s.S/M', {}, { metadata: { k: 'v' }, tags: { name: 'N', t: 'u' } });",
            "await user.grpc('s.S/M', {}, { metadata: { k: 'v' }, name: 'N', tags: { t: 'u' } });",
        ),
        (
            "const r = client.invoke('s.S/M', {}); check(r, { ok: (a) => a.status === grpc.StatusOK });",
            "user.check(\"ok\", r.status === \"OK\");",
        ),
        ("const r = client.invoke('s.S/M', {}); if (r.status !== StatusNotFound) sleep(1);", "if (r.status !== \"NOT_FOUND\")"),
        ("const r = client.invoke('s.S/M', {}); if (r.status == 14) sleep(1);", "if (r.status == \"UNAVAILABLE\")"),
        ("const r = client.invoke('s.S/M', {}); console.log(r.error.message, r.error?.code);", "console.log(r.details, r.status);"),
        (
            "const r = client.healthCheck(); check(r, { ok: (a) => a.status === grpc.HealthCheckServing });",
            "r.message?.status === \"SERVING\"",
        ),
        (
            "const s = new Stream(client, 's.S/M', { metadata: { k: 'v' } });",
            "const s = new K6Stream(user, 's.S/M', { metadata: { k: 'v' } });",
        ),
    ] {
        let text = written(Format::K6, &script(k6));
        assert!(text.contains(here), "{k6}\n{here}\n{text}");
    }
}

#[test]
fn unsupported_grpc_client_calls_are_reported() {
    for (lines, reason) in [
        ("const other = new grpc.Client(); other.invoke('s.S/M', {});", "no `connect` call of this client"),
        ("const here = 'a:' + __VU; client.connect(here); client.invoke('s.S/M', {});", "computed while an iteration runs"),
        ("client.connect('a:1'); client.invoke('s.S/M', {}); client.connect('b:2');", "one server"),
        ("client.connect('a:1'); client.invoke('s.S/M', {}); help(client);", "passed on"),
        ("client.connect('a:1'); client.loadProtoset('x.bin'); client.invoke('s.S/M', {});", "no counterpart"),
        ("client.connect('a:1', { maxReceiveSize: 5 }); client.invoke('s.S/M', {});", "bodyBytesMax"),
    ] {
        let text = format!(
            "import grpc from 'k6/net/grpc'; import http from 'k6/http';\nconst client = new grpc.Client();\nfunction help(c) {{ c.close(); }}\n\
             export default function () {{ http.get('http://a.test/'); {lines} }}\n"
        );
        let imported = import(Format::K6, &text).unwrap();
        let is_reported = imported.notes.iter().any(|note| note.text.contains(reason));
        assert!(is_reported, "{lines}\n{reason}\n{:?}\n{}", imported.notes, imported.text);
    }
}

#[test]
fn a_summary_that_writes_its_data_stays() {
    let script = |summary: &str| {
        format!(
            "import http from 'k6/http'; import {{ textSummary }} from 'https://jslib.k6.io/k6-summary/0.0.2/index.js';\n\
             export default function () {{ http.get('http://a.test/'); }}\n{summary}\n"
        )
    };
    let whole = "export function handleSummary(data) {\n  return {\n    'out.json': JSON.stringify(data, null, 2),\n    \
                 stdout: textSummary(data, { indent: ' ' }),\n  };\n}";
    let imported = import(Format::K6, &script(whole)).unwrap();
    assert!(
        imported
            .text
            .contains("export function summarize(data: RunSummary) {\n  return {\n    'out.json': JSON.stringify(data, null, 2),\n  };\n}"),
        "{}",
        imported.text
    );
    assert!(imported.notes.iter().all(|note| note.kind == NoteKind::Changed), "{:?}", imported.notes);
    let printed = written(Format::K6, &script("export const handleSummary = (data) => ({ stdout: textSummary(data) });"));
    assert!(!printed.contains("summar"), "{printed}");
    for summary in [
        "export function handleSummary(data) { return { stdout: `${data.metrics.checks.values.rate}` }; }",
        "export function handleSummary(data) { send(data); return { 'a.json': JSON.stringify(data) }; }",
        "export function handleSummary(data) { return { 'a.json': JSON.stringify(data.metrics) }; }",
    ] {
        let imported = import(Format::K6, &script(summary)).unwrap();
        assert!(imported.text.contains("// export function handleSummary") && imported.text.contains("// Left out"), "{}", imported.text);
    }
}

#[test]
fn omissions_in_imported_local_files_are_reported() {
    let script = "import { look } from './lib/page.js'; import { buy } from './lib/shop.js';\n\
                  export const options = { scenarios: { lookers: { executor: 'constant-vus', vus: 1, duration: '1s', exec: 'lookers' },\n\
                  buyers: { executor: 'constant-vus', vus: 1, duration: '1s', exec: 'buyers' } } };\n\
                  export function lookers() { look('/'); }\nexport function buyers() { buy(); }\n";
    let read = |path: &str| {
        Some(match path {
            "lib/page.js" => {
                "import { browser } from 'k6/browser';\nexport async function look(url) {\n  const page = await browser.newPage();\n}\n"
                    .to_owned()
            }
            "lib/shop.js" => "import http from 'k6/http';\nexport function buy() { http.get('http://a.test/'); }\n".to_owned(),
            _ => return None,
        })
    };
    let choices = Choices { pauses: true, assets: true, all_hosts: false };
    let imported =
        loadstone_import::import(Format::K6, &Input { name: "main.js", text: script, folder: "", read: &read, choices }).unwrap();
    let omissions: Vec<&str> = imported.notes.iter().filter(|note| note.kind == NoteKind::LeftOut).map(|note| note.text.as_str()).collect();
    assert!(
        omissions.iter().any(|text| text.starts_with("lib/page.js:3: `const page") && text.contains("does not drive a browser")),
        "{omissions:?}"
    );
    assert!(omissions.contains(&"scenario \"lookers\": nothing of it could be translated"), "{omissions:?}");
    assert!(imported.text.contains("buyers") && !imported.text.contains("scenario(\"lookers\""), "{}", imported.text);
}

#[test]
fn functions_are_handed_their_user_only_where_they_act() {
    let text = "import http from 'k6/http';\n\
                const plain = (a) => a + 1;\n\
                function visit(path) { return http.get(path); }\n\
                const twice = path => { visit(path); visit(path); };\n\
                class Shop { open() { visit('/'); } }\n\
                export default function () { const shop = new Shop(); shop.open(); twice('/a' + plain(1)); }\n";
    let text = written(Format::K6, text);
    for part in [
        "const plain = (a: any) => a + 1;",
        "async function visit(user: User, path: any) { return await user.get(path); }",
        "const twice = async (user: User, path: any) => { await visit(user, path); await visit(user, path); };",
        "class Shop { async open(user: User) { await visit(user, '/'); } }",
        "await shop.open(user); await twice(user, '/a' + plain(1));",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn names_that_the_script_has_given_away_stay_its_own() {
    let text = "import http from 'k6/http';\nexport const options = { vus: 2, duration: '1s' };\nconst users = [1], user = 2;\n\
                export function setup() { return users; }\nexport default function (data) { http.get('/' + user + data); }\n";
    let text = written(Format::K6, text);
    for part in [
        "users as loadstoneUsers",
        "async function iterate(vu: User, data: any)",
        "loadstoneUsers(2).for(\"1s\")",
        "const prepared = setup(prepare);",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn every_executor_has_its_profile() {
    for (scenario, profile) in [
        ("executor: 'constant-vus', vus: 5, duration: '90s'", "users(5).for(\"1m30s\")"),
        (
            "executor: 'ramping-vus', startVUs: 0, stages: [{ duration: '1m', target: 9 }, { duration: '0s', target: 3 }, { duration: '2m', target: 3 }]",
            "users.ramp(0, 9).for(\"1m\").then(users(3).for(\"2m\"))",
        ),
        ("executor: 'shared-iterations', vus: 3, iterations: 9, maxDuration: '5m'", "iterations(9).users(3).for(\"5m\")"),
        ("executor: 'per-vu-iterations', vus: 3, iterations: 9", "iterations(9).users(3).perUser()"),
        (
            "executor: 'constant-arrival-rate', rate: 30, timeUnit: '1m', duration: '1h', preAllocatedVUs: 4, maxVUs: 8",
            "arrivals(\"30/m\").for(\"1h\").maxUsers(8)",
        ),
        (
            "executor: 'ramping-arrival-rate', startRate: 10, timeUnit: '1s', stages: [{ duration: '1m', target: 20 }], startTime: '5s', gracefulStop: '0s'",
            "arrivals.ramp(10, 20).for(\"1m\").gracefulStop(\"0s\").startAfter(\"5s\")",
        ),
    ] {
        let text = format!(
            "import http from 'k6/http';\nexport const options = {{ scenarios: {{ one: {{ {scenario} }} }} }};\nexport default () => {{ http.get('/'); }};\n"
        );
        let text = written(Format::K6, &text);
        assert!(text.contains(&format!("load: one.run({profile}),")), "{profile}\n{text}");
    }
}

#[test]
fn a_deeply_nested_script_ends_nothing() {
    for depth in [3_000, 100_000] {
        let nested = "[".repeat(depth) + &"]".repeat(depth);
        let text = format!("export default function () {{ const a = {nested}; }}\n");
        let choices = Choices { pauses: true, assets: true, all_hosts: true };
        let input = Input { name: "main.js", text: &text, folder: "", read: &|_| None, choices };
        let refused =
            loadstone_import::import(Format::K6, &input).is_err_and(|error| error.to_string().contains("nested more than 5000 deep"));
        assert_eq!(refused, depth > 5_000);
    }
}
