//! The table of the system's signals at the end of a run: those that support a finding, and those that changed.

use loadstone_analysis::Summary;

use super::style::Style;
use super::table::{ColumnHead, Row, TextCell, TextTable};

/// Title and priority, see [`ColumnHead`].
const HEADS: [(&str, u8); 5] = [("Signals", 0), ("Mean", 0), ("Min", 2), ("Max", 0), ("Max at", 1)];

/// The table; empty if there are no such signals.
pub(crate) fn signals(summary: &Summary, style: &Style) -> String {
    if summary.signals.is_empty() {
        return String::new();
    }
    let heads = HEADS.iter().enumerate().map(|(index, (title, keep))| ColumnHead { title, keep: *keep, left: index == 0 }).collect();
    let rows = summary.signals.iter().map(|signal| {
        let value = |value: f64| TextCell::from(loadstone_units::in_unit(value, &signal.unit));
        let at = TextCell::from(loadstone_units::seconds(signal.max_at_seconds));
        Row::Cells(vec![signal.name.clone().into(), value(signal.mean), value(signal.min), value(signal.max), at])
    });
    TextTable { heads, rows: rows.collect() }.render(style)
}
