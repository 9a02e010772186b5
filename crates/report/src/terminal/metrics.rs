//! Custom metrics: a table with the columns that at least one of them has.

use loadstone_analysis::{MetricRow, Summary};
use loadstone_plan::MetricKind;

use super::style::Style;
use super::table::{ColumnHead, Row, TextCell, TextTable};
use crate::words;

/// Title and priority, see [`ColumnHead`].
const HEADS: [(&str, u8); 12] = [
    ("Metrics", 0),
    ("Count", 0),
    ("Sum", 0),
    ("Rate", 4),
    ("Share", 0),
    ("Last", 0),
    ("Mean", 3),
    ("p50", 2),
    ("p95", 0),
    ("p99", 1),
    ("Min", 6),
    ("Max", 5),
];
/// Upper bound on the shown rows; the report has all rows.
const ROWS_MAX: usize = 40;

/// The table; empty without metrics.
pub(crate) fn metrics(summary: &Summary, style: &Style) -> String {
    if summary.metrics.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = summary.metrics.iter().take(ROWS_MAX).map(cells).collect();
    let shown: Vec<usize> = (0..HEADS.len()).filter(|column| rows.iter().any(|row| !row[*column].is_empty())).collect();
    let heads = shown.iter().map(|column| ColumnHead { title: HEADS[*column].0, keep: HEADS[*column].1, left: *column == 0 }).collect();
    let picked = |row: &Vec<String>| Row::Cells(shown.iter().map(|column| TextCell::from(row[*column].clone())).collect());
    let mut out = TextTable { heads, rows: rows.iter().map(picked).collect() }.render(style);
    if summary.metrics.len() > ROWS_MAX {
        out.push_str(&format!("… and {} more in the report\n", loadstone_units::count((summary.metrics.len() - ROWS_MAX) as u64)));
    }
    out
}

/// One cell for each column; empty if the kind of metric has no such value.
fn cells(row: &MetricRow) -> Vec<String> {
    let value = |value: Option<f64>| value.map_or_else(String::new, loadstone_units::number);
    let at = |quantile| match row.kind {
        MetricKind::Trend => row.at(quantile).map_or_else(|| loadstone_units::NONE.to_owned(), loadstone_units::number),
        _ => String::new(),
    };
    let name = if row.tags.is_empty() { words::metric(row) } else { format!("  {}", row.tags) };
    let rate = row.rate.map_or_else(String::new, |rate| format!("{}/s", loadstone_units::number(rate)));
    let share = row.share.map_or_else(String::new, loadstone_units::share);
    let mut cells = vec![name, loadstone_units::count(row.count), value(row.sum), rate, share, value(row.last), value(row.mean)];
    cells.extend([at(0.5), at(0.95), at(0.99), value(row.min), value(row.max)]);
    cells
}
