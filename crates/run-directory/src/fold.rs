//! Seconds into steps of several. What a step is folded of is `metrics`' business ([`Snapshot::extend`]); where it begins and ends is decided here.

use loadstone_metrics::Snapshot;
use loadstone_plan::{TestPlan, Window};

/// Whether the seconds of a run can be folded at all: a threshold over windows is judged on them.
pub(crate) fn is_foldable(plan: &TestPlan) -> bool {
    plan.thresholds.iter().all(|threshold| threshold.window == Window::WholeRun)
}

/// Gathers slices, which come in order, into steps of equal length. A second in which the load changed stays on its own, and none of the plan's
/// warm-ups ends within a step.
#[derive(Debug)]
pub(crate) struct SliceFold {
    step_seconds: u32,
    warm_ups: Vec<u32>,
    /// The open step is kept small, rather than quick to add to.
    small: bool,
    open: Option<Snapshot>,
}

impl SliceFold {
    pub(crate) fn new(step_seconds: u32, plan: &TestPlan) -> Self {
        let warm_ups = plan.thresholds.iter().map(|threshold| threshold.after_seconds).collect();
        Self { step_seconds, warm_ups, small: false, open: None }
    }

    /// For a run that goes on: a step is open all the time, and dense histograms of all requests take megabytes.
    pub(crate) fn in_little_memory(step_seconds: u32, plan: &TestPlan) -> Self {
        Self { small: true, ..Self::new(step_seconds, plan) }
    }

    /// Takes the next slice, and passes on the step that it completes.
    pub(crate) fn push(&mut self, mut slice: Snapshot, mut take: impl FnMut(Snapshot)) {
        if slice.is_edge() {
            self.close(&mut take);
            take(slice);
            return;
        }
        match &mut self.open {
            Some(open)
                if self.warm_ups.iter().all(|end| (open.slice < *end) == (slice.slice < *end))
                    && open.slice / self.step_seconds == slice.slice / self.step_seconds =>
            {
                if !self.small {
                    open.unpack();
                }
                open.extend(slice);
            }
            _ => {
                self.close(&mut take);
                if self.small {
                    slice.pack();
                }
                self.open = Some(slice);
            }
        }
    }

    /// Passes on what is not complete.
    pub(crate) fn close(&mut self, mut take: impl FnMut(Snapshot)) {
        if let Some(mut step) = self.open.take() {
            step.pack();
            take(step);
        }
    }
}

/// Whether slices are folded where they would not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folding {
    Never,
    /// Once this second is reached.
    After(u32),
}

/// The slices of a run in memory: all its seconds, or, of a long run, steps that grow until they fit.
#[derive(Debug)]
pub(crate) struct SliceList<'a> {
    plan: &'a TestPlan,
    folding: Folding,
    fold: Option<SliceFold>,
    step: usize,
    slices: Vec<Snapshot>,
    /// Bytes of all slices.
    held: usize,
}

/// Bytes of slices that are held of a long run. While they are folded, those of the finer and of the coarser step are there together.
const HELD_BYTES_MAX: usize = 112 << 20;

/// Steps that a minute, which older seconds are folded into on disk, divides or is divided by.
const STEPS_S: [u32; 8] = [1, 5, 15, 60, 300, 600, 1800, 3600];

impl<'a> SliceList<'a> {
    pub(crate) fn new(plan: &'a TestPlan, folding: Folding) -> Self {
        Self { plan, folding, fold: None, step: 0, slices: Vec::new(), held: 0 }
    }

    pub(crate) fn push(&mut self, slice: Snapshot) {
        let is_long = matches!(self.folding, Folding::After(second) if slice.slice >= second);
        let Self { fold, slices, held, .. } = self;
        let mut take = |mut slice: Snapshot| {
            *held += slice.held_bytes();
            slices.push(slice);
        };
        match fold {
            Some(fold) => fold.push(slice, take),
            None => take(slice),
        }
        if is_long && self.held > HELD_BYTES_MAX && self.step + 1 < STEPS_S.len() {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        let mut finer = std::mem::take(&mut self.slices);
        if let Some(fold) = &mut self.fold {
            fold.close(|slice| finer.push(slice));
        }
        self.step += 1;
        self.held = 0;
        self.fold = Some(SliceFold::new(STEPS_S[self.step], self.plan));
        finer.into_iter().for_each(|slice| self.push(slice));
    }

    /// All of them, and the length of a step in seconds.
    pub(crate) fn finish(mut self) -> (Vec<Snapshot>, u32) {
        if let Some(fold) = &mut self.fold {
            fold.close(|slice| self.slices.push(slice));
        }
        (self.slices, STEPS_S[self.step])
    }
}
