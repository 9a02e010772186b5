//! Folds seconds into longer steps. `metrics` defines how slices are merged ([`Snapshot::extend`]); this module decides where a step begins and ends.

use loadstone_metrics::Snapshot;
use loadstone_plan::{TestPlan, Window};

/// Whether the seconds of a run can be folded: a threshold over windows needs all of them.
pub(crate) fn is_foldable(plan: &TestPlan) -> bool {
    plan.thresholds.iter().all(|threshold| threshold.window == Window::WholeRun)
}

/// Gathers ordered slices into steps of equal length. A second in which the load changed remains separate, and no warm-up of the plan ends within
/// a step.
#[derive(Debug)]
pub(crate) struct SliceFold {
    step_seconds: u32,
    warm_ups: Vec<u32>,
    /// Whether the open step is optimized for size instead of speed.
    small: bool,
    open: Option<Snapshot>,
}

impl SliceFold {
    pub(crate) fn new(step_seconds: u32, plan: &TestPlan) -> Self {
        let warm_ups = plan.thresholds.iter().map(|threshold| threshold.after_seconds).collect();
        Self { step_seconds, warm_ups, small: false, open: None }
    }

    /// For a run in progress: a step is always open, and dense histograms of all requests take megabytes.
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

    /// Passes on the incomplete step.
    pub(crate) fn close(&mut self, mut take: impl FnMut(Snapshot)) {
        if let Some(mut step) = self.open.take() {
            step.pack();
            take(step);
        }
    }
}

/// Whether slices are folded if they would not fit into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folding {
    Never,
    /// From this second on.
    After(u32),
}

/// The slices of a run in memory: all its seconds, or, for a long run, steps that grow until they fit.
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

/// Maximum bytes of slices of a long run. While they are folded, the finer and the coarser steps are in memory together.
const HELD_BYTES_MAX: usize = 112 << 20;

/// Valid steps: divisors or multiples of a minute, the step of older seconds on disk.
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
