//! Code that runs before and after the load, and before and after each user's iterations.

use loadstone_stub::{Behaviour, Server, Wait};
use rustix::process::Signal;

use crate::harness::{Ended, Folder, server};

const FAILED: i32 = 3;
const INTERRUPTED: i32 = 130;
const SET_UP_FAILED: i32 = 7;

/// A test with these lines before its `export`, this load and these other parts.
fn script(lines: &str, parts: &str) -> String {
    format!(
        r#"import {{ arrivals, failures, iterations, scenario, setup, teardown, test, users }} from "loadstone";
const say = (...words) => console.log("row", ...words);
{lines}
export default test({{ target: "{}", {parts} }});
"#,
        server::nginx()
    )
}

fn run(lines: &str, parts: &str) -> Ended {
    Folder::new().file("t.load.ts", &script(lines, parts)).run(&["run", "t.load.ts", "--workers", "2"])
}

#[test]
fn what_a_set_up_returns_is_there_for_all_users_and_neither_it_nor_the_tear_down_is_measured() {
    let ended = run(
        r#"const made = setup(async (user) => { await user.get("/"); say("set up"); return { list: [1, 2], when: "now" }; });
           const s = scenario("S", async (user) => { await user.get("/"); user.check("there", made.value.list[1] === 2 && made.value.when === "now"); });
           teardown(async (user) => { await user.get("/"); say("tear down", made.value.when); });"#,
        "load: s.run(iterations(1).users(4).perUser())",
    )
    .passes();
    assert_eq!(ended.printed(), ["set up", "tear down now"], "{}", ended.everything());
    let summary = ended.summary();
    let totals = &summary["totals"];
    assert_eq!(
        (&totals["checks_passed"], &totals["requests"], &totals["iterations"]),
        (&4.into(), &4.into(), &4.into()),
        "{}",
        ended.everything()
    );
    assert_eq!(totals["arrivals_due"], 0, "closed load has none\n{}", ended.everything());
    assert_eq!(summary["scenarios"].as_array().unwrap().len(), 1, "{}", ended.everything());
}

#[test]
fn a_set_up_with_any_failure_ends_the_run_before_its_load_and_the_tear_down_runs() {
    for (fails, expected) in [
        (r#"await user.get("/nothing-there")"#, "404"),
        (r#"throw new Error("no keys")"#, "no keys"),
        (r#"(await user.get("/")).json("$.key")"#, "t.load.ts:3:"),
    ] {
        let lines = format!(
            r#"const made = setup(async (user) => {{ {fails}; }});
            const s = scenario("S", async (user) => {{ say("load"); await user.get("/"); }});
            teardown(async (user) => {{ say("tear down"); }});"#
        );
        let ended = run(&lines, "load: s.run(arrivals(20).for(\"2s\"))").code(SET_UP_FAILED);
        let ended = ended.says("the set-up \"Set-up\" failed, so the rest of the test did not run");
        assert!(ended.errors().contains(expected), "{expected}\n{}", ended.everything());
        assert_eq!(ended.printed(), ["tear down"], "{}", ended.everything());
    }
}

#[test]
fn the_tear_down_runs_after_ctrl_c_and_after_a_threshold_that_stops_the_run() {
    let tear_down = r#"teardown(async (user) => { const r = await user.get("/"); say("tear down", r.status); });"#;
    let lines = |body: &str| format!("const s = scenario(\"S\", async (user) => {{ {body} }});\n{tear_down}");
    let text = script(&lines(r#"say("load"); await user.pause("100s");"#), "load: s.run(users(1).for(\"100s\").gracefulStop(\"1s\"))");
    let folder = Folder::new().file("t.load.ts", &text);
    let running = folder.start(&["run", "t.load.ts", "--workers", "2"]);
    server::wait_until("the load", || {
        folder.runs().iter().any(|run| std::fs::read_to_string(run.join("console.log")).is_ok_and(|text| text.contains("row load")))
    });
    running.signal(Signal::INT);
    let ended = running.ended().code(INTERRUPTED);
    assert_eq!(ended.printed(), ["load", "tear down 200"], "{}", ended.everything());
    assert_eq!(ended.summary()["totals"]["iterations_interrupted"], 1, "{}", ended.everything());
    // Closed load: on a busy machine, late arrivals would make the run invalid. So would responses as short as the machine's own delays.
    let slow =
        Server::builder().route("GET /nothing-there", Behaviour::new().status(404).wait(Wait::fixed_ns(50_000_000))).start().unwrap();
    let stopped = "load: s.run(users(1).for(\"60s\")), thresholds: [failures().count.equals(0).abortEarly()]";
    let ended = run(&lines(&format!(r#"await user.get("{}");"#, slow.url("/nothing-there"))), stopped).code(FAILED);
    assert_eq!(ended.printed(), ["tear down 200"], "{}", ended.everything());
}

#[test]
fn each_user_starts_once_and_ends_once_and_neither_is_measured() {
    let parts = |measure: &str| {
        let lines = format!(
            r#"const s = scenario("S", async (user) => {{ await user.get("/"); user.check("begun", user.state.began === true); }}, {{
                 onStart: async (user) => {{ await user.get("/"); user.state.began = true; say("start", user.number); }},
                 onEnd: async (user) => {{ await user.get("/"); say("end", user.number, user.state.began); }}, {measure}
               }});"#
        );
        run(&lines, "load: s.run(iterations(3).users(2).perUser())").passes()
    };
    let ended = parts("");
    let mut printed = ended.printed();
    printed.sort();
    assert_eq!(printed, ["end 0 true", "end 1 true", "start 0", "start 1"], "{}", ended.everything());
    let totals = ended.summary()["totals"].clone();
    assert_eq!(
        (&totals["requests"], &totals["iterations"], &totals["checks_passed"]),
        (&6.into(), &6.into(), &6.into()),
        "{}",
        ended.everything()
    );
    let totals = parts("measureStartAndEnd: true").summary()["totals"].clone();
    assert_eq!((&totals["requests"], &totals["iterations"]), (&10.into(), &6.into()));
}

#[test]
fn a_user_whose_start_fails_runs_no_iterations_and_the_error_is_reported() {
    let ended = run(
        r#"const s = scenario("S", async (user) => { await user.get("/"); }, {
             onStart: async (user) => { if (user.number === 1) throw new Error("no such account"); },
           });"#,
        "load: s.run(iterations(3).users(2).perUser())",
    )
    .code(FAILED);
    assert_eq!(ended.summary()["totals"]["iterations"], 3, "{}", ended.everything());
    assert!(ended.errors().contains("no such account"), "{}", ended.everything());
}

/// The missing load is not the generator's fault.
#[test]
fn the_first_finding_is_that_every_on_start_failed() {
    let ended = run(
        r#"const s = scenario("Shop", async (user) => { await user.get("/"); }, {
             onStart: async (user) => { throw new Error("no such account"); },
           });"#,
        "load: s.run(users(3).for(\"2s\"))",
    )
    .code(4);
    let summary = ended.summary();
    let claim = summary["verdict"]["findings"]["findings"][0]["claim"].as_str().unwrap_or_default();
    assert!(
        claim.starts_with("No user of \"Shop\" began: onStart failed for all of them (") && claim.contains("no such account"),
        "{}",
        ended.everything()
    );
    ended.says("scenario \"Shop\": onStart failed for every user, 3 times").does_not_say("generator reached its limit");
}

#[test]
fn a_part_of_the_load_may_start_later_than_a_concurrent_part() {
    let ended = run(
        r#"const early = scenario("Early", (user) => user.get("/"));
           const late = scenario("Late", (user) => { say("late", user.scenario); return user.get("/"); });"#,
        "load: [early.run(arrivals(10).for(\"1s\")), late.run(arrivals(10).for(\"1s\").startAfter(\"2s\"))]",
    )
    .passes();
    let summary = ended.summary();
    assert!(summary["totals"]["duration_seconds"].as_f64().unwrap() >= 3.0, "{}", ended.everything());
    assert_eq!(summary["totals"]["iterations"], 20, "{}", ended.everything());
}

#[test]
fn contradictory_set_up_and_tear_down_are_refused() {
    for (lines, load, expected) in [
        (
            r#"const s = scenario("S", () => {}, { onStart: () => {} });"#,
            "s.run(arrivals(1).for(\"1s\"))",
            "in open load every arrival is a new visitor",
        ),
        (r#"const s = scenario("S", () => {}, { onStrat: () => {} });"#, "s.run(iterations(1))", "did you mean `onStart`?"),
        (r#"const s = scenario("S", () => {}); setup(() => 1); setup(() => 2);"#, "s.run(iterations(1))", "a test has one"),
        (r#"const s = scenario("S", () => {}); const a = setup(() => 1); a.value;"#, "s.run(iterations(1))", "the set-up has no value"),
    ] {
        run(lines, &format!("load: {load}")).code(2).says(expected);
    }
}
