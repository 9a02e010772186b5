//! The experiment as Markdown: the results are visible, the rows are folded.

use std::fmt::Write;

use loadstone_analysis::{ComparisonVerdict, Experiment, KnobContrast, ProofState};

use super::cells;
use crate::markdown::text;

/// Writing to a `String` cannot fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => { let _ = writeln!($out, $($text)*); };
}

/// The experiment, GitHub-flavoured, ending in a line break.
pub fn markdown(experiment: &Experiment) -> String {
    let mut out = String::new();
    line!(out, "### Experiment: {} ({})\n", text(&experiment.knob), text(&experiment.values.join(", ")));
    for contrast in &experiment.contrasts {
        let icon = match contrast.verdict {
            ComparisonVerdict::Better | ComparisonVerdict::Same => "✅",
            ComparisonVerdict::Worse => "❌",
            _ => "⚠️",
        };
        let (_, word, _) = cells::word(contrast.verdict);
        line!(out, "- {icon} **{} → {}: {word}**: {}", text(&contrast.from), text(&contrast.to), text(&contrast.headline));
    }
    if let Some(proof) = &experiment.proof {
        let icon = if proof.state == ProofState::Undecided { "⚠️" } else { "🔎" };
        line!(out, "- {icon} finding **{}**: {}. {}", proof.state.word(), text(&proof.claim), text(&proof.because));
    }
    for sentence in experiment.sensitivities.iter().map(|found| &found.sentence).filter(|sentence| !sentence.is_empty()) {
        line!(out, "- {}", text(sentence));
    }
    for remark in &experiment.remarks {
        line!(out, "- ⚠️ {}", text(remark));
    }
    line!(out, "\n{}.\n", text(&cells::how(experiment)));
    line!(out, "<details><summary>All measured numbers</summary>\n");
    experiment.contrasts.iter().for_each(|contrast| table(experiment, contrast, &mut out));
    line!(out, "{}\n\n</details>", cells::PROMISE);
    out
}

fn table(experiment: &Experiment, contrast: &KnobContrast, out: &mut String) {
    line!(out, "| | | {} | {} | Change | 95 % interval | |\n|---|---|--:|--:|--:|--:|---|", text(&contrast.from), text(&contrast.to));
    for (subject, rows) in cells::shown(contrast) {
        for row in rows {
            line!(
                out,
                "| {} | {}{} | {} | {} | {} | {} | {} |",
                text(&cells::title(subject)),
                if row.decides { "• " } else { "" },
                row.metric.name(),
                cells::value(row, row.from),
                cells::value(row, row.to),
                cells::change(row),
                cells::interval(row),
                cells::verdict(row, experiment.effect),
            );
        }
    }
    out.push('\n');
}
