//! Requests, groups and iterations in one table, so that their columns stand below each other; flows in one of their own.

use analysis::{Percentile, RequestRow, Summary, TimeStats};

use super::style::{Paint, Style, hang};
use super::table::{ColumnHead, Row, TextCell, TextTable};
use crate::words;

/// Rows of each kind that are shown; the report has them all.
const ROWS_MAX: usize = 20;
/// Doubtful percentiles that are put into words.
const DOUBTS_MAX: usize = 4;

/// Title and rank of what gives way, see [`ColumnHead`].
const HEADS: [(&str, u8); 10] = [
    ("Requests", 0),
    ("Count", 0),
    ("Rate", 4),
    ("Failed", 0),
    ("Mean", 6),
    ("p50", 3),
    ("p95", 0),
    ("p99", 1),
    ("p99, 95 % interval", 7),
    ("Max", 5),
];

/// The table and its footnotes.
pub(crate) fn times(summary: &Summary, style: &Style) -> String {
    if summary.requests.is_empty() && summary.scenarios.is_empty() {
        return "No requests were made.\n".to_owned();
    }
    let heads = HEADS.iter().enumerate().map(|(index, (title, keep))| ColumnHead { title, keep: *keep, left: index == 0 }).collect();
    let mut table = TextTable { heads, rows: Vec::new() };
    let mut left_out = Vec::new();
    let mut thin = false;
    // Iterations are worth their rows only where they say more than the requests do.
    let several = summary.scenarios.len() > 1 || summary.requests.len() != 1 || summary.scenarios.iter().any(|row| row.failed > 0);
    let scenarios: &[RequestRow] = if several { &summary.scenarios } else { &[] };
    for (title, rows) in [("Requests", summary.requests.as_slice()), ("Groups", &summary.groups), ("Iterations", scenarios)] {
        let shown = busiest(rows);
        thin |= shown.iter().any(|row| has_thin_percentile(&row.response));
        if rows.len() > shown.len() {
            left_out.push(format!("{} more {}", units::count((rows.len() - shown.len()) as u64), title.to_lowercase()));
        }
        if title == "Requests" { requests(&shown, &mut table) } else { others(title, &shown, &mut table) }
    }
    let mut out = table.render(style);
    if thin {
        out.push_str(&format!("{}\n", style.paint(Paint::Dim, "— too few samples for this percentile")));
    }
    for text in doubts(summary) {
        out.push_str(&hang("~ ", 2, &text, style.width));
    }
    if !left_out.is_empty() {
        out.push_str(&format!("… and {} in the report\n", left_out.join(", ")));
    }
    out
}

/// The largest of the doubts in words.
fn doubts(summary: &Summary) -> Vec<String> {
    let mut doubts = words::doubts(summary);
    let more = doubts.len().saturating_sub(DOUBTS_MAX);
    doubts.truncate(DOUBTS_MAX);
    if more > 0 {
        doubts.push(format!("so may a part of {} more", units::counted(more as u64, "number")));
    }
    doubts
}

/// Requests come under their scenario's name where there are several scenarios.
fn requests(shown: &[&RequestRow], table: &mut TextTable) {
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
        table.rows.extend(rows.map(|row| Row::Cells(cells(row, several))));
    }
}

fn others(title: &'static str, shown: &[&RequestRow], table: &mut TextTable) {
    if !shown.is_empty() {
        table.rows.push(Row::Section(title));
        table.rows.extend(shown.iter().map(|row| Row::Cells(cells(row, false))));
    }
}

/// The rows to show, in their order: those that failed and those with the most samples.
fn busiest(rows: &[RequestRow]) -> Vec<&RequestRow> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse((rows[*index].failed > 0, rows[*index].count)));
    order.truncate(ROWS_MAX);
    order.sort_unstable();
    order.into_iter().map(|index| &rows[index]).collect()
}

fn cells(row: &RequestRow, indented: bool) -> Vec<TextCell> {
    let group = if row.key.group.is_empty() { String::new() } else { format!("{} / ", row.key.group) };
    let indent = if indented { "  " } else { "" };
    let failed = TextCell { text: words::failed(row), paint: (row.failed > 0).then_some(Paint::Bad) };
    let at = |quantile| time(row.response.at(quantile), doubt_of(&row.response, quantile));
    let p99 = row.response.percentiles.iter().find(|p| (p.quantile - 0.99).abs() < 1e-9);
    vec![
        format!("{indent}{group}{}", row.key.name).into(),
        units::count(row.count).into(),
        TextCell { text: words::rate(row), paint: row.rate_doubt.map(|_| Paint::Doubt) },
        failed,
        time(row.response.mean, row.response.mean_doubt),
        at(0.5),
        at(0.95),
        at(0.99),
        p99.map_or_else(String::new, interval).into(),
        TextCell { text: words::longest(&row.response), paint: row.response.max_doubt.map(|_| Paint::Doubt) },
    ]
}

fn time(value: Option<f64>, doubt: Option<f64>) -> TextCell {
    let text = value.map_or_else(|| units::NONE.to_owned(), |value| words::marked(value, doubt));
    TextCell { text, paint: doubt.map(|_| Paint::Doubt) }
}

fn doubt_of(times: &TimeStats, quantile: f64) -> Option<f64> {
    times.percentiles.iter().find(|p| (p.quantile - quantile).abs() < 1e-9)?.doubt
}

/// `37.1–40.0 ms`, or with both units where they differ; `≥ 37.1 ms` where the run is too short for an upper end.
pub(crate) fn interval(percentile: &Percentile) -> String {
    let (low, high) = match (percentile.low.map(units::seconds), percentile.high.map(units::seconds)) {
        (Some(low), Some(high)) => (low, high),
        (Some(low), None) if percentile.value.is_some() => return format!("≥ {low}"),
        _ => return String::new(),
    };
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

fn has_thin_percentile(times: &TimeStats) -> bool {
    [0.5, 0.95, 0.99].iter().any(|quantile| times.at(*quantile).is_none())
}
