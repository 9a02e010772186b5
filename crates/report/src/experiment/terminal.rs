//! The experiment on a terminal: the changed setting, the results, then the rows.

use loadstone_analysis::{Experiment, KnobContrast, RowVerdict};

use super::cells;
use crate::comparison::cells::paint as paint_of;
use crate::terminal::{ColumnHead, Paint, Row, Style, TextCell, TextTable, hang};

const SUBJECTS_MAX: usize = 8;
const HEADS: [(&str, u8); 6] = [("", 0), ("First", 2), ("Then", 0), ("Change", 0), ("95 % interval", 1), ("Verdict", 0)];

/// The complete output, ending in a line break.
pub fn terminal(experiment: &Experiment, style: &Style) -> String {
    let mut out = hang("Experiment  ", 12, &format!("{}: {}", experiment.knob, experiment.values.join(", ")), style.width);
    out.push_str(&hang("            ", 12, &cells::how(experiment), style.width));
    for remark in &experiment.remarks {
        out.push_str(&hang(&style.paint(Paint::Warning, "! "), 2, remark, style.width));
    }
    for contrast in &experiment.contrasts {
        out.push('\n');
        out.push_str(&headline(experiment, contrast, style));
    }
    if let Some(proof) = &experiment.proof {
        let (word, paint) = cells::proof(proof.state);
        let lead = format!("{word}  ");
        out.push('\n');
        out.push_str(&hang(&style.paint(paint, &lead), lead.chars().count(), &format!("the finding \"{}\"", proof.claim), style.width));
        out.push_str(&hang("  ", 2, &proof.because, style.width));
    }
    let costs: Vec<&str> =
        experiment.sensitivities.iter().map(|found| found.sentence.as_str()).filter(|sentence| !sentence.is_empty()).collect();
    if !costs.is_empty() {
        out.push_str(&format!("\n{}\n", style.paint(Paint::Dim, "Cost of each added millisecond")));
        costs.iter().for_each(|sentence| out.push_str(&hang("- ", 2, sentence, style.width)));
    }
    for contrast in &experiment.contrasts {
        out.push('\n');
        out.push_str(&table(experiment, contrast, style));
    }
    out.push('\n');
    out.push_str(&hang("", 0, cells::PROMISE, style.width));
    out
}

fn headline(experiment: &Experiment, contrast: &KnobContrast, style: &Style) -> String {
    let (sign, word, paint) = cells::word(contrast.verdict);
    let lead = format!("{sign} {word}  ");
    let text = format!("{} {} → {}: {}", experiment.knob, contrast.from, contrast.to, contrast.headline);
    hang(&style.paint(paint, &lead), lead.chars().count(), &text, style.width)
}

fn table(experiment: &Experiment, contrast: &KnobContrast, style: &Style) -> String {
    let heads = HEADS.iter().enumerate().map(|(index, (title, keep))| ColumnHead { title, keep: *keep, left: index == 0 || index == 5 });
    let mut table = TextTable { heads: heads.collect(), rows: Vec::new() };
    let shown = cells::shown(contrast);
    for (subject, rows) in shown.iter().take(SUBJECTS_MAX) {
        table.rows.push(Row::Heading(cells::title(subject)));
        for row in rows {
            let cell = |text: String| TextCell { text, paint: None };
            table.rows.push(Row::Cells(vec![
                cell(format!("{} {}", if row.decides { "•" } else { " " }, row.metric.name())),
                cell(cells::value(row, row.from)),
                cell(cells::value(row, row.to)),
                TextCell { text: cells::change(row), paint: paint_of(row.verdict).filter(|_| row.verdict != RowVerdict::CannotTell) },
                cell(cells::interval(row)),
                TextCell { text: cells::verdict(row, experiment.effect), paint: paint_of(row.verdict) },
            ]));
        }
    }
    if table.rows.is_empty() {
        return "Nothing was measured in every block.\n".to_owned();
    }
    let title = if experiment.contrasts.len() > 1 {
        format!("{}\n", style.paint(Paint::Bold, &format!("{} → {}", contrast.from, contrast.to)))
    } else {
        String::new()
    };
    let left = shown.len().saturating_sub(SUBJECTS_MAX);
    let more = if left > 0 { format!("… and {left} more with --json\n") } else { String::new() };
    format!("{title}{}{more}", table.render(style))
}
