//! Broken tests fail, and report why.

use crate::harness::{Folder, once, server};

const USAGE: i32 = 2;
const FAILED: i32 = 3;
const SET_UP_FAILED: i32 = 7;

#[test]
fn a_set_up_that_throws_ends_the_run_before_its_load() {
    let test = r#"import { arrivals, once, scenario, sequence, test } from "loadstone";
const prepare = scenario("Prepare", async (user) => {
  const made = await user.get("/");
  console.log("key", made.json("$.key"));
});
const browse = scenario("Browse", async (user) => { await user.get("/", { name: "Home" }); });
const clean = scenario("Clean up", () => { console.log("cleaning"); });
export default test({ load: sequence(prepare.run(once()), browse.run(arrivals(20).for("2s")), clean.run(once())) });
"#;
    let target = format!("target: \"{}\", load:", server::nginx());
    let folder = Folder::new().file("t.load.ts", &test.replace("load: sequence", &format!("{target} sequence")));
    let ended = folder.run(&["run", "t.load.ts"]).code(SET_UP_FAILED);
    let ended = ended.says("the set-up \"Prepare\" failed, so the rest of the test did not run").says("t.load.ts:4:");
    assert!(ended.printed().is_empty(), "nothing came after it\n{}", ended.everything());
    assert_eq!(ended.summary()["totals"]["requests"], 1, "{}", ended.everything());
}

#[test]
fn a_file_that_throws_when_it_is_evaluated_again_ends_the_run_as_failed_with_its_record() {
    // The file is evaluated for the plan, for a worker's first realm, and again for users beyond the 2,000th, during the load.
    let test = format!(
        r#"import {{ arrivals, scenario, shared, test }} from "loadstone";
const worlds = shared("worlds", 0);
if (worlds.get() > 0) {{
  throw new Error("no third world");
}}
const s = scenario("S", async (user) => {{
  await user.get("/", {{ name: "Home" }});
  worlds.set(1);
  await user.pause("60s");
}});
export default test({{ target: "{}", load: s.run(arrivals(1000).for("20s")) }});
"#,
        server::nginx()
    );
    let folder = Folder::new().file("t.load.ts", &test);
    let ended = folder.run(&["run", "t.load.ts", "--workers", "1"]).code(USAGE).says("no third world").says("t.load.ts:4:");
    let summary = ended.summary();
    assert!(summary["totals"]["requests"].as_u64() > Some(0), "what was measured is kept\n{}", ended.everything());
    let [directory] = &folder.runs()[..] else { panic!("one run\n{}", ended.everything()) };
    let end = std::fs::read_to_string(directory.join("end.json")).expect("its end");
    assert!(end.contains("failed") && end.contains("no third world"), "{end}");
}

#[test]
fn an_option_that_does_not_exist_ends_the_run_even_where_its_error_is_caught() {
    let test = |options: &str| {
        format!(
            r#"import {{ arrivals, scenario, test }} from "loadstone";
const more = {{ exepct: {{ status: 200 }} }};
const s = scenario("S", async (user) => {{
  await user.get("/");
  try {{
    await user.get("/", {options});
  }} catch {{}}
}});
export default test({{ target: "{}", load: s.run(arrivals(20).for("60s")) }});
"#,
            server::nginx()
        )
    };
    let written_out = Folder::new().file("t.load.ts", &test("{ exepct: { status: 200 } }"));
    let ended = written_out.run(&["run", "t.load.ts"]).code(USAGE).says("t.load.ts:6:27").says("(did you mean `expect`?)");
    assert!(written_out.runs().is_empty(), "it never began\n{}", ended.everything());
    let passed_on = Folder::new().file("t.load.ts", &test("more"));
    let ended = passed_on.run(&["run", "t.load.ts"]).code(USAGE).says("t.load.ts:6:").says("(did you mean `expect`?)");
    assert!(ended.summary()["totals"]["requests"].as_u64() > Some(0), "what was measured is kept\n{}", ended.everything());
    passed_on.run(&["try", "t.load.ts"]).code(USAGE).says("(did you mean `expect`?)");
}

#[test]
fn an_unawaited_request_is_finished_with_a_warning() {
    let ended = once(server::nginx(), r#"user.get("/", { name: "Forgotten" });"#);
    assert_eq!(ended.outcomes("passed"), 1, "{}", ended.everything());
    ended.says("warning: scenario \"").says("does not await \"Forgotten\" (once.load.ts:");
}

#[test]
fn the_answer_to_a_failed_request_is_shown() {
    let ended = once(
        server::httpbin(),
        r#"await user.post("/post", { name: "Echo", json: { state: "open" },
             expect: { json: { "$.json.state": "closed" } } });"#,
    );
    let ended = ended.says("$.json.state is \"open\", expected \"closed\"").says("answered 200 at").says("content-type: application/json");
    let samples = &ended.summary()["errors"][0]["samples"];
    assert_eq!((samples[0]["status"].as_u64(), samples.as_array().map(Vec::len)), (Some(200), Some(1)), "{}", ended.everything());
    assert!(samples[0]["body"].as_str().unwrap().contains("open"), "{samples}");
}

/// The responses of a passing URL run are not stored.
#[test]
fn the_answer_to_a_failed_request_of_a_url_is_shown() {
    let ended = Folder::new().run(&["run", &format!("{}/nowhere", server::nginx()), "--rate", "20", "--for", "2s"]);
    let samples = &ended.summary()["errors"][0]["samples"];
    assert_eq!((samples[0]["status"].as_u64(), samples.as_array().map(Vec::len)), (Some(404), Some(3)), "{}", ended.everything());
    assert!(samples[0]["body"].as_str().unwrap().contains("404 Not Found"), "{samples}");
    ended.says("answered 404 at").says("server: nginx");
}

#[test]
fn try_shows_checks_and_expectations_and_a_failed_one_ends_with_3() {
    let test = |check: bool| {
        format!(
            r#"import {{ once, scenario, test }} from "loadstone";
const s = scenario("S", async (user) => {{
  await user.get("/get", {{ expect: {{ status: 200, json: {{ "$.url": /get/ }} }} }});
  user.check("as wanted", {check});
}});
export default test({{ target: "{}", load: s.run(once()) }});
"#,
            server::httpbin()
        )
    };
    let tried = |check| Folder::new().file("t.load.ts", &test(check)).run(&["try", "t.load.ts"]);
    tried(true)
        .code(0)
        .says("✓ expected status 200, found 200")
        .says("✓ expected $.url: a match of /get/, found")
        .says("✓ check \"as wanted\"");
    tried(false).code(FAILED).says("✗ check \"as wanted\" failed").says("1 check failed");
}

#[test]
fn try_waits_for_journeys_and_shows_what_stubs_were_asked() {
    let test = |finish: &str| {
        format!(
            r#"import {{ flow, once, scenario, stub, test }} from "loadstone";
const delivery = flow("Delivery", {{ timeout: "3s", drain: "3s" }});
const hook = stub.http({{}}).on("POST /hook", (request) => {{ {finish} return {{ status: 202 }}; }});
const s = scenario("S", async (user) => {{
  delivery.start("k1");
  await user.post(`${{hook.url}}/hook`, {{ json: {{ key: "k1" }} }});
}});
export default test({{ load: s.run(once()) }});
"#
        )
    };
    let tried = |finish: &str| Folder::new().file("t.load.ts", &test(finish)).run(&["try", "t.load.ts"]);
    let ended = tried(r#"delivery.finish(request.json("$.key"));"#).code(0).says("flow Delivery: 1 journey started, 1 finished");
    ended.says("POST /hook: 1 call, answered 1 × 202");
    tried("").code(FAILED).says("flow Delivery: 1 journey started, 0 finished, 1 ");
}
