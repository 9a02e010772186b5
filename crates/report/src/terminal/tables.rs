//! Requests, groups and iterations in one table, so that their columns align.

use loadstone_analysis::{Percentile, RequestRow, Summary, ThresholdResult, ThresholdState, TimeStats};

use super::columns::{TimeColumn, TimeColumns};
use super::style::{Paint, Style, hang};
use super::table::{ColumnHead, Row, TextCell, TextTable};
use crate::words;

/// Upper bound on the rows of each kind, unless all are wanted; the report has all rows.
const ROWS_MAX: usize = 10;

/// The table and its notes.
pub(crate) fn times(summary: &Summary, columns: &TimeColumns, shows_all: bool, style: &Style) -> String {
    if summary.requests.is_empty() && summary.scenarios.is_empty() {
        let verb = if summary.source.is_own() { "sent" } else { "recorded" };
        return format!("No requests were {verb}.\n");
    }
    let mut heads = vec![ColumnHead { title: "Requests", keep: 0, left: true }];
    heads.extend(columns.iter().map(|(column, keep)| ColumnHead { title: column.title(), keep, left: false }));
    let mut table = TextTable { heads, rows: Vec::new() };
    let mut left_out = Vec::new();
    let mut thin = false;
    // Iterations are shown only if they add information to that of the requests.
    let several = summary.scenarios.len() > 1 || summary.requests.len() != 1 || summary.scenarios.iter().any(|row| row.failed > 0);
    let scenarios: &[RequestRow] = if several { &summary.scenarios } else { &[] };
    for (title, rows) in [("Requests", summary.requests.as_slice()), ("Groups", &summary.groups), ("Iterations", scenarios)] {
        let shown = if shows_all { rows.iter().collect() } else { first(rows, &summary.verdict.thresholds) };
        thin |= shown.iter().any(|row| columns.has_thin(&row.response));
        if rows.len() > shown.len() {
            left_out.push(format!("{} more {}", loadstone_units::count((rows.len() - shown.len()) as u64), title.to_lowercase()));
        }
        if title == "Requests" {
            requests(&shown, columns, &mut table)
        } else {
            others(title, &shown, columns, &mut table)
        }
        if title == "Requests" && rows.len() > 1 {
            table.rows.push(Row::Cells(all_requests(summary, columns)));
        }
    }
    let mut out = table.render(style);
    if thin {
        out.push_str(&format!("{}\n", style.paint(Paint::Dim, "— too few samples for this percentile")));
    }
    if let Some(note) = words::noise(summary) {
        out.push_str(&hang("~ ", 2, &note, style.width));
    }
    if !left_out.is_empty() {
        out.push_str(&hang("… ", 2, &format!("and {}: --all shows them, and the report has them", left_out.join(", ")), style.width));
    }
    out
}

/// With several scenarios, requests are listed under the name of their scenario.
fn requests(shown: &[&RequestRow], columns: &TimeColumns, table: &mut TextTable) {
    let mut scenarios: Vec<&str> = Vec::new();
    for row in shown {
        if !scenarios.contains(&&*row.key.scenario) {
            scenarios.push(&row.key.scenario);
        }
    }
    for scenario in &scenarios {
        let several = scenarios.len() > 1;
        if several {
            table.rows.push(Row::Heading((*scenario).to_owned()));
        }
        let rows = shown.iter().filter(|row| &*row.key.scenario == *scenario);
        table.rows.extend(rows.map(|row| Row::Cells(cells(row, several, columns))));
    }
}

fn others(title: &'static str, shown: &[&RequestRow], columns: &TimeColumns, table: &mut TextTable) {
    if !shown.is_empty() {
        table.rows.push(Row::Section(title));
        table.rows.extend(shown.iter().map(|row| Row::Cells(cells(row, false, columns))));
    }
}

/// All rows in their order, or the most important ones of many: those that break a threshold, those with the most failures, the slowest.
fn first<'s>(rows: &'s [RequestRow], thresholds: &[ThresholdResult]) -> Vec<&'s RequestRow> {
    let mut shown: Vec<&RequestRow> = rows.iter().collect();
    if shown.len() <= ROWS_MAX {
        return shown;
    }
    let breaks = |row: &RequestRow| {
        let is_of_it = |result: &&ThresholdResult| result.threshold.selector.name.as_deref() == Some(&*row.key.name);
        thresholds.iter().filter(is_of_it).any(|result| result.state == ThresholdState::Failed)
    };
    let slow = |row: &RequestRow| row.response.at(0.95).or(row.response.max).unwrap_or(0.0);
    shown.sort_by(|a, b| {
        let failed = b.failed.cmp(&a.failed);
        breaks(b).cmp(&breaks(a)).then(failed).then(slow(b).total_cmp(&slow(a)))
    });
    shown.truncate(ROWS_MAX);
    shown
}

fn cells(row: &RequestRow, indented: bool, columns: &TimeColumns) -> Vec<TextCell> {
    let group = if row.key.group.is_empty() { String::new() } else { format!("{} / ", row.key.group) };
    let indent = if indented { "  " } else { "" };
    let failed = TextCell { text: words::failed(row), paint: (row.failed > 0).then_some(Paint::Bad) };
    let rate = TextCell { text: words::rate(row), paint: row.rate_uncertainty.map(|_| Paint::Warning) };
    let name = format!("{indent}{group}{}", row.key.name);
    line(name, columns, [loadstone_units::count(row.count).into(), rate, failed], &row.response)
}

/// All requests together. Their percentiles come from all times; they are not means of the rows.
fn all_requests(summary: &Summary, columns: &TimeColumns) -> Vec<TextCell> {
    let totals = &summary.totals;
    let failed =
        TextCell { text: loadstone_units::count(totals.requests_failed), paint: (totals.requests_failed > 0).then_some(Paint::Bad) };
    let counts = [loadstone_units::count(totals.requests).into(), loadstone_units::rate(totals.request_rate).into(), failed];
    line("All requests".to_owned(), columns, counts, &summary.response)
}

/// A name, and the numbers of the chosen columns. `counts`: count, rate and failures.
fn line(name: String, columns: &TimeColumns, counts: [TextCell; 3], times: &TimeStats) -> Vec<TextCell> {
    let cell = |column: TimeColumn| match column {
        TimeColumn::Count => counts[0].clone(),
        TimeColumn::Rate => counts[1].clone(),
        TimeColumn::Failed => counts[2].clone(),
        TimeColumn::Mean => time(times.mean, times.mean_uncertainty),
        TimeColumn::Min => time(times.min, None),
        TimeColumn::Percentile(quantile) => time(times.at(quantile), uncertainty_of(times, quantile)),
        TimeColumn::Interval => {
            let p99 = times.percentiles.iter().find(|p| (p.quantile - 0.99).abs() < 1e-9);
            p99.map_or_else(String::new, interval).into()
        }
        TimeColumn::Max => TextCell { text: words::longest(times), paint: times.max_uncertainty.map(|_| Paint::Warning) },
    };
    std::iter::once(name.into()).chain(columns.iter().map(|(column, _)| cell(column))).collect()
}

fn time(value: Option<f64>, uncertainty: Option<f64>) -> TextCell {
    let text = value.map_or_else(|| loadstone_units::NONE.to_owned(), |value| words::marked(value, uncertainty));
    TextCell { text, paint: uncertainty.map(|_| Paint::Warning) }
}

fn uncertainty_of(times: &TimeStats, quantile: f64) -> Option<f64> {
    times.percentiles.iter().find(|p| (p.quantile - quantile).abs() < 1e-9)?.uncertainty
}

/// `37.1–40.0 ms`, or with both units if they differ. `≥ 37.1 ms` if the run is too short for an upper end.
pub(crate) fn interval(percentile: &Percentile) -> String {
    let (low, high) = match (percentile.low.map(loadstone_units::seconds), percentile.high.map(loadstone_units::seconds)) {
        (Some(low), Some(high)) => (low, high),
        (Some(low), None) if percentile.value.is_some() => return format!("≥ {low}"),
        _ => return String::new(),
    };
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}
