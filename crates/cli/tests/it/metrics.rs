//! Custom metrics and tags, from the script to every output.

use crate::harness::{Ended, Folder, server};

/// Runs ten iterations with this body; `m` is a trend, `c` a counter.
fn run(body: &str, thresholds: &str, flags: &[&str]) -> (Ended, Folder) {
    let script = format!(
        r#"import {{ test, scenario, iterations, metric, responseTime, requests }} from "loadstone";
const m = metric.trend("Order value", {{ unit: "EUR" }});
const c = metric.counter("Orders");
const s = scenario("S", async (user) => {{ {body} }});
export default test({{ target: "{}", load: s.run(iterations(10).users(2)), thresholds: [{thresholds}] }});
"#,
        server::nginx()
    );
    let folder = Folder::new().file("a.load.ts", &script);
    (folder.run(&[&["run", "a.load.ts", "--workers", "2"], flags].concat()), folder)
}

#[test]
fn a_metric_of_the_test_is_in_summary_terminal_junit_and_export() {
    let body = "await user.get('/'); m.add(10 * user.iteration, { tags: { even: user.iteration % 2 === 0 } }); c.add(2);";
    let bounds = r#"m.max.atMost(90), m.where({ tags: { even: true } }).max.equals(80), c.sum.equals(20), m.count.equals(10)"#;
    let (ended, folder) = run(body, bounds, &["--junit", "junit.xml"]);
    let ended = ended.passes();
    let metrics = ended.summary()["metrics"].clone();
    assert_eq!(
        (metrics[0]["name"].as_str(), metrics[0]["max"].as_f64(), metrics[0]["mean"].as_f64()),
        (Some("Order value"), Some(90.0), Some(45.0))
    );
    assert_eq!((metrics[1]["tags"]["even"].as_str(), metrics[1]["max"].as_f64()), (Some("false"), Some(90.0)));
    assert_eq!((metrics[3]["name"].as_str(), metrics[3]["sum"].as_f64()), (Some("Orders"), Some(20.0)), "{metrics}");
    ended.says("Order value (EUR)").says("even=true");
    let junit = std::fs::read_to_string(folder.path().join("junit.xml")).unwrap();
    assert!(junit.contains("Orders: count 10, sum 20"), "{junit}");
    folder.run(&["export", "--table", "metrics"]).passes().says("Order value,EUR,even=true,");
}

#[test]
fn a_metric_beyond_its_bound_fails_the_run() {
    let (ended, _) = run("await user.get('/'); m.add(7);", "m.mean.below(7)", &[]);
    ended.fails_a_threshold().says("the mean was 7 EUR; bound below 7 EUR");
}

#[test]
fn a_test_may_write_custom_files_from_its_summary() {
    let script = |body: &str| {
        format!(
            r#"import {{ test, scenario, iterations, type RunSummary }} from "loadstone";
const s = scenario("S", (user) => user.get("/", {{ name: "Home" }}));
export default test({{ target: "{}", load: s.run(iterations(3)) }});
{body}
"#,
            server::nginx()
        )
    };
    let lines = r#"summary.requests.map((row: any) => `${row.name};${row.count}`).join("\n")"#;
    for function in ["export function", "export async function"] {
        let text = script(&format!("{function} summarize(summary: RunSummary) {{ return {{ \"own.csv\": {lines} }}; }}"));
        let folder = Folder::new().file("a.load.ts", &text);
        folder.run(&["run", "a.load.ts"]).passes().says("own.csv");
        assert_eq!(std::fs::read_to_string(folder.path().join("own.csv")).unwrap(), "Home;3");
    }
    for (body, expected) in [
        ("export const summarize = (s: RunSummary) => s.nothing.at(1);", "a.load.ts:4:"),
        ("export const summarize = () => 5;", "return an object of file names and their text"),
    ] {
        let folder = Folder::new().file("a.load.ts", &script(body));
        folder.run(&["run", "a.load.ts"]).code(2).says(expected).says("3 requests");
    }
}
