//! The comparison for a pull request: the verdict and the rows that are better or worse are visible, all other rows are folded.

use std::fmt::Write;

use loadstone_analysis::{ComparedRow, ComparedSubject, ComparisonVerdict, GateState, RowVerdict, RunComparison, Side};

use super::cells;
use crate::markdown::text;

/// Upper bound on the rows of each table. A comment on a pull request has at most 65,536 characters.
const ROWS_MAX: usize = 300;
const SIGNALS_MAX: usize = 20;

/// Writing to a `String` cannot fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => { let _ = writeln!($out, $($text)*); };
}

/// The comparison, GitHub-flavoured, ending in a line break.
pub fn markdown(comparison: &RunComparison) -> String {
    let mut out = String::new();
    let icon = match comparison.verdict {
        ComparisonVerdict::Better | ComparisonVerdict::Same => "✅",
        ComparisonVerdict::Worse | ComparisonVerdict::NotComparable => "❌",
        ComparisonVerdict::Mixed | ComparisonVerdict::CannotTell => "⚠️",
    };
    line!(out, "### {icon} {}: {}\n", text(&comparison.candidate.test), text(&comparison.sentence()));
    for result in &comparison.gates {
        let icon = match result.state {
            GateState::Held => "✅",
            GateState::Failed => "❌",
            GateState::Undecided => "⚠️",
        };
        line!(out, "- {icon} fail if **{}**: {}", text(&result.gate.label), text(&result.detail));
    }
    for difference in &comparison.differences {
        line!(out, "- {} {}", if difference.forbids { "❌" } else { "⚠️" }, text(&cells::difference(difference)));
    }
    for found in &comparison.findings {
        let (state, claim) = cells::finding(found);
        line!(out, "- finding, **{state}**: {}", text(&claim));
    }
    out.push('\n');
    let shown = cells::shown(comparison);
    let rows = || shown.iter().flat_map(|subject| subject.rows.iter().map(move |row| (*subject, row)));
    table(&cells::changed(comparison), comparison, &mut out);
    line!(out, "<details><summary>All compared numbers</summary>\n");
    table(&rows().collect::<Vec<_>>(), comparison, &mut out);
    table(&cells::moved_signals(comparison).take(SIGNALS_MAX).collect::<Vec<_>>(), comparison, &mut out);
    cells::reasons(comparison).into_iter().chain(cells::only_in_one(comparison)).for_each(|note| {
        line!(out, "- {}", text(&note));
    });
    line!(out, "\n{}\n", cells::promise(comparison));
    line!(out, "</details>\n");
    line!(out, "Baseline {}; candidate {}.", text(&cells::run(&comparison.baseline)), text(&cells::run(&comparison.candidate)));
    out
}

fn table(rows: &[(&ComparedSubject, &ComparedRow)], comparison: &RunComparison, out: &mut String) {
    if rows.is_empty() {
        return;
    }
    line!(out, "| | | Baseline | Candidate | Change | 95 % interval | |\n|---|---|--:|--:|--:|--:|---|");
    for (subject, row) in rows.iter().take(ROWS_MAX) {
        let strong = matches!(row.verdict, RowVerdict::Better | RowVerdict::Worse);
        let verdict = cells::verdict(row, comparison.effect);
        line!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            text(&cells::title(subject)),
            row.metric.name(),
            cells::value(row, Side::Baseline),
            cells::value(row, Side::Candidate),
            cells::change(row),
            cells::interval(row),
            if strong { format!("**{verdict}**") } else { verdict },
        );
    }
    out.push('\n');
}
