//! Tools that read runs: the verdict, a finding with its evidence as data, the comparison of two runs.

use loadstone_analysis::{ComparedRow, EFFECT, RowVerdict};
use loadstone_mcp::{Tool, ToolArguments, ToolCall, ToolEffect, ToolError, schemars};
use loadstone_report::ReportView;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::comparison::{self, ConcludedRun};
use crate::mcp::series;
use crate::mcp::stored::JudgedRun;
use crate::mcp::workbench::Workbench;

pub(super) const VERDICT: Tool<Workbench> = Tool {
    name: "verdict",
    title: "Verdict of a run",
    help: "The verdict of a finished run: validity with its problems, thresholds, numbered findings with claim, confidence and proof, times with 95 % \
           intervals, errors. Without a finding, `remark` says what is missing to name a limit.",
    effect: ToolEffect::Reads,
    arguments: RunArgument::schema,
    perform: |bench, call| {
        let asked: RunArgument = call.arguments()?;
        Ok(JudgedRun::read(&bench.runs, asked.run())?.verdict())
    },
};

pub(super) const FINDING: Tool<Workbench> = Tool {
    name: "finding",
    title: "A finding with its evidence",
    help: "One finding of a run as data: rule, subject, quantities with intervals, each piece of evidence with the series and the stretch of time that it \
           rests on, alternatives that were ruled out or not, what to do next, and proofs by experiments.",
    effect: ToolEffect::Reads,
    arguments: FindingArguments::schema,
    perform: finding,
};

pub(super) const COMPARE: Tool<Workbench> = Tool {
    name: "compare",
    title: "Compare two runs",
    help: "Is the candidate better or worse than the baseline? The verdict, the conditions that differ, every number that changed with its interval, and \
           findings that came, went or stayed. If conditions forbid a comparison, there is no verdict.",
    effect: ToolEffect::Reads,
    arguments: CompareArguments::schema,
    perform: compare,
};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "loadstone_mcp::schemars")]
struct RunArgument {
    /// Id of a run or its prefix, `latest` or `latest~1`. The latest run if absent.
    run: Option<String>,
}

impl RunArgument {
    fn run(&self) -> &str {
        self.run.as_deref().unwrap_or("latest")
    }
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "loadstone_mcp::schemars")]
struct FindingArguments {
    /// Id of a run or its prefix, `latest` or `latest~1`. The latest run if absent.
    run: Option<String>,
    /// Number of the finding, from 1.
    number: usize,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "loadstone_mcp::schemars")]
struct CompareArguments {
    /// The earlier run: an id, a tag, or `last` for the run of the same test before the candidate. `last` if absent.
    baseline: Option<String>,
    /// The run to judge. The latest run if absent.
    candidate: Option<String>,
}

fn finding(bench: &Workbench, call: &ToolCall) -> Result<Value, ToolError> {
    let FindingArguments { run, number } = call.arguments()?;
    let stored = JudgedRun::read(&bench.runs, run.as_deref().unwrap_or("latest"))?;
    let findings = &stored.summary.verdict.findings.findings;
    let index = number.wrapping_sub(1);
    let Some(finding) = findings.get(index) else {
        let count = loadstone_units::counted(findings.len() as u64, "finding");
        return Err(ToolError(format!("run {} has {count}; number counts from 1", stored.summary.id)));
    };
    let view = ReportView::build(&stored.run, &stored.summary);
    let evidence = finding.evidence.iter().enumerate().map(|(at, evidence)| {
        let stretch = (evidence.from_seconds, evidence.to_seconds);
        let mut quoted = series::of_evidence(&view, index, at, stretch);
        quoted.extend(series::of_run(&view, &evidence.series, stretch));
        json!({
            "text": evidence.text,
            "from_seconds": evidence.from_seconds,
            "to_seconds": evidence.to_seconds,
            "requests": evidence.requests,
            "lines": evidence.lines,
            "series": quoted,
        })
    });
    let evidence: Vec<Value> = evidence.collect();
    Ok(json!({
        "run": stored.summary.id,
        "number": number,
        "rule": finding.rule,
        "subject": finding.subject,
        "claim": finding.claim,
        "confidence": finding.confidence,
        "quantities": finding.quantities,
        "evidence": evidence,
        "alternatives": finding.alternatives,
        "next_limit": finding.next_limit,
        "next": finding.next,
        "proofs": stored.proof(finding),
        "validity": stored.summary.verdict.validity.grade,
    }))
}

fn compare(bench: &Workbench, call: &ToolCall) -> Result<Value, ToolError> {
    let CompareArguments { baseline, candidate } = call.arguments()?;
    let candidate = JudgedRun::read(&bench.runs, candidate.as_deref().unwrap_or("latest"))?;
    let baseline = baseline.unwrap_or_else(|| "last".to_owned());
    if baseline.contains('/') || baseline.contains("..") {
        return Err(ToolError(format!("\"{baseline}\" is not the id of a run: use an id, a tag or `last`")));
    }
    let test = candidate.summary.test.clone();
    let directory = comparison::find(&bench.runs, &baseline, Some(&test), Some(&candidate.directory)).map_err(ToolError::of)?;
    let wrong = |problem: anyhow::Error| ToolError(format!("{problem:#}"));
    let judged = ConcludedRun::read(&candidate.directory).map_err(wrong)?;
    let compared = ConcludedRun::read(&directory).map_err(wrong)?.compare_with(&judged, EFFECT, &[]);
    let is_changed = |row: &&ComparedRow| row.verdict != RowVerdict::Same;
    let subjects = compared.subjects.iter().map(|subject| {
        let rows: Vec<&ComparedRow> = subject.rows.iter().filter(is_changed).collect();
        json!({ "kind": subject.kind, "name": subject.name, "not_the_same": rows, "same": subject.rows.len() - rows.len() })
    });
    Ok(json!({
        "baseline": compared.baseline,
        "candidate": compared.candidate,
        "verdict": compared.verdict,
        "headline": compared.headline,
        "smallest_change_that_matters": compared.effect,
        "differing_conditions": compared.differences,
        "subjects": subjects.collect::<Vec<_>>(),
        "findings": compared.findings,
        "thresholds": compared.thresholds,
    }))
}
