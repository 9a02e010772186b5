//! The events of a run, and what its subscribers may ask for.

use std::error::Error;

use loadstone_analysis::{LiveAnalysis, Provisional};
use loadstone_engine::{LoadControl, LoadHandle};
use loadstone_metrics::span::TraceBatch;
use loadstone_metrics::{MarkKind, Nanos, SignalNotice, Snapshot};
use loadstone_plan::TestPlan;
use loadstone_run_directory::{RunEnd, RunInfo, SignalSeries};

/// Something that happened. Nothing in it shows a secret.
pub enum RunEvent<'a> {
    /// The run directory exists and nothing has been sent. A subscriber that fails here keeps the run from beginning.
    Started {
        info: &'a RunInfo,
        plan: &'a TestPlan,
        /// For subscribers with threads of their own; others ask through [`RunRequests`].
        controller: &'a LoadHandle,
    },
    /// Every worker is ready to make load: instants of the run count from now, which is what `info.started` says from here on.
    TimeBegins { info: &'a RunInfo, plan: &'a TestPlan },
    /// A second is about to be delivered. Marks and lines that subscribers add now are seen by all of them.
    SnapshotDue {
        /// The end of the second.
        at: Nanos,
    },
    /// A line that a script printed, or a warning.
    ConsoleLine(&'a str),
    /// What observers and stubs read since the last event of this kind.
    Signals(&'a [SignalSeries]),
    /// What observers learnt of the run's traces since the last event of this kind.
    Traces(&'a TraceBatch),
    /// An observer failed, recovered or lost readings. A warning follows as a [`RunEvent::ConsoleLine`].
    Notice(&'a SignalNotice),
    /// What the seconds so far show of the system, and what was told before, unless this is the first time. Only where
    /// [`Session::finds_early`](crate::Session::finds_early) asks for it.
    Provisional { found: &'a Provisional, before: Option<&'a Provisional> },
    /// One second, merged over the workers; what was read and printed in it came before.
    Snapshot {
        snapshot: &'a Snapshot,
        /// The run so far, with this second: thresholds and validity.
        live: &'a LiveAnalysis,
        is_last: bool,
    },
    /// All load has ended as planned; seconds without load follow until no journey is open.
    LoadEnded { at: Nanos },
    /// No second follows. Last chance to say something.
    Closing,
    /// The end, whatever its reason.
    Finished { end: &'a RunEnd },
}

/// Why a subscriber cannot do its part.
pub type SubscriberError = Box<dyn Error + Send + Sync>;

/// Receives a run's events.
pub trait Subscriber {
    /// Takes an event, and may ask something of the run.
    ///
    /// # Errors
    /// On [`RunEvent::Started`], the run does not begin and leaves no directory behind. Later, the run is halted at the end of the
    /// second, [`FinishedRun::failure`](crate::FinishedRun::failure) keeps the first such error, and events are still delivered.
    fn take(&mut self, event: &RunEvent<'_>, requests: &mut RunRequests) -> Result<(), SubscriberError>;
}

/// What subscribers ask of a run. It is carried out at the end of the current second: the strongest request to end wins, and the first
/// of equals.
#[derive(Debug, Default)]
pub struct RunRequests {
    pub(crate) controls: Vec<LoadControl>,
    pub(crate) marks: Vec<(MarkKind, String)>,
    pub(crate) lines: Vec<String>,
}

impl RunRequests {
    /// Asks to stop, halt, release or scale the load.
    pub fn control(&mut self, control: LoadControl) {
        self.controls.push(control);
    }

    /// Adds a mark at the end of the second; outside of [`RunEvent::SnapshotDue`], at the end of the next one.
    pub fn mark(&mut self, kind: MarkKind, text: impl Into<String>) {
        self.marks.push((kind, text.into()));
    }

    /// Adds a line to the console. All subscribers get it after the next [`RunEvent::SnapshotDue`] or [`RunEvent::Closing`].
    pub fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }
}
