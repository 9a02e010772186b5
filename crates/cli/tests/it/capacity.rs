//! The capacity of a system (`capacity`), and a test over its runs (`trend`, `runs prune`).

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Folder, server};

#[test]
fn a_search_at_its_load_limit_reports_a_lower_bound() {
    let folder = Folder::new();
    let search = ["capacity", server::nginx(), "--rate", "80", "--most", "20", "--probe", "6s", "--pause", "0s"];
    let objectives = ["--objective", "mean < 2s", "--objective", "failures < 5%"];
    let more = ["--json", "--markdown", "c.md", "--tag", "nightly"];
    let ended = folder.run(&[&search[..], &objectives, &more].concat()).code(0);
    let capacity: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((capacity["verdict"].as_str(), capacity["highest_held"].as_f64()), (Some("at_least"), Some(20.0)), "{capacity}");
    assert_eq!(capacity["probes"].as_array().unwrap().len(), 1);
    assert!(std::fs::read_to_string(folder.path().join("c.md")).unwrap().contains("the capacity is at least 20/s"));
    // A probe is an ordinary run in the search's folder, and not part of the test's history.
    let kept = std::fs::read_dir(folder.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    assert!(kept.join("capacity.json").is_file());
    let run = kept.join(capacity["probes"][0]["run"].as_str().unwrap());
    folder.run(&["show", run.to_str().unwrap()]).code(0).says("mean < 2s");
    folder.run(&["runs"]).code(0).says("No runs yet");
    folder.run(&["show", capacity["probes"][0]["run"].as_str().unwrap()]).code(0).says("mean < 2s");
    folder.run(&["compare", "last", run.to_str().unwrap()]).code(2).says("there is no earlier complete run of this test in");
    let page = std::fs::read_to_string(kept.join("report.html")).unwrap();
    assert!(page.contains(r#"{"feed":"capacity","answer":{"#), "the answer is in its page");
    // A search only resumes with its original settings. Then nothing is left to do.
    folder.run(&[&search[..], &["--resume", "--objective", "p95 < 1s"]].concat()).code(2).says("other objectives");
    folder.run(&[&search[..], &objectives, &["--resume"]].concat()).code(0).says("at least 20/s");
    // Once it has certainly ended, it is deleted as a whole.
    folder.run(&["runs", "prune", "--keep-size", "1kB"]).code(0);
    assert!(kept.is_dir(), "it may still be in progress");
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    std::fs::File::open(&kept).and_then(|folder| folder.set_modified(hour_ago)).unwrap();
    folder.run(&["runs", "prune", "--keep-size", "1GB"]).code(0);
    assert!(kept.is_dir(), "it fits");
    folder.run(&["runs", "prune", "--keep-size", "1kB"]).code(0);
    assert!(!kept.is_dir());
}

#[test]
fn ctrl_c_keeps_the_results_and_the_search_resumes() {
    let folder = Folder::new();
    let search = ["capacity", server::nginx(), "--rate", "20", "--most", "10", "--first", "5", "--probe", "6s", "--pause", "0s"];
    let search = [&search[..], &["--objective", "mean < 2s"]].concat();
    let running = folder.start(&search);
    let probes = || {
        folder.runs().iter().flat_map(|folder| std::fs::read_dir(folder).unwrap().flatten()).filter(|entry| entry.path().is_dir()).count()
    };
    server::wait_until("the second probe to begin", || probes() == 2);
    running.signal(Signal::INT);
    running.ended().code(130).says("the capacity is at least 5/s: the search is not complete");
    let resumed = folder.run(&[&search[..], &["--resume"]].concat());
    resumed.code(0).says("1 probe so far").says("the capacity is at least 10/s");
}

#[test]
fn tests_without_a_level_are_refused_before_any_load() {
    let folder = Folder::new();
    let at = server::nginx();
    for (more, expected) in [
        (&[][..], "no objective"),
        (&["--objective", "p95 > 1s"], "give an upper bound"),
        (&["--objective", "rate < 5/s"], "the load itself"),
        (&["--objective", "p95 < 1s", "--for", "5s"], "--for: a search decides"),
        (&["--objective", "p95 < 1s", "--probe", "2s"], "at least 6s"),
        (&["--objective", "p95 < 1s", "--budget", "10s"], "--budget: 10.0 s is shorter than the first probe"),
        (&["--objective", "p95 < 1s", "--resume"], "there is no search"),
    ] {
        folder.run(&[&["capacity", at, "--rate", "5"], more].concat()).code(2).says(expected);
    }
    assert_eq!(folder.runs().len(), 0);
}

#[test]
fn an_objective_on_a_missing_request_is_refused_after_one_probe() {
    let folder = Folder::new();
    let search = ["capacity", server::nginx(), "--rate", "20", "--probe", "6s", "--pause", "0s", "--objective", "p50 of GET /a < 2s"];
    folder.run(&search).code(2).says("nothing was measured that is named \"GET /a\" (did you mean `GET /`?)");
}

#[test]
fn a_constant_load_identifies_no_ceiling() {
    let folder = Folder::new();
    folder.run(&["run", server::nginx(), "--rate", "20", "--for", "2s", "--quiet"]).passes();
    folder.run(&["capacity", "--of-run", "latest"]).code(0).says("not identified: the load varied by less than");
    folder.run(&["capacity"]).code(2).says("FILE|URL|demo");
    let files = ["--markdown", "ramp.md", "--html", "ramp.html"];
    folder.run(&[&["capacity", "--of-run", "latest"][..], &files].concat()).code(0);
    let written = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(written("ramp.md").contains("not identified: the load varied by less than"), "{}", written("ramp.md"));
    assert!(written("ramp.html").contains(r#"{"feed":"ramp","answer":{"#));
    // A flag that only a search can use is not silently ignored.
    for (flag, value) in [("--objective", "p99 < 1s"), ("--budget", "5m"), ("--rate", "5")] {
        folder.run(&["capacity", "--of-run", "latest", flag, value]).code(2).says(flag);
    }
}

/// An invalid run is not part of a trend, and on a busy machine a second of open load may correctly be invalid. With a fixed number of iterations, none can
/// be late, and the threshold passes regardless of the generator's delay. Such a run is valid on any machine.
struct TestOverRuns(Folder);

impl TestOverRuns {
    fn new() -> Self {
        let script = r#"import { iterations, param, responseTime, scenario, test } from "loadstone";
const get = scenario("Get", async (user) => { await user.get("/", { name: "Get" }); });
const load = get.run(iterations(param.number("requests", { default: 20 })));
export default test({ target: "TARGET", load, thresholds: [responseTime().mean.below("1h")] });
"#;
        Self(Folder::new().file("get.load.ts", &script.replace("TARGET", server::nginx())))
    }

    fn run(&self, requests: u32, more: &[&str]) {
        let requests = format!("requests={requests}");
        self.0.run(&[&["run", "get.load.ts", "--quiet", "-p", &requests], more].concat()).code(0);
    }
}

#[test]
fn runs_of_a_test_form_a_trend_and_old_ones_are_pruned() {
    let test = TestOverRuns::new();
    let folder = &test.0;
    test.run(30, &[]);
    test.run(20, &["--tag", "main"]);
    test.run(20, &[]);
    test.run(20, &[]);
    let ended = folder.run(&["trend", "--json"]).code(0);
    let trend: Value = serde_json::from_str(&ended.stdout).unwrap();
    let runs = trend["runs"].as_array().unwrap();
    assert_eq!((runs.len(), runs[0]["tags"][0].as_str()), (3, Some("main")), "the oldest first, of one load: {trend}");
    assert!(trend["headline"].as_str().unwrap().contains("cannot tell: 3 runs so far"), "{trend}");
    assert!(ended.stderr.contains("Left out: 1 under a different load"), "{}", ended.stderr);
    let values = trend["series"][0]["values"].as_array().unwrap();
    assert!(values.iter().all(|value| value.as_f64().is_some_and(|seconds| seconds > 0.0)), "{trend}");

    let unknown = folder.run(&["trend", "no-such-test"]).code(2);
    assert!(unknown.stderr.contains("these tests have runs: "), "{}", unknown.stderr);
    folder.run(&["trend", "--html", "trend.html"]).code(0);
    assert!(std::fs::read_to_string(folder.path().join("trend.html")).unwrap().contains(r#"{"feed":"trend","answer":{"#));
    folder.run(&["runs", "prune"]).code(2).says("nothing selected");
    folder.run(&["runs", "prune", "--keep-size", "much"]).code(2).says("is not a size");
    let listed = folder.run(&["runs", "prune", "--keep", "1", "--dry-run"]);
    assert_eq!(listed.code(0).stdout.lines().count(), 2, "neither the newest nor the one with a tag");
    assert_eq!(folder.runs().len(), 4);
    folder.run(&["runs", "prune", "--keep", "1", "--older-than", "1h"]).code(0);
    assert_eq!(folder.runs().len(), 4, "none is old");
    folder.run(&["runs", "prune", "--keep", "1"]).code(0);
    assert_eq!(folder.runs().len(), 2);
}

/// The index is only a cache: the contents of the runs decide.
#[test]
fn the_index_of_a_trend_follows_the_runs() {
    let test = TestOverRuns::new();
    let folder = &test.0;
    for _ in 0..3 {
        test.run(20, &[]);
    }
    let trend = || folder.run(&["trend", "--json"]).code(0).stdout;
    let newest = |text: &str| serde_json::from_str::<Value>(text).unwrap()["series"][0]["values"][2].as_f64().unwrap();
    let first = trend();
    let index = folder.path().join("runs/trend-index.json");
    let kept = std::fs::read_to_string(&index).unwrap();
    // The index is used: a modified entry appears in the output.
    let run = folder.runs().into_iter().max().unwrap();
    let name = run.file_name().unwrap().to_str().unwrap().to_owned();
    let mut changed: Value = serde_json::from_str(&kept).unwrap();
    changed["runs"][&name]["concluded"]["numbers"]["all"]["p50"] = 77.0.into();
    changed["runs"][&name]["concluded"]["numbers"]["requests"][0]["numbers"]["p50"] = 77.0.into();
    std::fs::write(&index, changed.to_string()).unwrap();
    assert_eq!(newest(&trend()), 77.0);
    // A modified run is read again, and so are all runs if the index is damaged or missing.
    let summary = run.join("summary.json");
    let text = std::fs::read_to_string(&summary).unwrap();
    std::fs::write(&summary, format!("{text}\n")).unwrap();
    assert_eq!(trend(), first);
    std::fs::write(&index, &kept[..kept.len() / 2]).unwrap();
    assert_eq!(trend(), first);
    std::fs::remove_file(&index).unwrap();
    assert_eq!(trend(), first);
    // A deleted run disappears from both.
    std::fs::remove_dir_all(&run).unwrap();
    assert!(!trend().contains(&name));
}
