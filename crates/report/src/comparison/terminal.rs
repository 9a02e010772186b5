//! The comparison on a terminal: the differences between the runs, the verdict, the changed rows, then the number of all others.

use loadstone_analysis::{ComparedRow, ComparisonVerdict, RowVerdict, RunComparison, Side};

use super::cells;
use crate::terminal::{ColumnHead, Paint, Row, Style, TextCell, TextTable, hang};

/// Changed rows and signals that moved, without `--all`.
const CHANGED_MAX: usize = 20;
const SIGNALS_MAX: usize = 8;
/// Title and priority, see [`ColumnHead`].
const HEADS: [(&str, u8); 6] = [("", 0), ("Baseline", 2), ("Candidate", 0), ("Change", 0), ("95 % interval", 1), ("Verdict", 0)];

/// The numbers that the terminal shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShownNumbers {
    /// Also those without a decided change.
    pub all: bool,
    /// Also those of runs that cannot be compared.
    pub anyway: bool,
}

/// The complete output, ending in a line break. It shows the changed rows, worse ones first, and counts the others. Of runs that cannot be
/// compared it shows the differences only.
pub fn terminal(comparison: &RunComparison, shown: ShownNumbers, style: &Style) -> String {
    if comparison.verdict == ComparisonVerdict::NotComparable && !shown.anyway {
        let more = hang("", 0, "`loadstone compare --anyway` shows the numbers of both runs.", style.width);
        let parts = [head(comparison, style), gates(comparison, style), more];
        return parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    }
    let mut parts = vec![
        head(comparison, style),
        gates(comparison, style),
        findings(comparison, style),
        table(comparison, shown.all, style),
        foot(comparison, shown.all, style),
    ];
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn head(comparison: &RunComparison, style: &Style) -> String {
    let mut out = hang("Baseline   ", 11, &cells::run(&comparison.baseline), style.width);
    out.push_str(&hang("Candidate  ", 11, &cells::run(&comparison.candidate), style.width));
    if comparison.differences.is_empty() {
        out.push_str(&hang("✓ ", 2, "same test, parameters, load and machine; both measurements are valid", style.width));
    }
    for difference in &comparison.differences {
        let lead = if difference.forbids { style.paint(Paint::Bad, "✗ ") } else { style.paint(Paint::Warning, "! ") };
        out.push_str(&hang(&lead, 2, &cells::difference(difference), style.width));
    }
    let (sign, word, paint) = cells::word(comparison.verdict);
    let lead = format!("{sign} {word}  ");
    out.push('\n');
    out.push_str(&hang(&style.paint(paint, &lead), lead.chars().count(), &comparison.headline, style.width));
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

/// The changed rows, worse ones first. If nothing changed: the rows of the first subject, which are all requests together or the only request.
fn table(comparison: &RunComparison, all: bool, style: &Style) -> String {
    let heads = HEADS.iter().enumerate().map(|(index, (title, keep))| ColumnHead { title, keep: *keep, left: index == 0 || index == 5 });
    let mut table = TextTable { heads: heads.collect(), rows: Vec::new() };
    let shown = cells::shown(comparison);
    let row = |name: String, row: &ComparedRow| {
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
    let changed = cells::changed(comparison);
    let mut left = 0;
    if all || changed.is_empty() {
        let subjects_max = if all { usize::MAX } else { 1 };
        for subject in shown.iter().take(subjects_max) {
            table.rows.push(Row::Heading(cells::title(subject)));
            let rows = subject.rows.iter().filter(|row| all || cells::is_measured(row));
            table.rows.extend(rows.map(|compared| row(format!("  {}", compared.metric.name()), compared)));
        }
    } else {
        for (subject, compared) in changed.iter().take(CHANGED_MAX) {
            table.rows.push(row(format!("{} of {}", compared.metric.name(), cells::title(subject)), compared));
        }
        left += changed.len().saturating_sub(CHANGED_MAX);
    }
    let signals: Vec<_> = cells::moved_signals(comparison).collect();
    if !signals.is_empty() {
        let signals_max = if all { usize::MAX } else { SIGNALS_MAX };
        table.rows.push(Row::Heading("Signals that moved".to_owned()));
        table.rows.extend(signals.iter().take(signals_max).map(|(subject, compared)| row(format!("  {}", subject.name), compared)));
        left += signals.len().saturating_sub(signals_max);
    }
    let mut out = if table.rows.is_empty() { "Nothing was measured in both runs.\n".to_owned() } else { table.render(style) };
    if left > 0 {
        out.push_str(&format!("… and {left} more with `loadstone compare --all`\n"));
    }
    out
}

fn foot(comparison: &RunComparison, all: bool, style: &Style) -> String {
    let folded = cells::folded(comparison).filter(|_| !all);
    let reasons = if all { cells::reasons(comparison) } else { Vec::new() };
    let notes = folded.into_iter().chain(reasons).chain(cells::only_in_one(comparison));
    let mut out: String = notes.map(|text| hang("- ", 2, &text, style.width)).collect();
    out.push_str(&hang("", 0, &cells::promise(comparison), style.width));
    out
}
