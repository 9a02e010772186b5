//! How often runs were right, with an interval.

use super::verdict::SelfVerdict;

/// The 95 % point of a normal distribution, on either side.
const Z: f64 = 1.959_964;

/// A count of a total.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Proportion {
    pub(super) right: u32,
    pub(super) all: u32,
}

impl Proportion {
    pub(super) fn of(outcomes: impl Iterator<Item = bool>) -> Self {
        outcomes.fold(Self::default(), |score, right| Self { right: score.right + u32::from(right), all: score.all + 1 })
    }

    /// The 95 % interval of a share (Wilson, "Probable inference, the law of succession, and statistical inference", 1927). 0 to 1.
    fn interval(self) -> (f64, f64) {
        let (n, share) = (f64::from(self.all), f64::from(self.right) / f64::from(self.all));
        let centre = share + Z * Z / (2.0 * n);
        let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        let scale = 1.0 + Z * Z / n;
        (((centre - half) / scale).max(0.0), ((centre + half) / scale).min(1.0))
    }

    /// `39 of 40 (97.5 %, 95 % interval 87.1 to 99.6 %)`
    pub(super) fn shown(self) -> String {
        if self.all == 0 {
            return "none".to_owned();
        }
        let (low, high) = self.interval();
        let share = f64::from(self.right) / f64::from(self.all) * 100.0;
        format!("{} of {} ({share:.1} %, 95 % interval {:.1} to {:.1} %)", self.right, self.all, low * 100.0, high * 100.0)
    }
}

/// How many moved runs and numbers Loadstone reported, and how many others it questioned, as a table.
pub(super) fn totals(counted: &[&SelfVerdict]) -> String {
    let runs = |moved: bool| counted.iter().filter(move |verdict| verdict.is_moved() == moved);
    let reported = Proportion::of(runs(true).map(|verdict| verdict.is_reported()));
    let questioned = Proportion::of(runs(false).map(|verdict| verdict.is_questioned()));
    let numbers = |right: &dyn Fn(&SelfVerdict) -> usize, others: &dyn Fn(&SelfVerdict) -> usize| {
        let sum = |of: &dyn Fn(&SelfVerdict) -> usize| counted.iter().map(|verdict| of(verdict)).sum::<usize>() as u32;
        Proportion { right: sum(right), all: sum(right) + sum(others) }
    };
    let marked = numbers(&|verdict| verdict.marked.len(), &|verdict| verdict.unmarked.len());
    let in_vain = numbers(&|verdict| verdict.marked_in_vain.len(), &|verdict| verdict.kept as usize - verdict.marked_in_vain.len());
    format!(
        "| | share (95 % interval) | target |\n|---|---|---|\n\
         | moved runs that were reported | {} | at least 98 % |\n\
         | other runs that were questioned | {} | at most 3 % |\n\
         | moved numbers (percentiles, mean, maximum) that were marked | {} | |\n\
         | other numbers that were marked | {} | |\n",
        reported.shown(),
        questioned.shown(),
        marked.shown(),
        in_vain.shown()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_their_numbers_are_counted_apart() {
        let words = |count: usize| vec!["p99 +42 %".to_owned(); count];
        let verdict = |grade: &str, marked, unmarked, kept, in_vain| SelfVerdict {
            grade: grade.to_owned(),
            marked: words(marked),
            unmarked: words(unmarked),
            kept,
            marked_in_vain: words(in_vain),
            ..SelfVerdict::default()
        };
        let all = [
            verdict("suspect", 1, 1, 4, 0),
            verdict("valid", 1, 0, 5, 1),
            verdict("valid", 0, 1, 5, 0),
            verdict("valid", 0, 0, 6, 0),
            verdict("invalid", 0, 0, 6, 2),
        ];
        let text = totals(&all.iter().collect::<Vec<_>>());
        assert!(text.contains("runs that were reported | 2 of 3") && text.contains("questioned | 1 of 2"), "{text}");
        assert!(text.contains("marked | 2 of 4") && text.contains("marked | 3 of 26"), "{text}");
    }

    /// Wilson's interval of 39 of 40 and 0 of 10, from published tables.
    #[test]
    fn intervals_are_wilsons() {
        let outcomes = |right: u32, all: u32| Proportion::of((0..all).map(|index| index < right));
        assert_eq!(outcomes(39, 40).shown(), "39 of 40 (97.5 %, 95 % interval 87.1 to 99.6 %)");
        assert_eq!(outcomes(0, 10).shown(), "0 of 10 (0.0 %, 95 % interval 0.0 to 27.8 %)");
        assert_eq!(outcomes(0, 0).shown(), "none");
    }
}
