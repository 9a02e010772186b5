//! The table of resources at the end of a run: the basis of a verdict. Shown if a limit was found, or cannot be determined.

use loadstone_analysis::{ResourceRow, Summary};

use super::style::{Style, hang};
use super::table::{ColumnHead, Row, TextCell, TextTable};
use crate::words;

/// Title and priority, see [`ColumnHead`].
const HEADS: [(&str, u8); 6] = [("Resources", 0), ("Limit", 2), ("Low load", 1), ("High load", 0), ("Waiting", 0), ("Errors/s", 3)];

/// The table; empty if no resource of the system was observed, and if nothing limits it.
pub(crate) fn resources(summary: &Summary, style: &Style) -> String {
    if !words::shows_resources(summary) {
        return String::new();
    }
    let (seen, missing): (Vec<&ResourceRow>, Vec<&ResourceRow>) = summary.resources.iter().partition(|row| row.high.is_some());
    let heads = HEADS.iter().enumerate().map(|(index, (title, keep))| ColumnHead { title, keep: *keep, left: index == 0 }).collect();
    let rows = seen.iter().map(|row| {
        let number = |value: Option<f64>| TextCell::from(value.map_or_else(String::new, loadstone_units::number));
        let limit = row.limit.map_or_else(String::new, |limit| loadstone_units::in_unit(limit, &row.unit));
        let (waiting, errors) = (row.high.and_then(|high| high.waiting), row.high.and_then(|high| high.errors));
        let name = TextCell::from(words::resource(row));
        let (low, high) = (words::resource_use(row.kind, row.low), words::resource_use(row.kind, row.high));
        Row::Cells(vec![name, limit.into(), low.into(), high.into(), number(waiting), number(errors)])
    });
    let mut out = TextTable { heads, rows: rows.collect() }.render(style);
    if !missing.is_empty() {
        let names: Vec<String> = missing.into_iter().map(words::resource).collect();
        out.push_str(&hang("Not observed: ", 14, &names.join(", "), style.width));
    }
    out
}
