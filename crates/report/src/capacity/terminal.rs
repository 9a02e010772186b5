//! The capacity on a terminal: the answer, what limits the system there, then the probes by load.

use loadstone_analysis::{Capacity, CapacityProbe};

use super::cells;
use crate::terminal::{ColumnHead, Paint, Row, Style, TextCell, TextTable, hang, width_of};

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
    let lines = lines(capacity);
    let widest = |of: fn(&ProbeLine) -> &str| lines.iter().map(|line| width_of(of(line))).max().unwrap_or(0);
    let lead = [widest(|line| &line.load), widest(|line| &line.lean)];
    if lead[0] + lead[1] + widest(|line| &line.measured) + 2 * GAP > style.width {
        return wrapped(&lines, lead, style);
    }
    let heads = [("Load", true), ("", true), (MEASURED, true), ("Length", false), ("Run", true)];
    let heads = heads.iter().zip([0, 0, 0, 2, 1]).map(|((title, left), keep)| ColumnHead { title, keep, left: *left }).collect();
    let rows = lines.into_iter().map(|ProbeLine { load, lean, paint, measured, length, run }| {
        Row::Cells(vec![load.into(), TextCell { text: lean, paint: Some(paint) }, measured.into(), length.into(), run.into()])
    });
    TextTable { heads, rows: rows.collect() }.render(style)
}

const MEASURED: &str = "Measured, with its 95 % interval";
/// Between columns.
const GAP: usize = 2;

/// One objective of a probe. Only the first one has the probe's own cells.
struct ProbeLine {
    load: String,
    lean: String,
    paint: Paint,
    measured: String,
    length: String,
    run: String,
}

fn lines(capacity: &Capacity) -> Vec<ProbeLine> {
    let of_probe = |probe: &CapacityProbe| {
        let (sign, word, paint) = cells::lean(probe);
        let objectives = &probe.reading.objectives;
        let measured = objectives.iter().map(|objective| match objectives.len() {
            1 => cells::reading(objective),
            _ => format!("{} · {}", cells::reading(objective), objective.objective),
        });
        let own = [capacity.unit.words(probe.load), format!("{sign} {word}"), loadstone_units::seconds(probe.seconds), probe.run.clone()];
        let of_index = |(index, measured): (usize, String)| {
            let [load, lean, length, run] = if index == 0 { own.clone() } else { Default::default() };
            ProbeLine { load, lean, paint, measured, length, run }
        };
        measured.enumerate().map(of_index).collect::<Vec<ProbeLine>>()
    };
    cells::by_load(capacity).into_iter().flat_map(of_probe).collect()
}

/// The measured values on as many lines as they need.
fn wrapped(lines: &[ProbeLine], [load, lean]: [usize; 2], style: &Style) -> String {
    let indent = load + lean + 2 * GAP;
    let mut out = format!("{}\n", style.paint(Paint::Dim, &format!("{:<indent$}{MEASURED}", "Load")));
    for line in lines {
        let padded = |text: &str, width: usize| format!("{text}{}", " ".repeat(width - width_of(text) + GAP));
        let lead = format!("{}{}", padded(&line.load, load), style.paint(line.paint, &padded(&line.lean, lean)));
        out.push_str(&hang(&lead, indent, &line.measured, style.width));
    }
    out
}
