//! The capacity on a terminal: the answer, what limits the system there, then the probes by load.

use loadstone_analysis::Capacity;

use super::cells;
use crate::terminal::{ColumnHead, Paint, Row, Style, TextCell, TextTable, hang};

/// Width of the labels. Columns.
const LABEL: usize = 13;

/// The complete output, ending in a line break. `folder` contains the runs of the probes.
pub fn terminal(capacity: &Capacity, folder: &str, style: &Style) -> String {
    let (sign, word, paint) = cells::word(capacity.verdict);
    let lead = format!("{sign} {word}  ");
    let mut out = hang(&style.paint(paint, &lead), lead.chars().count(), &capacity.headline, style.width);
    for (title, text) in cells::limits(capacity) {
        out.push_str(&hang(&style.paint(Paint::Bold, &format!("{title:<LABEL$}")), LABEL, &text, style.width));
    }
    out.push('\n');
    out.push_str(&table(capacity, style));
    out.push_str(&format!("\n{}; the runs are in {folder}\n", cells::cost(capacity)));
    out
}

fn table(capacity: &Capacity, style: &Style) -> String {
    let heads = [("Load", true), ("", true), ("Measured, with its 95 % interval", true), ("Length", false), ("Run", true)];
    let heads = heads.iter().zip([0, 0, 0, 2, 1]).map(|((title, left), keep)| ColumnHead { title, keep, left: *left }).collect();
    let mut rows = Vec::new();
    for probe in cells::by_load(capacity) {
        let (sign, word, paint) = cells::lean(probe);
        for (index, objective) in probe.reading.objectives.iter().enumerate() {
            let first = |text: String| TextCell::from(if index == 0 { text } else { String::new() });
            let measured = if probe.reading.objectives.len() > 1 {
                format!("{}: {}", objective.objective, cells::reading(objective))
            } else {
                cells::reading(objective)
            };
            rows.push(Row::Cells(vec![
                first(capacity.unit.words(probe.load)),
                TextCell { text: if index == 0 { format!("{sign} {word}") } else { String::new() }, paint: Some(paint) },
                measured.into(),
                first(loadstone_units::seconds(probe.seconds)),
                first(probe.run.clone()),
            ]));
        }
    }
    TextTable { heads, rows }.render(style)
}
