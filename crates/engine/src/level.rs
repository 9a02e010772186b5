//! How many users a closed profile has at an instant.

use loadstone_metrics::Nanos;
use loadstone_plan::{ClosedStage, StepPlace};

/// The level of a closed profile over time.
#[derive(Debug, Clone)]
pub struct UserLevel {
    stages: Vec<ClosedStage>,
    step_place: StepPlace,
}

/// The level at an instant, and when it next changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelReading {
    pub users: u64,
    /// Offset at which the level next changes; `None`: the profile has ended.
    pub until_ns: Option<Nanos>,
}

impl UserLevel {
    pub fn new(stages: &[ClosedStage], step_place: StepPlace) -> Self {
        Self { stages: stages.to_vec(), step_place }
    }

    /// The level at the end.
    pub fn last(&self) -> u64 {
        self.stages.last().map_or(0, |stage| stage.to)
    }

    /// The level at an offset. On a ramp up, users start at even intervals, as [`StepPlace`] describes. On a ramp down, the last user leaves at the
    /// ramp's end.
    pub fn at(&self, offset_ns: Nanos) -> LevelReading {
        let mut start = 0;
        for stage in &self.stages {
            let end = start + stage.duration_ns;
            if offset_ns < end {
                return self.ramp(stage, offset_ns - start, start, end);
            }
            start = end;
        }
        LevelReading { users: 0, until_ns: None }
    }

    fn ramp(&self, stage: &ClosedStage, within_ns: Nanos, start: Nanos, end: Nanos) -> LevelReading {
        let steps = stage.from.abs_diff(stage.to);
        if steps == 0 {
            return LevelReading { users: stage.to, until_ns: Some(end) };
        }
        let duration = u128::from(stage.duration_ns);
        let done = (u128::from(within_ns) * u128::from(steps) / duration) as u64;
        // The first offset at which `done` has grown by one. Rounded up, so that a check at that offset finds the new value.
        let next = (u128::from(done + 1) * duration).div_ceil(u128::from(steps)) as Nanos;
        let users = match self.step_place {
            _ if stage.to < stage.from => stage.from - done,
            StepPlace::FirstAtBeginning => stage.from + (done + 1).min(steps),
            StepPlace::LastAtEnd => stage.from + done,
        };
        LevelReading { users, until_ns: Some((start + next).min(end)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn walk(stages: &[ClosedStage]) -> Vec<(u64, u64)> {
        walk_with(stages, StepPlace::FirstAtBeginning)
    }

    fn walk_with(stages: &[ClosedStage], step_place: StepPlace) -> Vec<(u64, u64)> {
        let level = UserLevel::new(stages, step_place);
        let (mut at, mut seen) = (0, Vec::new());
        loop {
            let reading = level.at(at);
            seen.push((at / 1_000_000, reading.users));
            match reading.until_ns {
                Some(next) => {
                    assert!(next > at);
                    at = next;
                }
                None => return seen,
            }
        }
    }

    #[test]
    fn ramps_up_holds_and_ramps_down() {
        let stages = [
            ClosedStage { from: 0, to: 4, duration_ns: 4 * S },
            ClosedStage { from: 4, to: 4, duration_ns: 2 * S },
            ClosedStage { from: 4, to: 0, duration_ns: 2 * S },
        ];
        assert_eq!(
            walk(&stages),
            vec![(0, 1), (1000, 2), (2000, 3), (3000, 4), (4000, 4), (6000, 4), (6500, 3), (7000, 2), (7500, 1), (8000, 0)]
        );
    }

    /// k6 1.4.2 starts the six VUs of this ramp at these instants.
    #[test]
    fn a_step_place_can_add_its_last_user_at_its_end() {
        let ramp = |from, to, s| ClosedStage { from, to, duration_ns: s * S };
        let stages = [ramp(0, 4, 4), ramp(4, 6, 1), ramp(6, 4, 2)];
        let levels = vec![(0, 0), (1000, 1), (2000, 2), (3000, 3), (4000, 4), (4500, 5), (5000, 6), (6000, 5), (7000, 0)];
        assert_eq!(walk_with(&stages, StepPlace::LastAtEnd), levels);
    }

    #[test]
    fn many_users_change_one_by_one() {
        let stages = [ClosedStage { from: 0, to: 3_400, duration_ns: S }];
        let walked = walk(&stages);
        assert_eq!(walked.len(), 3_401);
        assert!(walked.windows(2).take(3_399).all(|pair| pair[1].1 == pair[0].1 + 1));
    }
}
