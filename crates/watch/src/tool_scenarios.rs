//! The scenarios of a tool and their plan, as far as they are known before it starts. Each scenario is a leaf of the run's load.

use std::sync::Arc;

use loadstone_plan::LoadModel;

/// One scenario.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolScenario {
    /// As the record names it.
    pub(crate) name: Arc<str>,
    /// Whether entries of the record name it. If not, it is the tool's only one.
    pub(crate) is_named: bool,
    pub(crate) model: LoadModel,
    /// Between the start of the test and its own. Nanoseconds.
    pub(crate) starts_after_ns: u64,
    /// Its plan. Empty: unknown.
    pub(crate) stages: Vec<PlannedStage>,
    /// The arrival that is due at its start, before those of the stages: 0 or 1.
    pub(crate) due_at_start: f64,
}

/// Arrivals per second, or users, that change evenly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlannedStage {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) duration_s: f64,
}

impl PlannedStage {
    fn slope(self) -> f64 {
        (self.to - self.from) / self.duration_s
    }

    /// The integral from its begin on.
    fn area(self, seconds: f64) -> f64 {
        self.from * seconds + self.slope() * seconds * seconds / 2.0
    }

    /// Where the integral has this value, which it reaches. Seconds from its begin.
    fn reaches(self, area: f64) -> f64 {
        let root = (self.from * self.from + 2.0 * self.slope() * area).max(0.0).sqrt();
        // This form has no difference of nearly equal numbers.
        2.0 * area / (self.from + root).max(f64::MIN_POSITIVE)
    }
}

impl ToolScenario {
    /// The only scenario of a tool whose plan is unknown.
    pub(crate) fn unplanned(name: impl Into<Arc<str>>, model: LoadModel) -> Self {
        Self { name: name.into(), is_named: false, model, starts_after_ns: 0, stages: Vec::new(), due_at_start: 0.0 }
    }

    /// Whether the instants are known at which its iterations are due.
    pub(crate) fn has_pace(&self) -> bool {
        self.model == LoadModel::Arrivals && !self.stages.is_empty()
    }

    /// Users that are planned at this time after the start of the scenario. Seconds.
    pub(crate) fn users_at(&self, seconds: f64) -> f64 {
        let mut begin = 0.0;
        for stage in &self.stages {
            if (begin..begin + stage.duration_s).contains(&seconds) {
                return stage.from + stage.slope() * (seconds - begin);
            }
            begin += stage.duration_s;
        }
        0.0
    }

    /// Arrivals that are due up to this time after the start of the scenario. Seconds.
    pub(crate) fn due_by(&self, seconds: f64) -> f64 {
        if seconds < 0.0 {
            return 0.0;
        }
        let (mut left, mut due) = (seconds, self.due_at_start);
        for stage in self.stages.iter().filter(|stage| stage.duration_s > 0.0) {
            due += stage.area(left.min(stage.duration_s));
            left -= stage.duration_s;
            if left <= 0.0 {
                break;
            }
        }
        due
    }

    /// When the arrival with this number is due, counted from 1. Seconds after the start of the scenario.
    pub(crate) fn due_at(&self, number: f64) -> f64 {
        let (mut begin, mut left) = (0.0, number - self.due_at_start);
        if left <= 0.0 {
            return 0.0;
        }
        for stage in self.stages.iter().filter(|stage| stage.duration_s > 0.0) {
            let area = stage.area(stage.duration_s);
            if left <= area {
                return begin + stage.reaches(left);
            }
            left -= area;
            begin += stage.duration_s;
        }
        begin
    }

    /// When the first iteration is planned. Nanoseconds after the start of the test.
    pub(crate) fn first_start_ns(&self) -> u64 {
        let seconds = match self.model {
            LoadModel::Arrivals => self.due_at(1.0),
            LoadModel::Users => self.first_user_at(),
        };
        self.starts_after_ns + (seconds * 1e9) as u64
    }

    /// When the plan reaches one user. Seconds after the start of the scenario.
    fn first_user_at(&self) -> f64 {
        let mut begin = 0.0;
        for stage in &self.stages {
            if stage.from >= 1.0 {
                return begin;
            }
            if stage.to >= 1.0 {
                return begin + (1.0 - stage.from) / stage.slope();
            }
            begin += stage.duration_s;
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(stages: &[(f64, f64, f64)], due_at_start: f64) -> ToolScenario {
        let stages = stages.iter().map(|&(from, to, duration_s)| PlannedStage { from, to, duration_s }).collect();
        ToolScenario { stages, due_at_start, ..ToolScenario::unplanned("s", LoadModel::Arrivals) }
    }

    #[test]
    fn instants_of_arrivals_follow_from_the_rate() {
        let constant = arrivals(&[(100.0, 100.0, 10.0)], 1.0);
        assert_eq!((constant.due_by(-0.1), constant.due_by(0.0), constant.due_by(2.5), constant.due_by(20.0)), (0.0, 1.0, 251.0, 1_001.0));
        assert_eq!((constant.due_at(1.0), constant.due_at(251.0), constant.due_at(5_000.0)), (0.0, 2.5, 10.0));
        // From 0 to 20 a second in 10 s, t²; then at once to 50 a second.
        let ramp = arrivals(&[(0.0, 20.0, 10.0), (20.0, 50.0, 0.0), (50.0, 50.0, 2.0)], 0.0);
        assert!((ramp.due_at(25.0) - 5.0).abs() < 1e-9 && (ramp.due_at(150.0) - 11.0).abs() < 1e-9);
        assert!((ramp.due_by(5.0) - 25.0).abs() < 1e-9 && (ramp.due_by(11.0) - 150.0).abs() < 1e-9);
        assert_eq!(ramp.first_start_ns(), 1_000_000_000);
        for number in [1.0, 7.0, 99.0, 120.0, 199.0] {
            assert!((ramp.due_by(ramp.due_at(number)) - number).abs() < 1e-6, "{number}");
        }
    }

    #[test]
    fn users_follow_the_stages() {
        let ramp = ToolScenario {
            model: LoadModel::Users,
            starts_after_ns: 5_000_000_000,
            ..arrivals(&[(0.0, 10.0, 20.0), (10.0, 10.0, 5.0)], 0.0)
        };
        assert_eq!([-1.0, 10.0, 22.0, 26.0].map(|at| ramp.users_at(at)), [0.0, 5.0, 10.0, 0.0]);
        assert_eq!(ramp.first_start_ns(), 7_000_000_000);
    }
}
