//! The shared time axis: a bounded number of steps, which become longer as a run grows longer.

use loadstone_metrics::Snapshot;

use super::step::TimelineStep;

/// Maximum number of steps of a timeline. A page is about 1,200 pixels wide; more points cost bytes and show nothing.
pub(crate) const STEPS_MAX: usize = 1200;

/// Steps of equal length from second 0 on. Each is one second long until there would be more than [`STEPS_MAX`]; then neighbours are merged in pairs.
/// Memory remains bounded, and the live page and the finished report of the same run agree.
#[derive(Debug)]
pub(crate) struct Axis {
    step_seconds: u32,
    steps: Vec<TimelineStep>,
    open: Vec<bool>,
}

impl Axis {
    /// `open` contains, for each scenario run of the load, whether its load is open.
    pub(crate) fn new(open: Vec<bool>) -> Self {
        Self { step_seconds: 1, steps: Vec::new(), open }
    }

    /// From any number of seconds without a gap. The first step is the first of them.
    pub(crate) fn of_seconds(open: Vec<bool>, steps: Vec<TimelineStep>) -> Self {
        Self { step_seconds: 1, steps, open }
    }

    pub(crate) fn push(&mut self, slice: &Snapshot) {
        // A slice of several seconds would leave gaps between shorter steps.
        while (slice.slice / self.step_seconds) as usize >= STEPS_MAX || self.step_seconds < slice.seconds() {
            self.coarsen();
        }
        let index = (slice.slice / self.step_seconds) as usize;
        if self.steps.len() <= index {
            let pack = if self.step_seconds > 1 { TimelineStep::pack_within_bounds } else { TimelineStep::pack };
            self.steps.last_mut().into_iter().for_each(pack);
            self.steps.resize_with(index + 1, TimelineStep::default);
        }
        self.steps[index].merge(TimelineStep::of(slice, &self.open));
    }

    fn coarsen(&mut self) {
        self.step_seconds *= 2;
        let mut finer = std::mem::take(&mut self.steps).into_iter();
        while let Some(mut step) = finer.next() {
            if let Some(second) = finer.next() {
                step.merge(second);
                step.pack_within_bounds();
            }
            self.steps.push(step);
        }
    }

    pub(crate) fn steps(&self) -> &[TimelineStep] {
        &self.steps
    }

    pub(crate) fn step_seconds(&self) -> u32 {
        self.step_seconds
    }

    pub(crate) fn open(&self) -> &[bool] {
        &self.open
    }

    /// Whether any scenario run has open load.
    pub(crate) fn any_open(&self) -> bool {
        self.open.contains(&true)
    }

    /// Whether any scenario run has closed load.
    pub(crate) fn any_closed(&self) -> bool {
        self.open.contains(&false)
    }
}
