//! The flows of a run: a table, and notes on each flow.

use loadstone_analysis::{FlowRow, Summary, TimeStats};

use super::style::{Paint, Style, hang};
use super::table::{ColumnHead, Row, TextCell, TextTable};
use crate::words;

/// Title and priority, see [`ColumnHead`].
const HEADS: [(&str, u8); 10] = [
    ("Flows", 0),
    ("Started", 2),
    ("Finished", 0),
    ("Lost", 1),
    ("Open", 0),
    ("p50", 3),
    ("p95", 0),
    ("p99", 1),
    ("Max", 5),
    ("Backlog max", 4),
];

/// The table and the notes of each flow; empty without flows.
pub(crate) fn flows(summary: &Summary, style: &Style) -> String {
    if summary.flows.is_empty() {
        return String::new();
    }
    let heads = HEADS.iter().enumerate().map(|(index, (title, keep))| ColumnHead { title, keep: *keep, left: index == 0 }).collect();
    let mut table = TextTable { heads, rows: Vec::new() };
    for flow in &summary.flows {
        table.rows.push(Row::Cells(cells(flow)));
        table.rows.extend(flow.stages.iter().map(|stage| {
            let mut cells: Vec<TextCell> = vec![format!("  until {}", stage.name).into(), String::new().into()];
            cells.extend([
                loadstone_units::count(stage.reached).into(),
                String::new().into(),
                loadstone_units::count(stage.backlog).into(),
            ]);
            cells.extend(times(&stage.time));
            cells.push(loadstone_units::count(stage.backlog_max).into());
            Row::Cells(cells)
        }));
    }
    let mut out = table.render(style);
    for flow in &summary.flows {
        for line in words::flow(flow) {
            out.push_str(&hang("  ", 2, &format!("{}: {line}", flow.name), style.width));
        }
    }
    out
}

fn cells(flow: &FlowRow) -> Vec<TextCell> {
    let bad = |count: u64, paint: Paint| TextCell { text: loadstone_units::count(count), paint: (count > 0).then_some(paint) };
    let mut cells: Vec<TextCell> =
        vec![flow.name.clone().into(), loadstone_units::count(flow.started).into(), loadstone_units::count(flow.finished).into()];
    cells.extend([bad(flow.timed_out, Paint::Bad), bad(flow.open, Paint::Warning)]);
    cells.extend(times(&flow.time));
    cells.push(loadstone_units::count(flow.backlog_max).into());
    cells
}

/// p50, p95, p99 and maximum; `≥ 3 s` if a percentile lies among journeys that did not finish.
fn times(times: &TimeStats) -> Vec<TextCell> {
    let at = |quantile| TextCell::from(words::percentile(times, quantile));
    vec![at(0.5), at(0.95), at(0.99), loadstone_units::seconds_or_none(times.max).into()]
}
