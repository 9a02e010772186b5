//! The comparison on a terminal: the differences between the runs, the verdict, then the rows.

use loadstone_analysis::{ComparisonVerdict, RowVerdict, RunComparison, Side};

use super::cells;
use crate::terminal::{ColumnHead, Paint, Row, Style, TextCell, TextTable, beyond, hang};

const SUBJECTS_MAX: usize = 12;
const SIGNALS_MAX: usize = 8;
/// Title and priority, see [`ColumnHead`].
const HEADS: [(&str, u8); 6] = [("", 0), ("Baseline", 2), ("Candidate", 0), ("Change", 0), ("95 % interval", 1), ("Verdict", 0)];

/// The complete output, ending in a line break. Of runs that cannot be compared it shows the differences only, unless the numbers are wanted anyway.
pub fn terminal(comparison: &RunComparison, anyway: bool, style: &Style) -> String {
    if comparison.verdict == ComparisonVerdict::NotComparable && !anyway {
        let more = hang("", 0, "`loadstone compare --anyway` shows the numbers of both runs.", style.width);
        let parts = [head(comparison, style), gates(comparison, style), more];
        return parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    }
    let mut parts = vec![
        head(comparison, style),
        gates(comparison, style),
        findings(comparison, style),
        table(comparison, style),
        foot(comparison, style),
    ];
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn head(comparison: &RunComparison, style: &Style) -> String {
    let mut out = hang("Baseline   ", 11, &cells::run(&comparison.baseline), style.width);
    out.push_str(&hang("Candidate  ", 11, &cells::run(&comparison.candidate), style.width));
    if comparison.differences.is_empty() {
        out.push_str("✓ same test, parameters, load and machine; both measurements are valid\n");
    }
    for difference in &comparison.differences {
        let lead = if difference.forbids { style.paint(Paint::Bad, "✗ ") } else { style.paint(Paint::Warning, "! ") };
        out.push_str(&hang(&lead, 2, &cells::difference(difference), style.width));
    }
    let (sign, word, paint) = cells::word(comparison.verdict);
    let lead = format!("{sign} {word}  ");
    out.push('\n');
    out.push_str(&hang(&style.paint(paint, &lead), lead.chars().count(), beyond(word, &comparison.headline), style.width));
    out
}

fn gates(comparison: &RunComparison, style: &Style) -> String {
    let line = |result: &loadstone_analysis::GateResult| {
        let (sign, word, paint) = cells::gate_sign(result.state);
        hang(&style.paint(paint, &format!("{sign} ")), 2, &format!("fail if {}: {word}: {}", result.gate.label, result.detail), style.width)
    };
    comparison.gates.iter().map(line).collect()
}

fn findings(comparison: &RunComparison, style: &Style) -> String {
    let line = |found: &loadstone_analysis::FindingMove| {
        let (state, text) = cells::finding(found);
        hang(&style.paint(Paint::Bold, &format!("{state:<6}")), 6, &text, style.width)
    };
    let lines: String = comparison.findings.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("{}\n{lines}", style.paint(Paint::Dim, "Findings")) }
}

fn table(comparison: &RunComparison, style: &Style) -> String {
    let heads = HEADS.iter().enumerate().map(|(index, (title, keep))| ColumnHead { title, keep: *keep, left: index == 0 || index == 5 });
    let mut table = TextTable { heads: heads.collect(), rows: Vec::new() };
    let shown = cells::shown(comparison);
    let row = |name: String, row: &loadstone_analysis::ComparedRow| {
        let cell = |text: String| TextCell { text, paint: None };
        Row::Cells(vec![
            cell(name),
            cell(cells::value(row, Side::Baseline)),
            cell(cells::value(row, Side::Candidate)),
            TextCell { text: cells::change(row), paint: cells::paint(row.verdict).filter(|_| row.verdict != RowVerdict::CannotTell) },
            cell(cells::interval(row)),
            TextCell { text: cells::verdict(row, comparison.effect), paint: cells::paint(row.verdict) },
        ])
    };
    for subject in shown.iter().take(SUBJECTS_MAX) {
        table.rows.push(Row::Heading(cells::title(subject)));
        table.rows.extend(subject.rows.iter().map(|compared| row(format!("  {}", compared.metric.name()), compared)));
    }
    let signals: Vec<_> = cells::moved_signals(comparison).collect();
    if !signals.is_empty() {
        table.rows.push(Row::Heading("Signals that moved".to_owned()));
        table.rows.extend(signals.iter().take(SIGNALS_MAX).map(|(subject, compared)| row(format!("  {}", subject.name), compared)));
    }
    let mut out = if table.rows.is_empty() { "Nothing was measured in both runs.\n".to_owned() } else { table.render(style) };
    let left = shown.len().saturating_sub(SUBJECTS_MAX) + signals.len().saturating_sub(SIGNALS_MAX);
    if left > 0 {
        out.push_str(&format!("… and {left} more with --json\n"));
    }
    out
}

fn foot(comparison: &RunComparison, style: &Style) -> String {
    let notes = cells::reasons(comparison).into_iter().chain(cells::only_in_one(comparison));
    let mut out: String = notes.map(|text| hang("- ", 2, &text, style.width)).collect();
    out.push_str(&hang("", 0, &cells::promise(comparison), style.width));
    out
}
