//! The system's own signals at the end of a run: the few that findings rest on or that moved.

use analysis::Summary;

use super::style::Style;
use super::table::{Cell, Head, Row, Table};

/// Title and rank of what gives way, see [`Head`].
const HEADS: [(&str, u8); 5] = [("Signals", 0), ("Mean", 0), ("Min", 2), ("Max", 0), ("Max at", 1)];

/// The table; empty where there are no such signals.
pub(crate) fn signals(summary: &Summary, style: &Style) -> String {
    if summary.signals.is_empty() {
        return String::new();
    }
    let heads = HEADS.iter().enumerate().map(|(index, (title, keep))| Head { title, keep: *keep, left: index == 0 }).collect();
    let rows = summary.signals.iter().map(|signal| {
        let value = |value: f64| Cell::from(in_unit(value, &signal.unit));
        let at = Cell::from(units::seconds(signal.max_at_seconds));
        Row::Cells(vec![signal.name.clone().into(), value(signal.mean), value(signal.min), value(signal.max), at])
    });
    Table { heads, rows: rows.collect() }.render(style)
}

/// A value in a unit of [`metrics::Signal::unit_shown`].
fn in_unit(value: f64, unit: &str) -> String {
    let bytes = |value: f64| if value < 0.0 { format!("−{}", units::bytes(-value as u64)) } else { units::bytes(value as u64) };
    match unit {
        "s" => units::seconds(value),
        "share" => units::share(value),
        "/s" => units::rate(value),
        "bytes" => bytes(value),
        "bytes/s" => format!("{}/s", bytes(value)),
        "" | "1" => units::number(value),
        unit => format!("{} {unit}", units::number(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_unit() {
        for (value, unit, text) in [
            (0.038, "s", "38.0 ms"),
            (1.25, "share", "125 %"),
            (1204.0, "/s", "1,204/s"),
            (3_400_000.0, "bytes", "3.40 MB"),
            (512.0, "bytes/s", "512 B/s"),
            (-512.0, "bytes/s", "−512 B/s"),
            (12.0, "1", "12"),
            (7.0, "sessions", "7 sessions"),
        ] {
            assert_eq!(in_unit(value, unit), text);
        }
    }
}
