//! The scenarios of a k6 test, by `k6 inspect`: k6 itself evaluates the script's options, the environment and its configuration.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use loadstone_plan::LoadModel;
use serde::Deserialize;
use tempfile::TempDir;

use crate::tool_scenarios::{PlannedStage, ToolScenario};

/// Scenarios that are kept apart. The requests of a test with more of them count as one.
pub(crate) const SCENARIOS_MAX: usize = 64;
/// Time in which `k6 inspect` must end.
const INSPECT_MAX: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Options of `k6 run` that `k6 inspect` has, too, and that change what a script evaluates to. The first have a value.
const PASSED_ON: [&str; 7] = ["-e", "--env", "-c", "--config", "-t", "--type", "--compatibility-mode"];
const PASSED_ON_FLAGS: [&str; 1] = ["--include-system-env-vars"];
/// Options whose value may be an existing file that is not the script.
const WITH_FILE: [&str; 6] = ["-c", "--config", "--summary-export", "-o", "--out", "--secret-source"];
/// Options that take the place of the script's scenarios.
const SHORTCUTS: [(&str, &str); 3] = [("-d", "--duration"), ("-i", "--iterations"), ("-s", "--stage")];
/// k6's name for the scenario of a script that has none.
const DEFAULT: &str = "default";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct K6Options {
    scenarios: Option<BTreeMap<String, K6Executor>>,
    execution_segment: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct K6Executor {
    executor: String,
    start_time: Option<String>,
    duration: Option<String>,
    max_duration: Option<String>,
    time_unit: Option<String>,
    rate: Option<f64>,
    start_rate: Option<f64>,
    vus: Option<f64>,
    #[serde(rename = "startVUs")]
    start_vus: Option<f64>,
    #[serde(default)]
    stages: Option<Vec<K6Stage>>,
}

#[derive(Deserialize)]
struct K6Stage {
    duration: String,
    target: f64,
}

/// The scenarios of this command. `None`: k6 cannot evaluate the script, which then fails in `k6 run`, too, or is read from standard input.
pub(crate) fn inspect(command: &[String]) -> Option<Vec<ToolScenario>> {
    if has_shortcut(command) {
        return Some(vec![named(DEFAULT, LoadModel::Users)]);
    }
    let scratch = TempDir::with_prefix("loadstone-watch-").ok()?;
    let output = scratch.path().join("options.json");
    let mut inspection = Command::new(command.first()?);
    inspection.args(["inspect", "--execution-requirements"]).args(passed_on(command)).arg(script(command)?);
    inspection.stdin(Stdio::null()).stdout(File::create(&output).ok()?).stderr(Stdio::null());
    if !succeeds(&mut inspection.spawn().ok()?) {
        return None;
    }
    let found = of_inspection(&std::fs::read_to_string(&output).ok()?, is_segment(command));
    found.filter(|scenarios| scenarios.len() <= SCENARIOS_MAX)
}

/// Waits for its end. One that does not end is killed.
fn succeeds(process: &mut Child) -> bool {
    for _ in 0..INSPECT_MAX.as_millis() / LOOK_EVERY.as_millis() {
        match process.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => thread::sleep(LOOK_EVERY),
            Err(_) => break,
        }
    }
    let _ = process.kill();
    let _ = process.wait();
    false
}

/// The scenarios in what `k6 inspect --execution-requirements` prints. `is_part`: this process runs a segment of the test, so its rate is another.
pub(crate) fn of_inspection(text: &str, is_part: bool) -> Option<Vec<ToolScenario>> {
    let options: K6Options = serde_json::from_str(text).ok()?;
    let is_part = is_part || options.execution_segment.is_some_and(|segment| !segment.is_empty());
    let scenarios = options.scenarios.filter(|scenarios| !scenarios.is_empty());
    let Some(scenarios) = scenarios else { return Some(vec![named(DEFAULT, LoadModel::Users)]) };
    scenarios.into_iter().map(|(name, executor)| executor.scenario(&name, is_part)).collect()
}

fn named(name: &str, model: LoadModel) -> ToolScenario {
    ToolScenario { is_named: true, ..ToolScenario::unplanned(name, model) }
}

impl K6Executor {
    fn scenario(&self, name: &str, is_part: bool) -> Option<ToolScenario> {
        let model = if self.executor.ends_with("-arrival-rate") { LoadModel::Arrivals } else { LoadModel::Users };
        let stages = if is_part { Vec::new() } else { self.stages()? };
        let starts_after_ns = (seconds(self.start_time.as_deref(), 0.0)? * 1e9) as u64;
        // A constant rate begins with an iteration, a ramp when its integral reaches one.
        let due_at_start = if self.executor == "constant-arrival-rate" { 1.0 } else { 0.0 };
        Some(ToolScenario { starts_after_ns, stages, due_at_start, ..named(name, model) })
    }

    fn stages(&self) -> Option<Vec<PlannedStage>> {
        let steady = |level: f64, duration: Option<&str>, otherwise_s: f64| {
            Some(vec![PlannedStage { from: level, to: level, duration_s: seconds(duration, otherwise_s)? }])
        };
        let ramps = |start: f64, unit_s: f64| {
            let mut from = start / unit_s;
            let stages = self.stages.iter().flatten().map(|stage| {
                let next = PlannedStage { from, to: stage.target / unit_s, duration_s: seconds(Some(&stage.duration), 0.0)? };
                from = next.to;
                Some(next)
            });
            stages.collect::<Option<Vec<PlannedStage>>>()
        };
        let per_s = seconds(self.time_unit.as_deref(), 1.0)?.max(f64::MIN_POSITIVE);
        match self.executor.as_str() {
            "constant-arrival-rate" => steady(self.rate? / per_s, self.duration.as_deref(), 0.0),
            "ramping-arrival-rate" => ramps(self.start_rate.unwrap_or(0.0), per_s),
            "ramping-vus" => ramps(self.start_vus.unwrap_or(1.0), 1.0),
            // Iterations that are shared, or of each VU, last at most so long.
            _ => steady(self.vus.unwrap_or(1.0), self.duration.as_deref().or(self.max_duration.as_deref()), 600.0),
        }
    }
}

/// Seconds of k6's durations: `1m30s`, or milliseconds without a unit.
fn seconds(text: Option<&str>, otherwise: f64) -> Option<f64> {
    let Some(text) = text else { return Some(otherwise) };
    match text.parse::<f64>() {
        Ok(milliseconds) => Some(milliseconds / 1e3),
        Err(_) => loadstone_units::duration::parse(text).ok().map(|ns| ns as f64 / 1e9),
    }
}

/// The arguments that change how the script is evaluated.
fn passed_on(command: &[String]) -> Vec<&String> {
    let mut found = Vec::new();
    let mut arguments = command.iter().skip(1);
    while let Some(argument) = arguments.next() {
        if PASSED_ON.contains(&argument.as_str()) {
            found.push(argument);
            found.extend(arguments.next());
        } else if PASSED_ON_FLAGS.contains(&argument.as_str()) || PASSED_ON.iter().any(|name| is_joined(argument, name)) {
            found.push(argument);
        }
    }
    found
}

/// `--env=A=1` or `-eA=1`.
fn is_joined(argument: &str, name: &str) -> bool {
    argument.strip_prefix(name).is_some_and(|value| if name.starts_with("--") { value.starts_with('=') } else { !value.is_empty() })
}

fn has_shortcut(command: &[String]) -> bool {
    let is_one = |argument: &String| {
        SHORTCUTS
            .iter()
            .any(|(short, long)| argument == short || argument == long || is_joined(argument, long) || is_joined(argument, short))
    };
    command.iter().skip(1).any(is_one)
}

fn is_segment(command: &[String]) -> bool {
    command.iter().any(|argument| argument.starts_with("--execution-segment"))
}

/// The script or archive: the last argument that is an existing file and not the value of an option.
fn script(command: &[String]) -> Option<&String> {
    let pairs = command.windows(2).rev().filter(|pair| !WITH_FILE.contains(&pair[0].as_str()) && !pair[1].starts_with('-'));
    pairs.map(|pair| &pair[1]).find(|argument| Path::new(argument.as_str()).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    /// What k6 1.4 prints, without the options that do not matter.
    const INSPECTED: &str = r#"{"paused": null, "vus": null, "scenarios": {
        "browse": {"executor": "constant-arrival-rate", "startTime": null, "rate": 100, "timeUnit": "1s", "duration": "1m30s", "maxVUs": 20},
        "buy": {"executor": "ramping-arrival-rate", "startTime": "5s", "startRate": 60, "timeUnit": "1m0s", "stages": [{"duration": "10s", "target": 120}]},
        "once": {"executor": "per-vu-iterations", "vus": 3, "iterations": 2, "maxDuration": "1m0s"},
        "users": {"executor": "ramping-vus", "startVUs": null, "stages": [{"duration": "10s", "target": 5}], "gracefulRampDown": null}
        }, "executionSegment": null, "totalDuration": "1m30s", "maxVUs": 33}"#;

    #[test]
    fn scenarios_of_every_executor_have_their_plan() {
        let found = of_inspection(INSPECTED, false).unwrap();
        let stage = |from, to, duration_s| PlannedStage { from, to, duration_s };
        let plans: Vec<_> = found.iter().map(|one| (&*one.name, one.model, one.starts_after_ns, one.stages.clone())).collect();
        assert_eq!(
            plans,
            [
                ("browse", LoadModel::Arrivals, 0, vec![stage(100.0, 100.0, 90.0)]),
                ("buy", LoadModel::Arrivals, 5_000_000_000, vec![stage(1.0, 2.0, 10.0)]),
                ("once", LoadModel::Users, 0, vec![stage(3.0, 3.0, 60.0)]),
                ("users", LoadModel::Users, 0, vec![stage(1.0, 5.0, 10.0)]),
            ]
        );
        assert_eq!((found[0].due_at_start, found[1].due_at_start), (1.0, 0.0));
        // Each of several processes has a part of the rate.
        assert!(of_inspection(INSPECTED, true).unwrap().iter().all(|one| !one.has_pace()));
        assert_eq!(of_inspection("{}", false).unwrap()[0], named("default", LoadModel::Users));
        assert!(of_inspection("not JSON", false).is_none());
    }

    #[test]
    fn only_what_changes_the_options_is_passed_on() {
        let command = words("k6 run -e HOST=shop --env=A=1 --out csv=x.csv -c my.json --quiet --tag a=b shop.js");
        assert_eq!(passed_on(&command), ["-e", "HOST=shop", "--env=A=1", "-c", "my.json"]);
        assert!(
            !has_shortcut(&command)
                && has_shortcut(&words("k6 run -d 10s shop.js"))
                && has_shortcut(&words("k6 run --iterations=5 shop.js"))
        );
        assert!(
            !has_shortcut(&words("k6 run --discard-response-bodies shop.js"))
                && is_segment(&words("k6 run --execution-segment=0:1/2 x.js"))
        );
    }

    #[test]
    fn the_script_is_a_file_that_is_no_value_of_an_option() {
        let folder = TempDir::new().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (script_file, config) = (file("shop.js"), file("config.json"));
        let command = [&words("k6 run")[..], std::slice::from_ref(&script_file), &words("-u 5 --config"), &[config]].concat();
        assert_eq!(script(&command), Some(&script_file));
        assert_eq!(script(&words("k6 run -")), None);
    }
}
