//! Limits that a team sets for changes for the worse: `p99 worse by 5%`.

use super::headline::row_in_words;
use super::model::{
    ComparedRow, ComparedSubject, ComparisonGate, ComparisonVerdict, GateResult, GateState, RowVerdict, RunComparison, SubjectKind,
    ThresholdMove,
};

impl ComparisonGate {
    /// The gate fails if a number is worse by at least the limit and its interval excludes no change, and holds if it is certainly not that
    /// much worse. A gate for one number uses the number's own interval. A gate for any number uses the verdicts, which are corrected for the
    /// number of rows, and is undecided if the comparison as a whole is.
    pub fn judge(&self, comparison: &RunComparison) -> GateResult {
        let result = |state, detail: String| GateResult { gate: self.clone(), state, detail };
        if comparison.verdict == ComparisonVerdict::NotComparable {
            return result(GateState::Undecided, comparison.headline.clone());
        }
        if self.metric.is_none() && comparison.thresholds.iter().any(ThresholdMove::is_broken) {
            return result(GateState::Failed, comparison.headline.clone());
        }
        let rows: Vec<_> = comparison.rows().filter(|(subject, row)| self.is_about(subject, row)).collect();
        if rows.is_empty() {
            return result(GateState::Undecided, "neither run has a number that this gate judges".to_owned());
        }
        let states: Vec<GateState> = rows.iter().map(|(_, row)| self.state(row)).collect();
        let of = |wanted: GateState| rows.iter().zip(&states).find(|(_, state)| **state == wanted).map(|(row, _)| *row);
        if let Some((subject, row)) = of(GateState::Failed) {
            return result(GateState::Failed, row_in_words(subject, row));
        }
        if let Some((subject, row)) = of(GateState::Undecided).filter(|_| self.metric.is_some()) {
            return result(GateState::Undecided, format!("{}: {}", row_in_words(subject, row), why(row)));
        }
        if self.metric.is_none() && comparison.verdict == ComparisonVerdict::CannotTell {
            return result(GateState::Undecided, comparison.headline.clone());
        }
        let detail = if rows.len() == 1 {
            row_in_words(rows[0].0, rows[0].1)
        } else {
            "no number that this gate judges is worse by that much".to_owned()
        };
        result(GateState::Held, detail)
    }

    fn is_about(&self, subject: &ComparedSubject, row: &ComparedRow) -> bool {
        let Some(metric) = self.metric else { return subject.kind.has_known_direction() };
        let named = match &self.name {
            Some(name) => subject.name == *name,
            None => matches!(subject.kind, SubjectKind::All | SubjectKind::Target),
        };
        row.metric == metric && named && subject.kind.has_known_direction()
    }

    fn state(&self, row: &ComparedRow) -> GateState {
        // How much worse the number is (positive), and the maximum.
        let upwards = |change: f64| match (row.metric.is_difference(), row.metric.more_is_better()) {
            (true, _) => change,
            (false, Some(true)) => 1.0 / change - 1.0,
            (false, _) => change - 1.0,
        };
        let (least, most) = if row.metric.more_is_better() == Some(true) { (row.high, row.low) } else { (row.low, row.high) };
        let is_worse = || self.metric.is_some() && least.map(upwards).is_some_and(|least| least > 0.0);
        match row.change.map(upwards) {
            Some(worse) if worse >= self.by && (row.verdict == RowVerdict::Worse || is_worse()) => GateState::Failed,
            Some(_) if most.map(upwards).is_some_and(|most| most < self.by) => GateState::Held,
            None if row.verdict == RowVerdict::Same => GateState::Held,
            Some(worse) if worse <= self.by && row.verdict == RowVerdict::Better => GateState::Held,
            Some(_) | None => GateState::Undecided,
        }
    }
}

fn why(row: &ComparedRow) -> String {
    match row.minutes_needed {
        Some(minutes) => format!("needs runs of about {}", loadstone_units::seconds(60.0 * minutes.ceil())),
        None if row.why.is_empty() => "too close to the limit to decide".to_owned(),
        None => row.why.clone(),
    }
}
