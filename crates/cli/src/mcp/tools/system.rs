//! Tools about the observed system: what observers there are and what they read, and one resource in detail.

use loadstone_analysis::{Finding, ResourceRow, SignalRow};
use loadstone_mcp::{Tool, ToolArguments, ToolCall, ToolEffect, ToolError, schemars};
use loadstone_report::ReportView;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::mcp::series;
use crate::mcp::stored::{JudgedRun, request};
use crate::mcp::workbench::Workbench;

/// Series in the explanation of a resource.
const SERIES_MAX: usize = 8;
/// Names in the message about an unknown resource.
const NAMES_MAX: usize = 60;

pub(super) const OBSERVERS: Tool<Workbench> = Tool {
    name: "observers",
    title: "Observers and what they read",
    help: "Without `run`: every kind of observer, with the code that adds it to a test. With `run`: the signals that were observed with mean, minimum and \
           maximum, observers that failed, and resources that were not observed, which limits what findings can name.",
    effect: ToolEffect::Reads,
    arguments: ObserversArguments::schema,
    perform: observers,
};

pub(super) const EXPLAIN: Tool<Workbench> = Tool {
    name: "explain",
    title: "Explain a resource",
    help: "What a run shows about one resource, signal or request, by its name or a part of it (`pool`, `process:8080`, `Check out`): use at low and at \
           high load, limit, waiting, errors, its series, and the findings about it.",
    effect: ToolEffect::Reads,
    arguments: ExplainArguments::schema,
    perform: explain,
};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "loadstone_mcp::schemars")]
struct ObserversArguments {
    /// Id of a run, or `latest`.
    run: Option<String>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "loadstone_mcp::schemars")]
struct ExplainArguments {
    /// Name of a resource, a signal or a request, or a part of it.
    resource: String,
    /// Id of a run or its prefix, `latest` or `latest~1`. The latest run if absent.
    run: Option<String>,
}

fn observers(bench: &Workbench, call: &ToolCall) -> Result<Value, ToolError> {
    let asked: ObserversArguments = call.arguments()?;
    let Some(run) = asked.run else {
        let kinds = loadstone_observe::described_kinds()
            .map(|kind| json!({ "observer": kind.name, "observes": kind.watches, "example": kind.example, "main_signals": kind.reports }));
        return Ok(json!({ "kinds": kinds.collect::<Vec<_>>(), "in_a_test": "export default test({ observe: [ … ], … })" }));
    };
    let stored = JudgedRun::read(&bench.runs, &run)?;
    let unobserved: Vec<&ResourceRow> = stored.summary.resources.iter().filter(|row| row.high.is_none()).collect();
    Ok(json!({
        "run": stored.summary.id,
        "observers": stored.run.plan.observers,
        "signals": stored.summary.signals,
        "notices": stored.run.notices,
        "not_observed": unobserved,
    }))
}

fn explain(bench: &Workbench, call: &ToolCall) -> Result<Value, ToolError> {
    let ExplainArguments { resource, run } = call.arguments()?;
    let stored = JudgedRun::read(&bench.runs, run.as_deref().unwrap_or("latest"))?;
    let summary = &stored.summary;
    let wanted = resource.trim().to_lowercase();
    let matches = |name: &str| !wanted.is_empty() && name.to_lowercase().contains(&wanted);
    let resources: Vec<&ResourceRow> = summary.resources.iter().filter(|row| matches(&row.name)).collect();
    let signals: Vec<&SignalRow> = summary.signals.iter().filter(|row| matches(&row.name)).collect();
    let requests: Vec<Value> = summary.requests.iter().filter(|row| matches(&row.key.name)).map(request).collect();
    let is_about = |finding: &Finding| finding.subject.names().into_iter().any(matches) || matches(&finding.claim);
    let numbered = summary.verdict.findings.findings.iter().enumerate().filter(|(_, finding)| is_about(finding));
    let findings: Vec<Value> =
        numbered.map(|(index, finding)| json!({ "number": index + 1, "claim": finding.claim, "confidence": finding.confidence })).collect();
    if resources.is_empty() && signals.is_empty() && requests.is_empty() && findings.is_empty() {
        let resources = summary.resources.iter().map(|row| row.name.as_str());
        let known: Vec<&str> = resources.chain(summary.requests.iter().map(|row| &*row.key.name)).take(NAMES_MAX).collect();
        return Err(ToolError(format!("run {} has nothing that is named \"{resource}\"; it has: {}", summary.id, known.join(", "))));
    }
    let view = ReportView::build(&stored.run, summary);
    let columns: Vec<String> = signals.iter().take(SERIES_MAX).map(|row| format!("signal/{}", row.name)).collect();
    Ok(json!({
        "run": summary.id,
        "resources": resources,
        "signals": signals,
        "series": series::of_run(&view, &columns, (0.0, f64::INFINITY)),
        "requests": requests,
        "findings": findings,
    }))
}
