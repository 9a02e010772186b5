//! The events of a run, and the requests that subscribers can make.

use std::error::Error;

use loadstone_analysis::{LiveAnalysis, Provisional};
use loadstone_engine::{LoadControl, LoadHandle};
use loadstone_metrics::span::TraceBatch;
use loadstone_metrics::{MarkKind, Nanos, SignalNotice, Snapshot};
use loadstone_plan::TestPlan;
use loadstone_run_directory::{RunEnd, RunInfo, SignalSeries};

/// An event. It contains no unmasked secret.
pub enum RunEvent<'a> {
    /// The run directory exists and no request has been sent. A subscriber that fails here prevents the run from starting.
    Started {
        info: &'a RunInfo,
        plan: &'a TestPlan,
        /// For subscribers with their own threads. Others use [`RunRequests`].
        controller: &'a LoadHandle,
    },
    /// Every worker is ready to generate load. Times of the run count from this instant, which `info.started` contains from now on.
    TimeBegins { info: &'a RunInfo, plan: &'a TestPlan },
    /// A second is about to be delivered. Marks and lines that subscribers add now reach all of them.
    SnapshotDue {
        /// The end of the second.
        at: Nanos,
    },
    /// A line that a script printed, or a warning.
    ConsoleLine(&'a str),
    /// Readings of observers and stubs since the last event of this kind.
    Signals(&'a [SignalSeries]),
    /// Traces of the run that observers received since the last event of this kind.
    Traces(&'a TraceBatch),
    /// An observer failed, recovered or lost readings. A warning follows as a [`RunEvent::ConsoleLine`].
    Notice(&'a SignalNotice),
    /// Findings so far, and the previous ones unless this is the first time. Sent only if [`Session::finds_early`](crate::Session::finds_early) is set.
    Provisional { found: &'a Provisional, before: Option<&'a Provisional> },
    /// One second, merged over the workers. Its readings and console lines precede it.
    Snapshot {
        snapshot: &'a Snapshot,
        /// Thresholds and validity of the run so far, including this second.
        live: &'a LiveAnalysis,
        is_last: bool,
    },
    /// All load has ended as planned. Seconds without load follow until no journey is open.
    LoadEnded { at: Nanos },
    /// No further second follows. This is the last opportunity to add lines.
    Closing,
    /// The run has ended, for any reason.
    Finished { end: &'a RunEnd },
}

/// Why a subscriber cannot continue.
pub type SubscriberError = Box<dyn Error + Send + Sync>;

/// Receives a run's events.
pub trait Subscriber {
    /// Handles an event, and may make requests to the run.
    ///
    /// # Errors
    /// After an error on [`RunEvent::Started`], the run does not start and leaves no directory. After a later error, the run is halted at the end of the
    /// second, [`FinishedRun::failure`](crate::FinishedRun::failure) has the first such error, and events are still delivered.
    fn take(&mut self, event: &RunEvent<'_>, requests: &mut RunRequests) -> Result<(), SubscriberError>;
}

/// Requests of subscribers to the run. They are carried out at the end of the current second. The strongest request to end wins, and the first among
/// equals.
#[derive(Debug, Default)]
pub struct RunRequests {
    pub(crate) controls: Vec<LoadControl>,
    pub(crate) marks: Vec<(MarkKind, String)>,
    pub(crate) lines: Vec<String>,
}

impl RunRequests {
    /// Requests to stop, halt, release or scale the load.
    pub fn control(&mut self, control: LoadControl) {
        self.controls.push(control);
    }

    /// Adds a mark at the end of the second. Outside of [`RunEvent::SnapshotDue`], at the end of the next one.
    pub fn mark(&mut self, kind: MarkKind, text: impl Into<String>) {
        self.marks.push((kind, text.into()));
    }

    /// Adds a line to the console. All subscribers receive it after the next [`RunEvent::SnapshotDue`] or [`RunEvent::Closing`].
    pub fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }
}
