//! The text format that Prometheus scrapes (version 0.0.4).

use std::fmt::Write;

use super::bounds::{below, bound_text, bounds};
use crate::family::{FamilyKind, PointLabels, PointValue};
use crate::run_labels::RunLabels;
use crate::totals::OutputTotals;

pub(super) fn exposition(totals: &OutputTotals, run: &RunLabels) -> String {
    let mut out = String::new();
    for family in totals.families() {
        let name = family.prometheus_name();
        let kind = match family.kind {
            FamilyKind::Counter => "counter",
            FamilyKind::Gauge => "gauge",
            FamilyKind::Histogram => "histogram",
        };
        // Formatting into a string cannot fail.
        let _ = write!(out, "# HELP {name} {}\n# TYPE {name} {kind}\n", family.help);
        for (labels, value) in &family.points {
            let mut line = |suffix: &str, le: Option<f64>, value: f64| {
                let _ = writeln!(out, "{name}{suffix}{{{}}} {value}", labelled(labels, run, le));
            };
            match value {
                PointValue::Number(number) => line("", None, *number),
                PointValue::Times(times) => {
                    bounds().for_each(|bound| line("_bucket", Some(bound), below(times, bound) as f64));
                    line("_bucket", Some(f64::INFINITY), times.count() as f64);
                    line("_sum", None, times.sum() as f64 / 1e9);
                    line("_count", None, times.count() as f64);
                }
            }
        }
    }
    out
}

fn labelled(labels: &PointLabels, run: &RunLabels, le: Option<f64>) -> String {
    let own = labels.iter().map(|(name, value)| ((*name).to_owned(), value.to_string()));
    let le = le.map(|le| ("le".to_owned(), bound_text(le)));
    own.chain(run.labels()).chain(le).map(|(name, value)| format!("{name}=\"{}\"", escaped(&value))).collect::<Vec<_>>().join(",")
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_from_the_target_cannot_break_out_of_their_quotes() {
        assert_eq!(super::escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
