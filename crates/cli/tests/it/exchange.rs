//! One user's requests and responses through the script API, against go-httpbin: methods, encodings, redirects, cookies, credentials, extraction.

use crate::harness::{Folder, once, once_with, server};

#[test]
fn every_method_arrives_as_such() {
    once(
        server::httpbin(),
        r#"for (const [method, call] of Object.entries({
             GET: () => user.get("/anything"), POST: () => user.post("/anything"), PUT: () => user.put("/anything"),
             PATCH: () => user.patch("/anything"), DELETE: () => user.delete("/anything"),
             REPORT: () => user.request("REPORT", "/anything"),
           })) {
             const answer = await call();
             if (answer.json("$.method") !== method) user.fail(`${method} arrived as ${answer.json("$.method")}`);
           }
           const allowed = await user.options("/anything");
           user.check("OPTIONS", allowed.header("Access-Control-Allow-Methods")?.includes("PATCH") === true);"#,
    )
    .all_checks_held();
}

#[test]
fn head_has_headers_and_no_body() {
    once(
        server::httpbin(),
        r#"const head = await user.head("/bytes/1000");
           user.check("length is announced", head.header("content-length") === "1000");
           user.check("body is empty", head.bytes.length === 0);
           user.check("the connection is usable after it", (await user.get("/get")).ok);"#,
    )
    .all_checks_held();
}

#[test]
fn answers_without_a_body_end_at_once() {
    once(
        server::httpbin(),
        r#"const none = await user.delete("/status/204");
           user.check("204", none.status === 204 && none.text === "");
           const same = await user.get("/status/304");
           user.check("304", same.status === 304 && same.text === "");
           user.check("the connection is usable after them", (await user.get("/get")).ok);"#,
    )
    .all_checks_held();
}

#[test]
fn encodings_are_decoded() {
    once(
        server::httpbin(),
        r#"user.check("gzip", (await user.get("/gzip")).json("$.gzipped") === true);
           user.check("deflate", (await user.get("/deflate")).json("$.deflated") === true);
           const utf8 = await user.get("/encoding/utf8");
           user.check("UTF-8", utf8.text.includes("∮ E⋅da = Q"));"#,
    )
    .all_checks_held();
}

#[test]
fn chunked_bodies_and_trailers_are_read_to_their_end() {
    once(
        server::httpbin(),
        r#"const stream = await user.get("/stream/50");
           user.check("chunked", stream.header("transfer-encoding") === "chunked");
           user.check("all lines", stream.text.trim().split("\n").length === 50);
           const bytes = await user.get("/stream-bytes/70000?chunk_size=997");
           user.check("all bytes", bytes.bytes.length === 70000);
           const trailers = await user.get("/trailers?x-sum=abc");
           user.check("a body before trailers", trailers.json("$.args['x-sum'][0]") === "abc");
           user.check("the connection is usable after them", (await user.get("/get")).ok);"#,
    )
    .all_checks_held();
}

#[test]
fn redirects_are_followed_and_counted() {
    once(
        server::httpbin(),
        r#"const followed = await user.get("/redirect/3");
           user.check("arrives", followed.status === 200 && followed.url.endsWith("/get"));
           const absolute = await user.get("/absolute-redirect/2");
           user.check("absolute ones too", absolute.status === 200);
           const first = await user.get("/redirect/3", { redirects: 0 });
           user.check("none when none are wanted", first.status === 302 && first.header("location") === "/relative-redirect/2");
           const moved = await user.post("/redirect-to?url=/anything&status_code=302", { json: { a: 1 } });
           user.check("302 turns POST into GET", moved.json("$.method") === "GET" && moved.json("$.data") === "");
           const kept = await user.post("/redirect-to?url=/anything&status_code=307", { json: { a: 1 } });
           user.check("307 keeps method and body", kept.json("$.method") === "POST" && kept.json("$.json.a") === 1);"#,
    )
    .all_checks_held();
}

#[test]
fn a_loop_of_redirects_ends_as_a_failed_request() {
    let ended = once(server::httpbin(), r#"const r = await user.get("/redirect/30"); user.check("failed", !r.ok);"#).fails_a_threshold();
    assert_eq!(ended.summary()["totals"]["requests_failed"], 1, "{}", ended.everything());
    assert!(ended.errors().contains("redirect"), "{}", ended.everything());
}

#[test]
fn cookies_are_kept_for_the_user_and_can_be_left_out() {
    once(
        server::httpbin(),
        r#"await user.get("/cookies/set?taste=sweet&shape=round");
           user.check("sent back", (await user.get("/cookies")).json("$.cookies.taste") === "sweet");
           user.check("readable", user.cookies.get("shape") === "round");
           user.check("left out", (await user.get("/cookies", { cookies: false })).json("$.cookies.taste", null) === null);
           await user.get("/cookies/delete?taste=");
           user.check("deleted by the server", user.cookies.get("taste") === undefined);
           user.cookies.set("mine", "1");
           user.check("set by the script", (await user.get("/cookies")).json("$.cookies.mine") === "1");
           user.cookies.clear();
           user.check("forgotten", Object.keys((await user.get("/cookies")).json("$.cookies")).length === 0);"#,
    )
    .all_checks_held();
}

#[test]
fn credentials_of_all_scopes_arrive() {
    once_with(
        server::httpbin(),
        r#"headers: { "X-From": "test", "X-Both": "test" }, auth: { username: "ann", password: "s3cret" },"#,
        r#"user.check("basic, from the test", (await user.get("/basic-auth/ann/s3cret")).json("$.user") === "ann");
           user.check("bearer, from the request", (await user.get("/bearer", { auth: { bearer: "t0ken" } })).json("$.token") === "t0ken");
           user.check("none", (await user.get("/bearer", { auth: null, expect: { status: 401 } })).status === 401);
           const headers = (await user.get("/headers", { headers: { "X-Both": "request" } })).json("$.headers");
           user.check("the test's header", headers["X-From"][0] === "test");
           user.check("the request's header wins", headers["X-Both"].length === 1 && headers["X-Both"][0] === "request");"#,
    )
    .all_checks_held();
}

#[test]
fn query_parameters_are_encoded() {
    once(
        server::httpbin(),
        r#"const r = await user.get("/get?fixed=1", { query: { text: "a b&c=d/é", list: ["x", "y"], number: 4.5, none: undefined, yes: true } });
           const args = r.json("$.args");
           user.check("text", args.text[0] === "a b&c=d/é");
           user.check("list", args.list.join() === "x,y");
           user.check("others", args.number[0] === "4.5" && args.yes[0] === "true" && args.fixed[0] === "1" && !("none" in args));"#,
    )
    .all_checks_held();
}

#[test]
fn values_are_extracted_from_responses() {
    once(
        server::httpbin(),
        r#"const json = await user.get("/json");
           user.check("JSON path", json.json("$.slideshow.slides[0].title") === "Wake up to WonderWidgets!");
           user.check("JSON path with a filter", json.json("$.slideshow.slides[?@.title == 'Overview'].items[0]").includes("WonderWidgets"));
           user.check("all values", json.jsonAll("$.slideshow.slides[*].title").length === 2);
           user.check("a fallback", json.json("$.nothing", 7) === 7);
           const html = await user.get("/html");
           user.check("CSS selector", html.css("h1") === "Herman Melville - Moby-Dick");
           user.check("regular expression", html.regex(/Herman (\w+)/)[1] === "Melville");
           const xml = await user.get("/xml");
           user.check("XPath", xml.xpath("/slideshow/slide[2]/title") === "Overview");
           const form = await user.get("/forms/post");
           user.check("an attribute", form.css("form input[name=custname]", { attribute: "name" }) === "custname");"#,
    )
    .all_checks_held();
}

#[test]
fn requests_in_parallel_share_one_moment() {
    once(
        server::httpbin(),
        r#"const begun = Date.now();
           const answers = await Promise.all([1, 2, 3, 4].map((n) => user.get(`/delay/1?n=${n}`, { name: "Slow" })));
           user.check("each has its own answer", answers.map((a) => a.json("$.args.n[0]")).join() === "1,2,3,4");
           user.check("together", Date.now() - begun < 3500);"#,
    )
    .all_checks_held();
}

#[test]
fn the_wait_for_a_connection_is_part_of_a_requests_time() {
    const HELD_S: f64 = 0.05;
    let wait = loadstone_stub::Wait::fixed_ns((HELD_S * 1e9) as u64);
    let server = loadstone_stub::Server::builder().route("GET /", loadstone_stub::Behaviour::new().wait(wait)).start().expect("a server");
    let script = format!(
        r#"import {{ iterations, scenario, test }} from "loadstone";
const burst = scenario("Burst", (user) => Promise.all([...Array(12)].map(() => user.get("/"))));
export default test({{ target: "{}", load: burst.run(iterations(10)) }});
"#,
        server.url("")
    );
    let ended = Folder::new().file("burst.load.ts", &script).run(&["run", "burst.load.ts"]).passes();
    let summary = ended.summary();
    let row = &summary["requests"][0];
    // Six connections and twelve requests: half of the requests wait for a connection that another request holds.
    let at = |times: &serde_json::Value, index: usize| times["percentiles"][index]["value"].as_f64().expect("a percentile");
    for times in [&row["response"], &row["service"]] {
        assert!(at(times, 1) >= 1.5 * HELD_S, "p75: {times}");
    }
    let (name, queue) = (&row["phases"][0][0], &row["phases"][0][1]);
    assert_eq!((name.as_str(), queue["count"].as_u64(), row["count"].as_u64()), (Some("queue"), Some(60), Some(120)), "{row}");
    let checks = summary["verdict"]["validity"]["checks"].as_array().expect("a list of checks");
    let little = checks.iter().find(|check| check["id"] == "in-flight").expect("Little's law");
    assert_eq!(little["grade"], "valid", "{little}");
}

#[test]
fn phases_and_bytes_are_measured() {
    let ended = once(
        server::httpbin(),
        r#"const r = await user.get("/drip?numbytes=2000&duration=1s&delay=1s", { name: "Drip" });
           user.check("waited for the first byte", r.times.wait >= 900);
           user.check("then for the rest", r.times.body >= 800);
           user.check("connected", r.times.connect > 0 && r.times.tls === 0);
           user.check("they add up", Math.abs(r.times.total - r.times.queue - r.times.dns - r.times.connect - r.times.wait - r.times.body) < 50);"#,
    )
    .all_checks_held();
    let row = &ended.summary()["requests"][0];
    assert!(row["bytes_received"].as_u64().unwrap() > 2000, "{row}");
    assert!(row["service"]["max"].as_f64().unwrap() >= 1.7, "{row}");
}

#[test]
fn ipv6_addresses_work() {
    let Some(address) = server::httpbin_ipv6() else { return };
    once(address, r#"user.check("host", (await user.get("/headers")).json("$.headers.Host[0]").startsWith("[::1]:"));"#).all_checks_held();
}

#[test]
fn expectations_judge_the_answer_without_throwing() {
    let ended = once(
        server::httpbin(),
        r#"const expect = { status: 200, header: { "content-type": /json/ }, text: "slideshow", json: { "$.slideshow.author": "Yours Truly" }, within: "20s" };
           const held = await user.get("/json", { expect });
           user.check("all hold", held.ok && held.error === undefined);
           const missed = await user.get("/json", { name: "Missed", expect: { json: { "$.slideshow.author": "Nobody" } } });
           user.check("one is missed", !missed.ok && missed.error.includes("$.slideshow.author"));
           const status = await user.get("/status/404", { name: "Gone" });
           user.check("404 fails by itself", !status.ok && status.status === 404);
           const wanted = await user.get("/status/404", { expect: { status: [200, 404] } });
           user.check("unless it is expected", wanted.ok);"#,
    )
    .passes();
    let summary = ended.summary();
    assert_eq!(summary["totals"]["checks_passed"], 4, "{}", ended.everything());
    assert_eq!(ended.outcomes("expect"), 1, "{}", ended.everything());
    assert_eq!(ended.outcomes("status"), 1, "{}", ended.everything());
    assert_eq!(summary["totals"]["iterations_failed"], 1, "an iteration with a failed request has failed\n{}", ended.everything());
}

#[test]
fn the_messages_of_a_websocket_are_shown_in_both_directions() {
    let script = r#"import { test, scenario, once, param } from "loadstone";
const name = param.string("name", { secret: true, default: "validator-s3" });
const only = scenario("Only", async (user) => {
  const socket = await user.ws("/validate/json/v1", { name: "Connect" });
  const answer = await socket.request(`init\n${JSON.stringify({ validator: name })}`, { name: "Init", match: /^init-response/, within: "20s" });
  user.check("it is known", answer.ok);
  await socket.close();
});
export default test({ target: "TARGET", load: only.run(once()) });
"#;
    let folder = Folder::new().file("t.load.ts", &script.replace("TARGET", &server::tickets().validation));
    let tried = folder.run(&["try", "t.load.ts"]).code(0).does_not_say("validator-s3");
    let mut rest = tried.stdout.as_str();
    for part in
        ["Only › Connect", "← 101", "Only › Init", "→ message", "{\"validator\":\"•••\"}", "Only › Connect", "← message", "\"tariffs\": "]
    {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part} is not there, or not in its place:\n{}", tried.everything()));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn try_shows_exchanges_of_redis_and_of_raw_tcp_without_their_secrets() {
    let test = format!(
        r#"import {{ once, scenario, test }} from "loadstone";
const s = scenario("S", async (user) => {{
  const redis = user.redis("redis://{0}");
  await redis.command("SET", "k", "text", {{ name: "Write" }});
  await redis.command("LPUSH", "k", "x");
  await redis.command("AUTH", "somebody", "hidden-word");
  await user.redis("redis://:veiled-word@{0}").command("ECHO", "veiled-word");
  const raw = await user.tcp("{0}", {{ name: "Connect" }});
  await raw.request("PING\r\n", {{ until: "\r\n", name: "Ping" }});
}});
export default test({{ load: s.run(once()) }});
"#,
        server::redis()
    );
    Folder::new()
        .file("t.load.ts", &test)
        .run(&["try", "t.load.ts"])
        .says(&format!("→ REDIS redis://{}/0", server::redis()))
        .says("SET k text")
        .says("← passed")
        .says("✗ error WRONGTYPE")
        .says("AUTH *** ***")
        .says(&format!("→ CONNECT tcp://{}", server::redis()))
        .says("+PONG")
        .does_not_say("hidden-word")
        .does_not_say("veiled-word");
}

#[test]
fn try_shows_statements_their_values_and_their_rows() {
    let test = r#"import { once, scenario, test } from "loadstone";
const s = scenario("S", async (user) => {
  const sql = user.sql("DATABASE");
  await sql.query("SELECT $1::int + 1 AS next, $2::text AS note, null AS nothing", [41, "seen"], { name: "Add" });
  await sql.query("INSERT INTO nowhere VALUES (1)");
  await sql.transaction(async (open) => { await open.query("SELECT 'within'::text AS place"); }, { name: "Whole" });
  await user.sql("DATABASE".replace("@", ":veiled-word@")).query("SELECT 'veiled-word' AS veiled");
});
export default test({ load: s.run(once()) });
"#;
    let database = &server::shop().database;
    let (_, place) = database.split_once('@').expect("a user in the URL");
    Folder::new()
        .file("t.load.ts", &test.replace("DATABASE", database))
        .run(&["try", "t.load.ts"])
        .says(&format!("→ SQL postgres://{place}"))
        .says("SELECT $1::int + 1 AS next")
        .says("[41,\"seen\"]")
        .says("42")
        .says("1 row")
        .says("✗ error 42P01")
        .says("INSERT nowhere")
        .says("Whole begin")
        .says("within")
        .says("Whole commit")
        .does_not_say("veiled-word");
}
