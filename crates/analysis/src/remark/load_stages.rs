//! Stages of a load: its level over time, as numbers. `load_shape` renders them.

/// A part of a load. The level moves linearly. Arrivals per second, or users.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LoadStage {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) seconds: f64,
}

impl LoadStage {
    pub(super) fn new(from: f64, to: f64, seconds: f64) -> Self {
        Self { from, to, seconds }
    }

    pub(super) fn is_level(&self) -> bool {
        self.from.total_cmp(&self.to).is_eq()
    }
}

/// The highest level; 0 without stages.
pub(super) fn top(stages: &[LoadStage]) -> f64 {
    stages.iter().map(|stage| stage.from.max(stage.to)).fold(0.0, f64::max)
}

/// The stages before the highest level is reached, with the one that ends there.
pub(super) fn rise(stages: &[LoadStage]) -> Vec<LoadStage> {
    let top = top(stages);
    let before = stages.iter().take_while(|stage| stage.from < top && stage.to < top).count();
    let reaches = stages.get(before).is_some_and(|stage| stage.from < top);
    stages[..before + usize::from(reaches)].to_vec()
}

/// Stages as one ramp of the same length.
pub(super) fn as_ramp(stages: &[LoadStage]) -> Vec<LoadStage> {
    let first = stages.first().map(|stage| stage.from);
    first.map(|from| LoadStage::new(from, top(stages), stages.iter().map(|stage| stage.seconds).sum())).into_iter().collect()
}

/// The levels of three or more stages that are equally long and do not move, and the length of all. Seconds.
pub(super) fn steps(stages: &[LoadStage]) -> Option<(Vec<f64>, f64)> {
    let each = stages.first()?.seconds;
    let are_steps = stages.len() > 2 && stages.iter().all(|stage| stage.is_level() && (stage.seconds - each).abs() < 0.001);
    are_steps.then(|| (stages.iter().map(|stage| stage.to).collect(), each * stages.len() as f64))
}

/// The length and the last level of each stage, in k6's terms: a level that does not continue the one before is reached in a stage without a length.
pub(super) fn with_jumps(stages: &[LoadStage]) -> Vec<(f64, f64)> {
    let mut level = stages.first().map_or(0.0, |stage| stage.from);
    let mut found = Vec::new();
    for stage in stages {
        if (stage.from - level).abs() > 0.0 {
            found.push((0.0, stage.from));
        }
        found.push((stage.seconds, stage.to));
        level = stage.to;
    }
    found
}

/// `2m`, `2m30s`, `45s`: to a second.
pub(super) fn time(seconds: f64) -> String {
    let whole = seconds.round().max(if seconds > 0.0 { 1.0 } else { 0.0 }) as u64;
    match (whole / 60, whole % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, 0) => format!("{minutes}m"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}
