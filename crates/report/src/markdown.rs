//! A summary in Markdown, for the page of a CI job (GitHub's `$GITHUB_STEP_SUMMARY` and similar) or a merge request.

use std::fmt::Write;

use loadstone_analysis::{FlowRow, Grade, MetricRow, Remark, RequestRow, Summary, ThresholdState};

use crate::explanation;
use crate::failure_sample;
use crate::terminal::Closing;
use crate::view::RunState;
use crate::words;

/// Upper bound on the rows of each table. A step summary may not exceed a megabyte.
const ROWS_MAX: usize = 50;
const ERRORS_MAX: usize = 10;

/// The summary, GitHub-flavoured, ending in a line break.
pub fn markdown(summary: &Summary, closing: &Closing<'_>) -> String {
    let mut out = String::new();
    headline(summary, closing, &mut out);
    validity(summary, &mut out);
    thresholds(summary, &mut out);
    findings(summary, closing, &mut out);
    resources(summary, &mut out);
    times("Request", &summary.requests, &mut out);
    times("Group", &summary.groups, &mut out);
    flows(&summary.flows, &mut out);
    metrics(&summary.metrics, &mut out);
    checks(summary, &mut out);
    errors(summary, &mut out);
    totals(summary, closing, &mut out);
    out
}

/// Writing to a `String` cannot fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => { let _ = writeln!($out, $($text)*); };
}

fn headline(summary: &Summary, closing: &Closing<'_>, out: &mut String) {
    let after = loadstone_units::seconds(summary.totals.duration_seconds);
    let ended = match closing.state {
        RunState::Running => format!("running for {after}"),
        RunState::Completed => format!("ran for {after}"),
        RunState::Interrupted => format!("**interrupted** after {after}"),
        RunState::Aborted => format!("**aborted** after {after}"),
        RunState::Failed => format!("**failed** after {after}"),
        RunState::Killed => format!("**killed** after {after}"),
    };
    line!(out, "## Load test: {}\n", text(&summary.test));
    let detail = if closing.state_detail.is_empty() { String::new() } else { format!(": {}", text(closing.state_detail)) };
    line!(out, "{ended}{detail}\n");
}

fn validity(summary: &Summary, out: &mut String) {
    let validity = &summary.verdict.validity;
    let unusable = words::unusable_percentiles(summary).join(", ");
    let (sign, word) = match validity.grade {
        Grade::Valid if !unusable.is_empty() => ("⚠️", format!("VALID EXCEPT {unusable}")),
        Grade::Valid => ("✅", "VALID".to_owned()),
        Grade::Suspect => ("⚠️", "SUSPECT".to_owned()),
        Grade::Invalid => ("❌", "INVALID".to_owned()),
    };
    line!(out, "{sign} **{word}**: {}\n", text(&words::meaning(summary)));
    let mut reasons: Vec<_> = validity.checks.iter().filter(|check| check.grade > Some(Grade::Valid)).collect();
    reasons.sort_by_key(|check| std::cmp::Reverse(check.grade));
    for check in &reasons {
        let advice = if check.advice.is_empty() { String::new() } else { format!(" → {}", text(&check.advice)) };
        line!(out, "- **{}**: {}{advice}", text(&check.title), text(&check.evidence));
    }
    if !reasons.is_empty() {
        out.push('\n');
    }
}

fn thresholds(summary: &Summary, out: &mut String) {
    if summary.verdict.thresholds.is_empty() {
        return;
    }
    line!(out, "| | Threshold | Measured |\n|---|---|---|");
    for result in &summary.verdict.thresholds {
        let sign = match result.state {
            ThresholdState::Passed => "✅ met",
            ThresholdState::Failed => "❌ failed",
            ThresholdState::Undecided => "⚠️ undecided",
            ThresholdState::NoData => "❌ no data",
            ThresholdState::Pending => "… open",
        };
        line!(out, "| {sign} | {} | {} |", text(&result.threshold.label), text(&result.detail));
    }
    out.push('\n');
}

fn findings(summary: &Summary, closing: &Closing<'_>, out: &mut String) {
    let findings = &summary.verdict.findings;
    if findings.findings.is_empty() {
        statements("**Findings**: ", &findings.remark, out);
        return;
    }
    line!(out, "### Findings\n");
    for (finding, number) in findings.findings.iter().zip(1..) {
        let confidence = format!("{:?}", finding.confidence).to_lowercase();
        line!(out, "1. **{}** ({confidence} confidence)", text(&finding.claim));
        for evidence in &finding.evidence {
            line!(out, "   - {}", text(&evidence.text));
        }
        if !finding.next.is_empty() {
            line!(out, "   - → {}", text(&finding.next));
        }
        if !finding.page.is_empty() {
            let proof = explanation::experiment(finding, number, closing.file, explanation::run_argument(closing.places, &summary.id));
            let proof = proof.map_or_else(String::new, |command| format!(" · prove it: {}", code(&command)));
            line!(out, "   - more: {}{proof}", code(&format!("loadstone explain {}", explanation::explained_as(finding))));
        }
    }
    out.push('\n');
    statements("Also: ", &findings.remark, out);
}

/// A remark: its first statement after the lead, and the others as a list.
fn statements(lead: &str, remark: &Remark, out: &mut String) {
    let Some((first, others)) = remark.statements.split_first() else { return };
    line!(out, "{lead}{}\n", text(first));
    for other in others {
        line!(out, "- {}", text(other));
    }
    if !others.is_empty() {
        out.push('\n');
    }
}

fn resources(summary: &Summary, out: &mut String) {
    if !words::shows_resources(summary) {
        return;
    }
    line!(out, "| Resource | Limit | Low load | High load | Waiting | Errors/s |\n|---|--:|--:|--:|--:|--:|");
    let number = |value: Option<f64>| value.map_or_else(String::new, loadstone_units::number);
    for row in summary.resources.iter().take(ROWS_MAX) {
        let limit = row.limit.map_or_else(String::new, |limit| format!("{} {}", loadstone_units::number(limit), text(&row.unit)));
        let high = if row.high.is_some() { words::resource_use(row.kind, row.high) } else { "not observed".to_owned() };
        let (waiting, errors) = (row.high.and_then(|high| high.waiting), row.high.and_then(|high| high.errors));
        let (name, low) = (words::resource(row), words::resource_use(row.kind, row.low));
        line!(out, "| {} | {} | {low} | {high} | {} | {} |", text(&name), limit.trim_end(), number(waiting), number(errors));
    }
    out.push('\n');
}

fn times(title: &str, rows: &[RequestRow], out: &mut String) {
    if rows.is_empty() {
        return;
    }
    line!(out, "| {title} | Count | Rate | Failed | Mean | p50 | p95 | p99 | Max |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for row in rows.iter().take(ROWS_MAX) {
        let group = if row.key.group.is_empty() { String::new() } else { format!("{} / ", row.key.group) };
        let at = |quantile| loadstone_units::seconds_or_none(row.response.at(quantile));
        let failed = if row.failed > 0 { format!("**{}**", words::failed(row)) } else { "0".to_owned() };
        line!(
            out,
            "| {} | {} | {} | {failed} | {} | {} | {} | {} | {} |",
            text(&format!("{group}{}", row.key.name)),
            loadstone_units::count(row.count),
            words::rate(row),
            loadstone_units::seconds_or_none(row.response.mean),
            at(0.5),
            at(0.95),
            at(0.99),
            words::longest(&row.response),
        );
    }
    out.push('\n');
    if rows.len() > ROWS_MAX {
        line!(out, "… and {} more in the report.\n", loadstone_units::count((rows.len() - ROWS_MAX) as u64));
    }
}

fn flows(rows: &[FlowRow], out: &mut String) {
    if rows.is_empty() {
        return;
    }
    line!(
        out,
        "| Flow | Started | Finished | Lost | Open | p50 | p95 | p99 | Max | Backlog max |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    );
    for flow in rows.iter().take(ROWS_MAX) {
        let at = |times, quantile| words::percentile(times, quantile);
        let [started, finished, lost, open] = [flow.started, flow.finished, flow.timed_out, flow.open].map(loadstone_units::count);
        let (p50, p95, p99) = (at(&flow.time, 0.5), at(&flow.time, 0.95), at(&flow.time, 0.99));
        let (max, backlog) = (loadstone_units::seconds_or_none(flow.time.max), loadstone_units::count(flow.backlog_max));
        line!(out, "| {} | {started} | {finished} | {lost} | {open} | {p50} | {p95} | {p99} | {max} | {backlog} |", text(&flow.name));
        for stage in &flow.stages {
            let [reached, open, backlog] = [stage.reached, stage.backlog, stage.backlog_max].map(loadstone_units::count);
            let (p50, p95, p99) = (at(&stage.time, 0.5), at(&stage.time, 0.95), at(&stage.time, 0.99));
            let max = loadstone_units::seconds_or_none(stage.time.max);
            line!(out, "| … until {} | | {reached} | | {open} | {p50} | {p95} | {p99} | {max} | {backlog} |", text(&stage.name));
        }
    }
    out.push('\n');
    for (flow, note) in rows.iter().take(ROWS_MAX).flat_map(|flow| words::flow(flow).into_iter().map(move |note| (flow, note))) {
        line!(out, "- **{}**: {}", text(&flow.name), text(&note));
    }
    out.push('\n');
}

fn metrics(rows: &[MetricRow], out: &mut String) {
    for row in rows.iter().take(ROWS_MAX) {
        line!(out, "- metric {}", text(&words::metric_line(row)));
    }
    if !rows.is_empty() {
        out.push('\n');
    }
}

fn checks(summary: &Summary, out: &mut String) {
    let failing: Vec<_> = summary.checks.iter().filter(|row| row.failed > 0).take(ROWS_MAX).collect();
    for row in &failing {
        let total = row.passed + row.failed;
        line!(
            out,
            "- ❌ check **{}**: {} of {} failed",
            text(&words::check(row, &summary.checks)),
            loadstone_units::count(row.failed),
            loadstone_units::count(total)
        );
    }
    if !failing.is_empty() {
        out.push('\n');
    }
}

fn errors(summary: &Summary, out: &mut String) {
    if summary.errors.is_empty() {
        return;
    }
    let mut rows: Vec<_> = summary.errors.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    line!(out, "| Count | Request | Error |\n|--:|---|---|");
    for row in rows.iter().take(ERRORS_MAX) {
        let message: String = row.message.chars().take(300).collect();
        line!(out, "| {} | {} | {}: {} |", loadstone_units::count(row.count), text(&row.key.name), row.outcome.label(), text(&message));
    }
    out.push('\n');
    for row in rows.iter().take(ERRORS_MAX).filter(|row| !row.samples.is_empty()) {
        line!(out, "First response to **{}**:\n", text(&row.key.name));
        for line in failure_sample::lines(row) {
            line!(out, "> {}  ", text(&line));
        }
        out.push('\n');
    }
    if rows.len() > ERRORS_MAX {
        line!(out, "… and {} more in the report.\n", rows.len() - ERRORS_MAX);
    }
}

fn totals(summary: &Summary, closing: &Closing<'_>, out: &mut String) {
    let totals = &summary.totals;
    let mut parts = vec![
        format!("{} ({})", loadstone_units::counted(totals.requests, "request"), loadstone_units::rate(totals.request_rate)),
        format!("{} failed ({})", loadstone_units::count(totals.requests_failed), loadstone_units::share(totals.failure_share)),
    ];
    parts.extend(words::retried(totals));
    // As in the terminal: the record of a watched tool has neither.
    if totals.iterations > 0 || totals.requests == 0 {
        parts.push(loadstone_units::counted(totals.iterations, "iteration"));
    }
    if totals.bytes_sent > 0 || totals.bytes_received > 0 || totals.requests == 0 {
        parts.push(format!("{} sent", loadstone_units::bytes(totals.bytes_sent)));
        parts.push(format!("{} received", loadstone_units::bytes(totals.bytes_received)));
    }
    line!(out, "{}", parts.join(", "));
    for (what, place) in closing.places {
        line!(out, "\n{}: `{}`", text(what), place.replace('`', "'"));
    }
}

/// A code span, in which nothing is escaped.
fn code(raw: &str) -> String {
    format!("`{}`", raw.replace(|c: char| c == '`' || c.is_control(), " "))
}

/// Escapes foreign text, so that it appears as it is and cannot become a table cell, heading, link, mention or HTML.
pub(crate) fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '|' | '[' | ']' | '#' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("@\u{2060}"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
