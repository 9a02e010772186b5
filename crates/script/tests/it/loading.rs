//! From a test file to a plan: the declarations, and the reports of mistakes.

use loadstone_plan::{Aggregate, ClosedStage, Comparison, Load, LoadProfile, Metric, OpenStage, ParameterOrigin, Timing, Window};
use loadstone_script::Inputs;

use crate::folder::{at, load, load_error, load_with};

#[test]
fn a_whole_test_becomes_a_plan() {
    let loaded = load_with(
        r#"
import { test, scenario, sequence, arrivals, users, once, param, responseTime, failures, requests } from "loadstone";
const rate = param.number("usersPerSecond", { default: 4, help: "new travellers per second" });
const runTime = param.duration("runTime", { default: "1m" });
const setUp = scenario("Set up", async () => {});
const buy = scenario("Buy", async (user) => { await user.get("/"); }, { headers: { "x-a": "1" } });
const look = scenario("Look", async () => {});
export default test({
  target: param.url("target", { default: "http://127.0.0.1:8080" }),
  load: sequence(setUp.run(once()), [buy.run(arrivals(rate).for(runTime)), look.run(users.ramp(0, 50).for("30s").then(users(50).for("1m")))]),
  thresholds: [
    requests().count.atLeast(1000),
    responseTime("Tap").p99.below("50ms").over("10s"),
    failures().rate.below("1%").after("5s").abortEarly(),
  ],
  options: { seed: 7, gracefulStop: "5s" },
});
"#,
        &[],
        &Inputs { parameters: vec![("usersPerSecond".into(), "2.5".into())], ..Inputs::default() },
    )
    .unwrap();
    let plan = &loaded.plan;
    assert_eq!((plan.name.as_str(), plan.target.as_deref()), ("t", Some("http://127.0.0.1:8080")));
    assert_eq!(plan.scenarios.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["Set up", "Buy", "Look"]);
    assert_eq!((plan.options.seed, plan.options.graceful_stop_ns), (7, 5_000_000_000));
    let profiles: Vec<&LoadProfile> = plan.load.leaves().iter().map(|leaf| &leaf.profile).collect();
    assert_eq!(*profiles[0], LoadProfile::burst(1));
    let rate = OpenStage::Rate { from: 2.5, to: 2.5, duration_ns: 60_000_000_000, timing: Timing::Even };
    assert_eq!(*profiles[1], LoadProfile::Open { stages: vec![rate] });
    let stages =
        vec![ClosedStage { from: 0, to: 50, duration_ns: 30_000_000_000 }, ClosedStage { from: 50, to: 50, duration_ns: 60_000_000_000 }];
    assert_eq!(*profiles[2], LoadProfile::Closed { stages });
    assert!(matches!(&plan.load, Load::Sequence(parts) if matches!(&parts[1], Load::Parallel(two) if two.len() == 2)));
    let labels: Vec<&str> = plan.thresholds.iter().map(|t| t.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "requests count at least 1000",
            "response time p99 of \"Tap\" below 50ms over 10s",
            "failures share below 1% after 5s",
            "no script errors (implied)"
        ]
    );
    let tap = &plan.thresholds[1];
    assert_eq!((&tap.metric, tap.aggregate, tap.window), (&Metric::ResponseTime, Aggregate::Quantile(0.99), Window::Every { seconds: 10 }));
    assert_eq!((tap.bound.comparison, tap.bound.value, tap.selector.name.as_deref()), (Comparison::Below, 0.05, Some("Tap")));
    let failed = &plan.thresholds[2];
    assert_eq!((failed.bound.value, failed.after_seconds, failed.abort), (0.01, 5, true));
    let parameter = &plan.parameters[0];
    assert_eq!(
        (parameter.name.as_str(), parameter.value.as_str(), parameter.origin),
        ("usersPerSecond", "2.5", ParameterOrigin::CommandLine)
    );
}

#[test]
fn shapes_of_load_become_stages() {
    let stages = |profile: &str| -> Vec<(f64, f64, u64)> {
        let text = format!(
            "import {{ test, scenario, arrivals }} from \"loadstone\";\nexport default test({{ load: scenario(\"s\", () => {{}}).run({profile}) }});"
        );
        let loaded = load(&text).unwrap_or_else(|error| panic!("{profile}: {error}"));
        let LoadProfile::Open { stages } = loaded.plan.load.leaves()[0].profile.clone() else { panic!("{profile}") };
        let rates = stages.iter().map(|stage| match stage {
            OpenStage::Rate { from, to, duration_ns, .. } => (*from, *to, duration_ns / 1_000_000),
            OpenStage::Burst { count } => (*count as f64, 0.0, 0),
            OpenStage::Replay(_) => panic!("{profile} replays a record"),
        });
        rates.collect()
    };
    assert_eq!(stages("arrivals('90/m').for('1s')"), [(1.5, 1.5, 1_000)]);
    assert_eq!(stages("arrivals.steps([1, 2, 4]).each('2s')"), [(1.0, 1.0, 2_000), (2.0, 2.0, 2_000), (4.0, 4.0, 2_000)]);
    assert_eq!(
        stages("arrivals.steps({ from: 10, to: 35, by: 10 }).for('4s')"),
        [(10.0, 10.0, 1_000), (20.0, 20.0, 1_000), (30.0, 30.0, 1_000), (35.0, 35.0, 1_000)]
    );
    assert_eq!(
        stages("arrivals.spike(1, 9, { hold: '2s', rise: '1s' }).for('10s')"),
        [(1.0, 1.0, 3_000), (1.0, 9.0, 1_000), (9.0, 9.0, 2_000), (9.0, 1.0, 1_000), (1.0, 1.0, 3_000)]
    );
}

#[test]
fn syntax_errors_show_the_place() {
    let error = load_error("const a = 1;\nconst b = (2;\n");
    assert_eq!(at(&error), "t.load.ts:2:13");
    let rendered = error.render();
    assert!(rendered.contains("2 │ const b = (2;"), "{rendered}");
    assert!(rendered.contains("  │             ^"), "{rendered}");
}

#[test]
fn a_target_has_no_part_that_no_request_sends() {
    for (target, problem) in [
        ("http://h/a?key=1", "has a query, which no request sends: write it in the requests, as `query: { … }`"),
        ("http://h/#a", "has a fragment, which no request sends: remove it"),
        ("ftp://h", "is not an http or https URL"),
    ] {
        let text = format!(
            "import {{ test, scenario, users }} from \"loadstone\";\n\
             export default test({{ target: \"{target}\", load: scenario(\"s\", () => {{}}).run(users(1).for(\"1s\")) }});"
        );
        let error = load_error(&text);
        assert!(at(&error).starts_with("t.load.ts:2"), "{}", error.render());
        assert!(error.message.contains(&format!("target: \"{target}\" {problem}")), "{}", error.render());
    }
}

#[test]
fn mistakes_in_the_plan_name_the_line_of_the_call() {
    let head = "import { test, scenario, arrivals, users, responseTime, observe, param, stub, flow, flowTime, flowLost } from \"loadstone\";\n\
                const s = scenario(\"s\", () => {});\n";
    for (line, place, part) in [
        (
            "export default test({ load: s.run(arrivals(5)) });",
            "t.load.ts:3",
            "a stage without a duration is not a load profile: add `.for(\"30s\")`",
        ),
        ("export default test({ load: s });", "t.load.ts:3", "has no load"),
        ("export default test({});", "t.load.ts:3", "the test has no load"),
        ("export default test({ load: s.run(users(1.5).for('1s')) });", "t.load.ts:3", "not a whole number"),
        ("export default test({ load: s.run(users(1).for('1 lightyear')) });", "t.load.ts:3", "not a duration"),
        ("export default test({ load: s.run(users(1).for(5)) });", "t.load.ts:3", "not a duration"),
        (
            "export default test({ loads: s.run(users(1).for('1s')) });",
            "t.load.ts:3",
            "test(…) has no option `loads` (did you mean `load`?)",
        ),
        ("export default test({ tresholds: [] });", "t.load.ts:3", "(did you mean `thresholds`?)"),
        ("s.run(arrivals(5).fro('1s'));", "t.load.ts:3", "there is no `fro` here (did you mean `for`?)"),
        ("s.run(users(5).for('1s').gracefulStp('1s'));", "t.load.ts:3", "there is no `gracefulStp` here (did you mean `gracefulStop`?)"),
        ("s.rnu(users(5).for('1s'));", "t.load.ts:3", "there is no `rnu` here (did you mean `run`?)"),
        ("responseTime().p95.belwo('1s');", "t.load.ts:3", "there is no `belwo` here (did you mean `below`?)"),
        ("responseTime().p94.below('1s');", "t.load.ts:3", "there is no `p94` here (did you mean `p9"),
        (
            "scenario('t', () => {}, { keep: { conections: true } });",
            "t.load.ts:3",
            "keep has no option `conections` (did you mean `connections`?)",
        ),
        ("scenario('t', () => {}, { auth: { user: 'a' } });", "t.load.ts:3", "auth has no option `user`; its options are: bearer, "),
        ("param.number('n', { defualt: 5 });", "t.load.ts:3", "parameter \"n\" has no option `defualt` (did you mean `default`?)"),
        ("param.string('n', { default: '', max: 5 });", "t.load.ts:3", "parameter \"n\" has no option `max`"),
        ("stub.http({ limit: { rat: 5 } });", "t.load.ts:3", "stub.http(…) limit has no option `rat` (did you mean `rate`?)"),
        ("stub.http({ faults: [{ shrae: 1, fault: 500 }] });", "t.load.ts:3", "stub.http(…) faults has no option `shrae`"),
        ("scenario(\"s\", () => {});", "t.load.ts:3", "both named \"s\""),
        ("scenario(async () => {});", "t.load.ts:3", "the first argument is its name, as in scenario(\"Buy\""),
        ("scenario(\"\", () => {});", "t.load.ts:3", "expected a text that is not empty, got "),
        ("responseTime().percentile(100);", "t.load.ts:3", "between 0 and 100"),
        ("observe.host(5, 6);", "t.load.ts:3", "observe.host(…): expected an object of options, got 6"),
        ("observe.sql({ stage: [flow('f'), 'b'] });", "t.load.ts:3", "observe.sql(…) stage: flow \"f\" has no stage \"b\""),
        ("param.number('n', { default: 5, max: 4 });", "t.load.ts:3", "above the maximum"),
        ("param.string('x', {}); ", "t.load.ts:3", "LOADSTONE_X"),
        ("stub.http({ listen: 'here' });", "t.load.ts:3", "\"here\" is not an address"),
        ("stub.http({ dealy: '1s' });", "t.load.ts:3", "stub.http(…) has no option `dealy` (did you mean `delay`?)"),
        (
            "stub.http().on('POST /a', { delay: '1s', hold: 1 });",
            "t.load.ts:3",
            "on(\"POST /a\") has no option `hold`; its options are: delay, ",
        ),
        ("const f = flow('f'); flow('f'); f.start(1);", "t.load.ts:3", "not at the top level of the file"),
        ("flow('f', { timeout: 5 });", "t.load.ts:3", "flow \"f\" timeout: 5 is not a duration"),
        ("flow('f', { stages: ['a'] }).stage('b', 1);", "t.load.ts:3", "flow \"f\" has no stage \"b\"; known: a"),
        ("flow('f').finish({});", "t.load.ts:3", "an object is not a key"),
        ("null.x;", "t.load.ts:3", "cannot read property 'x' of null"),
        ("throw 'no';", "", "thrown: no"),
    ] {
        let error = load_error(&format!("{head}{line}\n"));
        assert!(error.message.contains(part), "{line}: {error}");
        // QuickJS knows the line of a call exactly, but its column only approximately.
        assert_eq!(at(&error).rsplit_once(':').map_or("", |(line, _)| line), place, "{line}: {error}");
        // For an error about an option, the mark is under the option.
        if let Some((_, rest)) = error.message.split_once(" has no option `") {
            let option = rest.split('`').next().unwrap();
            let marked = error.place.as_ref().map(|place| (place.column as usize, place.width as usize));
            assert_eq!(marked, Some((line.find(&format!("{option}:")).unwrap() + 1, option.len())), "{}", error.render());
        }
    }
}

/// The host decides which observers exist. It receives the arguments of `observe.KIND(…)`.
#[test]
fn the_host_checks_observers_at_the_line_of_the_call() {
    fn check(description: &serde_json::Value) -> Result<(), Box<dyn std::error::Error>> {
        Err(format!("got {description}").into())
    }
    let head = "import { test, observe, flow } from \"loadstone\";\nconst f = flow('f'), g = flow('g', { stages: ['a', 'b'] });\n";
    for (line, got) in [
        ("observe.mainframe();", r#"{"kind":"mainframe"}"#),
        ("observe.process({ prot: 1, name: undefined });", r#"{"kind":"process","prot":1}"#),
        ("observe.postgres('postgres://x/y', { every: '1s' });", r#"{"kind":"postgres","url":"postgres://x/y","every":"1s"}"#),
        ("observe.postgres(undefined, { every: 5 });", r#"{"kind":"postgres","every":5}"#),
        ("observe.sql({ finish: g, start: f });", r#"{"kind":"sql","finish":{"flow":2},"start":{"flow":1}}"#),
        ("observe.sql({ stage: [g, 'b'], lists: ['a'] });", r#"{"kind":"sql","stage":{"flow":2,"stage":1},"lists":["a"]}"#),
    ] {
        let inputs = Inputs { check_observer: Some(check), ..Inputs::default() };
        let error = load_with(&format!("{head}{line}\n"), &[], &inputs).expect_err("the host refuses it");
        assert_eq!(error.message, format!("got {got}"), "{line}");
        assert_eq!(at(&error).rsplit_once(':').map_or("", |(line, _)| line), "t.load.ts:3", "{line}: {error}");
    }
}

/// An error that needs the whole plan has no line, and names its subject.
#[test]
fn flows_and_stubs_are_checked_with_the_plan() {
    let head = "import { test, scenario, once, stub, flow, flowTime, flowLost } from \"loadstone\";\nconst load = scenario(\"s\", () => {}).run(once());\n";
    for (lines, part) in [
        ("flow('f'); flow('f'); export default test({ load });", "flow \"f\": two flows have this name"),
        ("flow('f', { stages: ['a', 'a'] }); export default test({ load });", "the stage \"a\" is listed twice"),
        ("flow('f'); export default test({ load, thresholds: [flowLost('g').count.equals(0)] });", "no flow is named \"g\"; known: f"),
        (
            "const f = flow('f'); export default test({ load, thresholds: [flowTime(f, 'b').max.below('1s')] });",
            "flow \"f\" has no stage \"b\"",
        ),
        ("stub.http({ delay: 'soon' }); export default test({ load });", "\"soon\""),
        ("stub.http().on('webhook', {}); export default test({ load });", "\"webhook\" is not a route"),
        ("stub.http().on('GET /a', { limit: { rat: 5 } }); export default test({ load });", "has no option `rat`"),
        ("stub.http({ delaysFrom: 'none.csv' }); export default test({ load });", "none.csv"),
        ("stub.http({ name: 'a' }); stub.http({ name: 'a' }); export default test({ load });", "another stub has the name \"a\""),
    ] {
        let error = load_error(&format!("{head}{lines}\n"));
        assert!(error.message.contains(part), "{lines}: {error}");
    }
}

#[test]
fn stacks_lead_through_the_users_own_functions() {
    let error = load_error(
        "type N = number;\nfunction inner(n: N): never {\n  throw new Error(`bad ${n}`);\n}\nfunction outer() {\n  inner(7);\n}\nouter();\n",
    );
    assert_eq!((error.message.as_str(), error.place.as_ref().map(|place| place.line)), ("bad 7", Some(3)));
    let frames: Vec<(String, u32)> = error.stack.iter().map(|frame| (frame.function.clone(), frame.place.line)).collect();
    assert_eq!(frames[..2], [("inner".to_owned(), 3), ("outer".to_owned(), 6)]);
    assert_eq!(frames[2].1, 8);
}

#[test]
fn an_endless_loop_at_the_top_is_interrupted_at_its_line() {
    let error = load_error("let n = 0;\n\nwhile (true) {\n  n++;\n}\n");
    assert!(error.message.contains("without yielding"), "{error}");
    assert!((3..=4).contains(&error.place.as_ref().map_or(0, |p| p.line)), "{}", error.render());
}

#[test]
fn unknown_parameters_and_files_that_are_not_tests_are_rejected() {
    let text = "import { test, scenario, once, param } from \"loadstone\";\nparam.number(\"rate\", { default: 1 });\n\
                export default test({ load: scenario(\"s\", () => {}).run(once()) });";
    let error = load_with(text, &[], &Inputs { parameters: vec![("rat".into(), "2".into())], ..Inputs::default() }).unwrap_err();
    assert_eq!(
        (error.message.as_str(), error.help.as_deref()),
        ("the test has no parameter `rat` (did you mean `rate`?)", Some("it declares: rate"))
    );
    assert!(load_error("export const a = 1;").message.contains("exports no test"));
    assert!(
        loadstone_script::load(std::path::Path::new("/nowhere/x.load.ts"), &Inputs::default()).unwrap_err().message.contains("cannot read")
    );
    assert!(load_error("await new Promise(() => {});").message.contains("top level awaits"));
}

#[test]
fn typescript_that_is_more_than_types_works() {
    let text = r#"
import { test, scenario, once } from "loadstone";
enum Color { Red = "red", Blue = "blue" }
const enum Size { Small = 1, Large = Small << 3 }
namespace Shape { export const sides = 4; }
class Point { constructor(private readonly x: number, public y = 2) {} sum() { return this.x + this.y; } }
abstract class Base<T> { protected abstract of(): T; get it(): T { return this.of(); } }
class Derived extends Base<number> { override of() { return 5; } }
const name = `${Color.Blue} ${Size.Large} ${Shape.sides} ${new Point(1).sum()} ${new Derived().it satisfies number} ${(null as any)?.x ?? "nil"}`;
export default test({ load: scenario(name!, () => {}).run(once()) });
"#;
    assert_eq!(load(text).unwrap().plan.scenarios[0].name, "blue 8 4 3 5 nil");
}

#[test]
fn deeply_nested_files_are_refused_or_read_but_end_nothing() {
    for depth in [3_000, 100_000] {
        let nested = "[".repeat(depth) + &"]".repeat(depth);
        let error = load_error(&format!("import {{ test }} from \"loadstone\"; const a = {nested}; export default test({{}});"));
        assert!(!error.message.is_empty());
        assert_eq!(error.message.contains("nested more than 5000 deep"), depth > 5_000, "{error}");
    }
}
