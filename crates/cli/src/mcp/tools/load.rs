//! Tools that generate load: a run, an experiment, a capacity search.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use loadstone_mcp::{Tool, ToolArguments, ToolCall, ToolEffect, ToolError, schemars};
use loadstone_report::capacity::CapacityView;
use loadstone_report::experiment::ExperimentView;
use loadstone_run_directory::History;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::mcp::stored::JudgedRun;
use crate::mcp::work::{CommandDone, OwnCommand, perform};
use crate::mcp::workbench::{ChosenTest, Workbench};
use crate::ui::OrderedWork;

pub(super) const RUN: Tool<Workbench> = Tool {
    name: "run",
    title: "Run a load test",
    help: "Runs a test (file), or sends GET requests to a URL (url, rate, duration), and returns the verdict: validity, thresholds, numbered findings, \
           times with intervals. The test's load must be within the limits that the human set. Reports progress; a cancelled run stops its load.",
    effect: ToolEffect::SendsRequests,
    arguments: RunArguments::schema,
    perform: run,
};

pub(super) const EXPERIMENT: Tool<Workbench> = Tool {
    name: "experiment",
    title: "Prove a cause by changing a setting",
    help: "Switches a knob of the test back and forth in short blocks of load, and shows which numbers depend on it. With `finding`, it proves or refutes \
           that finding of a run: `proof.state` is proved, refuted or undecided. Takes minutes, reports progress, and restores the knob, also when cancelled.",
    effect: ToolEffect::ChangesSystem,
    arguments: ExperimentArguments::schema,
    perform: experiment,
};

pub(super) const CAPACITY: Tool<Workbench> = Tool {
    name: "capacity",
    title: "Search for the capacity",
    help: "Searches for the highest load at which the system meets its objectives, as an interval, with the cause of the limit. Takes minutes to half an \
           hour and reports progress. The load never exceeds the limits that the human set.",
    effect: ToolEffect::SendsRequests,
    arguments: CapacityArguments::schema,
    perform: capacity,
};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "loadstone_mcp::schemars")]
struct RunArguments {
    /// File of the test, as `list_tests` shows it.
    file: Option<String>,
    /// Parameters of the test by name. Values are strings.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    /// Instead of a file: a URL to send GET requests to.
    url: Option<String>,
    /// Requests per second to the URL, such as 50 or "90/m".
    #[serde(default)]
    rate: String,
    /// Duration of the load on the URL, such as 30s.
    #[serde(default)]
    duration: String,
    /// With a URL: the local processes to observe, by port or name, with spaces between them. The machine is observed with them.
    #[serde(default)]
    process: String,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "loadstone_mcp::schemars")]
struct ExperimentArguments {
    /// File of the test, which declares the knob.
    file: String,
    /// Parameters of the test by name. Values are strings.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    /// Knob to change. Needed if the test has several, or if the finding does not name one.
    #[serde(default)]
    knob: String,
    /// Number of the finding to prove, as `run` and `verdict` list it.
    finding: Option<usize>,
    /// The run with the finding. The latest one if absent.
    run: Option<String>,
    /// Length of one block, in whole seconds: 4s or more. 10s if absent.
    #[serde(default)]
    block: String,
    /// Maximum number of rounds. 12 if absent; it ends earlier once the result is clear.
    #[serde(default)]
    rounds: String,
    /// Relative change that is too small to matter, such as 10%.
    #[serde(default)]
    effect: String,
    /// Metric that decides: "p95 of Check out", "rate", "mean of Search".
    #[serde(default)]
    measure: String,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "loadstone_mcp::schemars")]
struct CapacityArguments {
    /// File of the test.
    file: String,
    /// Parameters of the test by name. Values are strings.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    /// Objectives such as "p99 < 300ms", "failures < 1%". The test's thresholds if absent.
    #[serde(default)]
    objectives: Vec<String>,
    /// Load of the first probe, such as 20 or "90/m".
    #[serde(default)]
    first: String,
    /// Highest load to try.
    #[serde(default)]
    most: String,
    /// Half the width of the interval, relative, such as 5%.
    #[serde(default)]
    precision: String,
    /// Length of a probe, such as 30s.
    #[serde(default)]
    probe: String,
    /// Time limit of the search, such as 10m.
    #[serde(default)]
    budget: String,
}

fn run(bench: &Workbench, call: &ToolCall) -> Result<Value, ToolError> {
    let asked: RunArguments = call.arguments()?;
    let RunArguments { file, parameters, url, rate, duration, process } = asked;
    let (test, work) = match (file, url) {
        (Some(file), None) if rate.is_empty() && duration.is_empty() && process.is_empty() => {
            (bench.test(&file, &parameters)?, OrderedWork::Run)
        }
        (Some(_), None) => {
            return Err(ToolError(
                "rate, duration and process are for a URL; a test defines its own load and observers, perhaps by its parameters".to_owned(),
            ));
        }
        (None, Some(url)) => {
            let machine = !process.trim().is_empty();
            let work = OrderedWork::Url { rate, duration, process, observe: String::new(), machine };
            work.check_url(&url).map_err(|refused| ToolError(refused.why))?;
            (ChosenTest { path: url.into(), arguments: Vec::new(), environment: Vec::new() }, work)
        }
        _ => return Err(ToolError("give either a file or a url".to_owned())),
    };
    let _turn = bench.take_turn()?;
    let before = newest(&bench.runs);
    let expected = planned_seconds(bench, &test, &work, call);
    let flags = ["--json".into(), "--quiet".into(), "--stop-with-stdin".into(), "--tag=mcp".into()];
    // A run of a URL runs no code, so it has no permissions.
    let permissions = if work == OrderedWork::Run { bench.permissions.clone() } else { Vec::new() };
    let done = perform_ordered(bench, test, &work, permissions.into_iter().chain(flags).collect(), expected, call)?;
    let id = serde_json::from_str::<Value>(&done.stdout).ok().and_then(|summary| summary["id"].as_str().map(str::to_owned));
    let directory = id.map(|id| bench.runs.join(id)).or_else(|| newest(&bench.runs).filter(|newest| before.as_ref() != Some(newest)));
    let Some(directory) = directory.filter(|directory| directory.is_dir()) else { return Err(ToolError(done.messages)) };
    let mut verdict = JudgedRun::of(&directory)?.verdict();
    verdict["exit_code"] = done.status.code().into();
    verdict["stopped_at_time_limit"] = done.timed_out.into();
    Ok(verdict)
}

/// The duration of the planned load, for the progress. A test without one has no expectation.
fn planned_seconds(bench: &Workbench, test: &ChosenTest, work: &OrderedWork, call: &ToolCall) -> Option<f64> {
    if let OrderedWork::Url { duration, .. } = work {
        return loadstone_units::duration::parse(if duration.is_empty() { "10s" } else { duration }).ok().map(|ns| ns as f64 / 1e9);
    }
    let words = [OsString::from("inspect"), test.path.clone().into()].into_iter();
    let arguments = words.chain(bench.permissions.iter().cloned()).chain(test.arguments.iter().cloned()).collect();
    let inspect = OwnCommand { arguments, environment: test.environment.clone(), seconds_max: 60.0, ..OwnCommand::default() };
    let plan = perform(bench, inspect, call).ok().filter(|done| done.status.success())?;
    let plan: loadstone_plan::TestPlan = serde_json::from_str(&plan.stdout).ok()?;
    plan.load.duration_ns().map(|ns| ns as f64 / 1e9)
}

/// The newest run directory.
fn newest(runs: &Path) -> Option<std::path::PathBuf> {
    History::of(runs).ok()?.names().first().map(|name| runs.join(name))
}

fn experiment(bench: &Workbench, call: &ToolCall) -> Result<Value, ToolError> {
    let asked: ExperimentArguments = call.arguments()?;
    let ExperimentArguments { file, parameters, knob, finding, run, block, rounds, effect, measure } = asked;
    let test = bench.test(&file, &parameters)?;
    if let Some(run) = &run {
        // Reads it once, so that a wrong id is reported in this tool's words.
        JudgedRun::read(&bench.runs, run)?;
    }
    let finding = finding.map(|number| number.to_string()).unwrap_or_default();
    let work = OrderedWork::Experiment { knob, block, rounds, effect, measure, finding, run: run.unwrap_or_default() };
    let mut flags: Vec<OsString> = bench.permissions.clone();
    let _turn = bench.take_turn()?;
    flags.extend(["--json".into(), "--quiet".into()]);
    let done = perform_ordered(bench, test, &work, flags, None, call)?;
    let Ok(experiment) = serde_json::from_str::<loadstone_analysis::Experiment>(&done.stdout) else {
        return Err(ToolError(done.messages));
    };
    let ExperimentView { test, knob, values, word, headline, how, remarks, .. } = ExperimentView::of(&experiment);
    Ok(json!({
        "test": test,
        "knob": knob,
        "values": values,
        "verdict": word,
        "headline": headline,
        "procedure": how,
        "proof": experiment.proof,
        "contrasts": experiment.contrasts,
        "sensitivities": experiment.sensitivities,
        "remarks": remarks,
        "stop": experiment.stop,
        "rounds": experiment.rounds,
        "stopped_at_time_limit": done.timed_out,
        "messages": done.problem(),
    }))
}

fn capacity(bench: &Workbench, call: &ToolCall) -> Result<Value, ToolError> {
    let asked: CapacityArguments = call.arguments()?;
    let CapacityArguments { file, parameters, objectives, first, most, precision, probe, budget } = asked;
    let test = bench.test(&file, &parameters)?;
    let work = OrderedWork::Capacity { objectives, first, most, precision, probe, budget };
    let _turn = bench.take_turn()?;
    let flags = bench.permissions.iter().cloned().chain(["--json".into(), "--quiet".into()]).collect();
    let done = perform_ordered(bench, test, &work, flags, None, call)?;
    let Ok(capacity) = serde_json::from_str::<loadstone_analysis::Capacity>(&done.stdout) else { return Err(ToolError(done.messages)) };
    let CapacityView { word, .. } = CapacityView::of(&capacity);
    let mut answer = serde_json::to_value(&capacity).map_err(ToolError::of)?;
    answer["verdict_in_words"] = word.into();
    answer["stopped_at_time_limit"] = done.timed_out.into();
    answer["messages"] = done.problem().into();
    Ok(answer)
}

/// Performs a command that the page of `loadstone ui` could order, too.
fn perform_ordered(
    bench: &Workbench,
    test: ChosenTest,
    work: &OrderedWork,
    flags: Vec<OsString>,
    expected: Option<f64>,
    call: &ToolCall,
) -> Result<CommandDone, ToolError> {
    let words = [OsString::from(work.command()), test.path.into(), "--runs".into(), bench.runs.clone().into()];
    let ordered = work.flags().into_iter().map(OsString::from);
    let arguments = words.into_iter().chain(bench.limits.arguments()).chain(flags).chain(ordered).chain(test.arguments).collect();
    let reports = matches!(work, OrderedWork::Experiment { .. } | OrderedWork::Capacity { .. });
    let seconds_max = bench.call_max.as_secs_f64();
    perform(bench, OwnCommand { arguments, environment: test.environment, reports, expected, seconds_max }, call)
}
