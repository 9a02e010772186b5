//! How often runs were right, with an interval.

/// The 95 % point of a normal distribution, on either side.
const Z: f64 = 1.959_964;

/// So many of so many.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ToldScore {
    pub(super) right: u32,
    pub(super) all: u32,
}

impl ToldScore {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Wilson's interval of 39 of 40 and 0 of 10, from published tables.
    #[test]
    fn intervals_are_wilsons() {
        let outcomes = |right: u32, all: u32| ToldScore::of((0..all).map(|index| index < right));
        assert_eq!(outcomes(39, 40).shown(), "39 of 40 (97.5 %, 95 % interval 87.1 to 99.6 %)");
        assert_eq!(outcomes(0, 10).shown(), "0 of 10 (0.0 %, 95 % interval 0.0 to 27.8 %)");
        assert_eq!(outcomes(0, 0).shown(), "none");
    }
}
