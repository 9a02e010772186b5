//! Comparing a run with another: `compare` and `run --against`.

use serde_json::Value;

use crate::harness::raw::{Raw, send};
use crate::harness::{Folder, server};

const FAST: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn run(folder: &Folder, target: &str, more: &[&str]) -> crate::harness::Ended {
    let load = ["run", target, "--rate", "40", "--for", "12s", "--quiet"];
    folder.run(&[&load, more].concat())
}

#[test]
fn new_failures_fail_the_gate_with_a_separate_exit_code() {
    let folder = Folder::new();
    let busy = Raw::by_request(|number| vec![send(if number % 4 == 3 { "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n" } else { FAST })]);
    run(&folder, &busy.address, &["--tag", "broken"]).passes();
    run(&folder, server::nginx(), &["--tag", "main"]).passes();
    // Two addresses are two tests. The tag selects the baseline regardless.
    let compared =
        folder.run(&["compare", "main", "broken", "--fail-if", "failures worse by 5%", "--junit", "c.xml", "--markdown", "c.md"]);
    compared.code(6).says("fail if failures worse by 5%: failed").says("25.0 %").says("target");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("c.xml").contains("failures=\"1\"") && read("c.md").contains("❌ fail if"));
    // In the opposite direction, nothing is worse.
    folder.run(&["compare", "broken", "main", "--fail-if", "failures worse by 5%"]).code(0).says("better");
}

#[test]
fn a_run_is_compared_with_the_last_run_of_its_test() {
    let folder = Folder::new();
    let missing = run(&folder, server::nginx(), &["--against", "last"]);
    missing.code(2).says("no earlier complete run of this test");
    assert_eq!(folder.runs().len(), 0, "no run was started");
    run(&folder, server::nginx(), &[]).passes();
    run(&folder, server::nginx(), &["--against", "last", "--fail-if", "failures worse by 5%", "--comparison-markdown", "c.md"])
        .passes()
        .says("Baseline")
        .says("fail if failures worse by 5%: held");
    assert!(folder.path().join("c.md").is_file());
    // Each document of the run has the comparison.
    let latest = folder.runs().into_iter().max().expect("a run");
    let document = |file: &str| std::fs::read_to_string(latest.join(file)).unwrap();
    let summary: Value = serde_json::from_str(&document("summary.json")).unwrap();
    assert_eq!(summary["comparison"]["gates"][0]["state"], "held", "{summary}");
    assert!(
        document("junit.xml").contains("not failures worse by 5%") && document("summary.md").contains("fail if **failures worse by 5%**")
    );
    assert!(document("report.html").contains("\"comparison\":{"));
    let compared: Value = serde_json::from_str(&folder.run(&["compare", "--json"]).code(0).stdout).unwrap();
    let names: Vec<String> = folder.runs().iter().map(|run| run.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    let of = |side: &str| compared[side]["id"].as_str().unwrap().to_owned();
    assert!(of("baseline") < of("candidate") && names.contains(&of("baseline")) && names.contains(&of("candidate")));
    for wrong in [["--fail-if", "p99 worse by much"], ["--effect", "0"]] {
        folder.run(&["compare", wrong[0], wrong[1]]).code(2).says(wrong[0]);
    }
    // A missing value is undecided, with the reason.
    folder.run(&["compare", "--fail-if", "p95 of GET /a worse by 5%"]).code(4).says("is named \"GET /a\"").says("did you mean");
    folder.run(&["compare", "--fail-if", "memory worse by 5%"]).code(4).says("`--process 8080`");
}
