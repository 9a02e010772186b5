//! The capacity for a pull request or a wiki: the answer is visible, the probes are folded.

use std::fmt::Write;

use loadstone_analysis::{Capacity, CapacityVerdict};

use super::cells;
use crate::markdown::text;

/// Writing to a `String` cannot fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => { let _ = writeln!($out, $($text)*); };
}

/// The capacity, GitHub-flavoured, ending in a line break.
pub fn markdown(capacity: &Capacity) -> String {
    let mut out = String::new();
    let icon = match capacity.verdict {
        CapacityVerdict::Found => "✅",
        CapacityVerdict::Below => "❌",
        _ => "⚠️",
    };
    line!(out, "### {icon} {}: {}\n", text(&capacity.test), text(&capacity.headline));
    line!(out, "- objective: {}", text(&capacity.objectives.join(" and ")));
    for (title, limit) in cells::limits(capacity) {
        line!(out, "- {title}: {}", text(&limit));
    }
    line!(out, "\n<details><summary>{}</summary>\n", cells::cost(capacity));
    line!(out, "| Load | | Measured, with its 95 % interval | Length | Run |\n|--:|---|---|--:|---|");
    for probe in cells::by_load(capacity) {
        let read: Vec<String> =
            probe.reading.objectives.iter().map(|of| format!("{}: {}", text(&of.objective), cells::reading(of))).collect();
        line!(
            out,
            "| {} | {} | {} | {} | {} |",
            capacity.unit.words(probe.load),
            cells::lean(probe).1,
            read.join("<br>"),
            loadstone_units::seconds(probe.seconds),
            text(&probe.run)
        );
    }
    line!(out, "\n</details>");
    out
}
