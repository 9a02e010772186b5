//! The columns of the table of times: the default ones, or those that the user names.

use std::str::FromStr;

use loadstone_analysis::{LISTED, TimeStats};

/// A number of a request, group or scenario.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TimeColumn {
    Count,
    Rate,
    Failed,
    Mean,
    Min,
    /// The percentile with this index in [`LISTED`].
    Percentile(f64),
    /// The 95 % interval of p99.
    Interval,
    Max,
}

/// Columns in order, each with its priority (`ColumnHead`).
#[derive(Debug, Clone, PartialEq)]
pub struct TimeColumns(Vec<(TimeColumn, u8)>);

/// The column does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no column \"{0}\"{near}; name some of: {names}", near = loadstone_units::did_you_mean(.0, &NAMES), names = NAMES.join(", "))]
pub struct UnknownColumn(String);

/// The name for the user, and the title in the table.
const COLUMNS: [(TimeColumn, &str, &str); 14] = [
    (TimeColumn::Count, "count", "Count"),
    (TimeColumn::Rate, "rate", "Rate"),
    (TimeColumn::Failed, "failed", "Failed"),
    (TimeColumn::Mean, "mean", "Mean"),
    (TimeColumn::Min, "min", "Min"),
    (TimeColumn::Percentile(LISTED[0]), "p50", "p50"),
    (TimeColumn::Percentile(LISTED[1]), "p75", "p75"),
    (TimeColumn::Percentile(LISTED[2]), "p90", "p90"),
    (TimeColumn::Percentile(LISTED[3]), "p95", "p95"),
    (TimeColumn::Percentile(LISTED[4]), "p99", "p99"),
    (TimeColumn::Percentile(LISTED[5]), "p99.9", "p99.9"),
    (TimeColumn::Percentile(LISTED[6]), "p99.99", "p99.99"),
    (TimeColumn::Interval, "interval", "p99, 95 % interval"),
    (TimeColumn::Max, "max", "Max"),
];
const NAMES: [&str; 14] = {
    let mut names = [""; 14];
    let mut index = 0;
    while index < names.len() {
        names[index] = COLUMNS[index].1;
        index += 1;
    }
    names
};

impl TimeColumn {
    pub(crate) fn title(self) -> &'static str {
        COLUMNS.iter().find(|(column, ..)| *column == self).map_or("", |(.., title)| title)
    }
}

impl TimeColumns {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TimeColumn, u8)> + '_ {
        self.0.iter().copied()
    }

    /// Whether a shown percentile has too few samples.
    pub(crate) fn has_thin(&self, times: &TimeStats) -> bool {
        self.iter().any(|(column, _)| matches!(column, TimeColumn::Percentile(q) if times.at(q).is_none()))
    }
}

impl Default for TimeColumns {
    fn default() -> Self {
        use TimeColumn::{Count, Failed, Interval, Max, Mean, Min, Percentile, Rate};
        let [p50, _, p90, p95, p99, ..] = LISTED.map(Percentile);
        Self(vec![
            (Count, 0),
            (Rate, 5),
            (Failed, 0),
            (Mean, 8),
            (Min, 10),
            (p50, 4),
            (p90, 7),
            (p95, 0),
            (p99, 1),
            (Interval, 9),
            (Max, 6),
        ])
    }
}

/// Comma-separated names: `count,failed,p50,p99.9,max`. All of them are always shown.
impl FromStr for TimeColumns {
    type Err = UnknownColumn;

    fn from_str(text: &str) -> Result<Self, UnknownColumn> {
        let column = |name: &str| {
            let wanted = name.trim().to_lowercase();
            let found = COLUMNS.iter().find(|(_, known, _)| *known == wanted);
            found.map(|(column, ..)| (*column, 0)).ok_or_else(|| UnknownColumn(name.trim().to_owned()))
        };
        text.split(',').map(column).collect::<Result<_, _>>().map(Self)
    }
}
