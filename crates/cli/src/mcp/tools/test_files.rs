//! Tools for tests: list them, resolve one, run each scenario once.

use std::collections::BTreeMap;
use std::ffi::OsString;

use loadstone_mcp::{Tool, ToolArguments, ToolCall, ToolEffect, ToolError, schemars};
use serde::Deserialize;
use serde_json::json;

use crate::mcp::work::{CommandDone, OwnCommand, perform};
use crate::mcp::workbench::Workbench;

/// Time limit of commands that generate no load. Seconds.
const SHORT_SECONDS_MAX: f64 = 120.0;

pub(super) const LIST_TESTS: Tool<Workbench> = Tool {
    name: "list_tests",
    title: "List tests",
    help: "Lists the tests of the folder: file, name, load in words, parameters with defaults, knobs that an experiment can change, objectives for a \
           capacity search, and the error of a test that does not load.",
    effect: ToolEffect::Reads,
    arguments: NoArguments::schema,
    perform: |bench, call| {
        call.arguments::<NoArguments>()?;
        let tests = bench.catalogue.tests().map_err(ToolError::of)?;
        Ok(json!({ "tests": *tests, "limits": bench.limits.in_words() }))
    },
};

pub(super) const INSPECT: Tool<Workbench> = Tool {
    name: "inspect",
    title: "Inspect a test",
    help: "Shows the resolved plan of a test: scenarios, load profiles, thresholds, observers, stubs and parameters. Generates no load.",
    effect: ToolEffect::Reads,
    arguments: TestArguments::schema,
    perform: |bench, call| {
        let asked: TestArguments = call.arguments()?;
        let done = command(bench, "inspect", &asked, &bench.permissions, call)?;
        succeeded(&done)?;
        serde_json::from_str(&done.stdout).map_err(ToolError::of)
    },
};

pub(super) const TRY: Tool<Workbench> = Tool {
    name: "try",
    title: "Try a test once",
    help: "Runs each scenario of a test once, and returns every request, response, message and check as text. Use it before `run` to see whether the \
           test works. Nothing is recorded.",
    effect: ToolEffect::SendsRequests,
    arguments: TryArguments::schema,
    perform: |bench, call| {
        let asked: TryArguments = call.arguments()?;
        let _turn = bench.take_turn()?;
        let TryArguments { file, parameters, scenario } = asked;
        let mut flags = bench.flags.clone();
        flags.extend(scenario.map(|name| OsString::from(format!("--scenario={name}"))));
        let done = command(bench, "try", &TestArguments { file, parameters }, &flags, call)?;
        // Lines, so that a long exchange is not cut as one string.
        let lines: Vec<&str> = done.stdout.lines().collect();
        Ok(json!({ "passed": done.status.success(), "output": lines, "messages": done.problem() }))
    },
};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "loadstone_mcp::schemars")]
struct NoArguments {}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "loadstone_mcp::schemars")]
struct TestArguments {
    /// File of the test, as `list_tests` shows it.
    file: String,
    /// Parameters of the test by name. Values are strings.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "loadstone_mcp::schemars")]
struct TryArguments {
    /// File of the test, as `list_tests` shows it.
    file: String,
    /// Parameters of the test by name. Values are strings.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    /// Run only this scenario.
    scenario: Option<String>,
}

/// Performs a short command on a test.
fn command(bench: &Workbench, name: &str, asked: &TestArguments, flags: &[OsString], call: &ToolCall) -> Result<CommandDone, ToolError> {
    let test = bench.test(&asked.file, &asked.parameters)?;
    let words = [OsString::from(name), test.path.into()].into_iter();
    let arguments = words.chain(flags.iter().cloned()).chain(test.arguments).collect();
    perform(bench, OwnCommand { arguments, environment: test.environment, seconds_max: SHORT_SECONDS_MAX, ..OwnCommand::default() }, call)
}

fn succeeded(done: &CommandDone) -> Result<(), ToolError> {
    if done.status.success() { Ok(()) } else { Err(ToolError(done.messages.clone())) }
}
