//! Converts the coordinator's events to the run's events: each second is completed step by step before a subscriber sees it.

use std::borrow::Cow;
use std::rc::Rc;

use loadstone_engine::{LoadControl, LoadHandle, StopReason};
use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Mark, MarkKind, Nanos, Snapshot};
use loadstone_plan::TestPlan;
use loadstone_run_directory::{RunEnd, RunInfo};
use loadstone_script::Stubs;
use loadstone_secrets::Secrets;

use crate::event::{RunEvent, RunRequests, SubscriberError};
use crate::flow_tracking::FlowTracking;
use crate::judgement::LiveJudgement;
use crate::printed_lines::PrintedLines;
use crate::provisional_findings::ProvisionalFindings;
use crate::stub_signals;
use crate::subscribers::Subscribers;
use crate::system_signals::{FreshReadings, SystemSignals};
use crate::trace_names::TraceNames;

/// State between the coordinator and the subscribers.
pub(crate) struct RunFeed<'a, 'b> {
    pub(crate) secrets: &'a Secrets,
    pub(crate) info: RunInfo,
    /// With secrets masked.
    pub(crate) plan: TestPlan,
    pub(crate) printed: &'a PrintedLines,
    pub(crate) controller: LoadHandle,
    pub(crate) signals: SystemSignals,
    pub(crate) trace_names: TraceNames,
    pub(crate) stubs: Option<Rc<Stubs>>,
    pub(crate) flows: FlowTracking,
    pub(crate) judgement: LiveJudgement,
    pub(crate) provisional: Option<ProvisionalFindings>,
    pub(crate) subscribers: Subscribers<'a, 'b>,
    pub(crate) position: FeedPosition,
}

/// The stage of the run that subscribers have seen.
#[derive(Debug, Default)]
pub(crate) struct FeedPosition {
    next_slice: u32,
    is_closed: bool,
}

impl RunFeed<'_, '_> {
    /// Every worker is ready, and the run's time starts. Returns the controls for the run.
    pub(crate) fn begin(&mut self, zero: Monotonic, started: String) -> Option<LoadControl> {
        self.info.started = started;
        self.signals.begin(zero);
        self.subscribers.deliver(&RunEvent::TimeBegins { info: &self.info, plan: &self.plan });
        self.subscribers.new_failure().map(halt)
    }

    /// Completes a second and delivers it. Returns the controls for the run.
    pub(crate) fn snapshot(&mut self, mut snapshot: Snapshot, is_last: bool) -> Option<LoadControl> {
        self.position = FeedPosition { next_slice: snapshot.slice + 1, is_closed: is_last };
        self.subscribers.deliver(&RunEvent::SnapshotDue { at: snapshot.end });
        let RunRequests { mut controls, marks, lines } = self.subscribers.requests();
        let mut readings = self.signals.take();
        // The result is certain only when no further call can arrive.
        let stubs = self.stubs.as_ref().filter(|_| is_last).map(|stubs| stubs.recordings()).unwrap_or_default();
        let unmatched = stub_signals::unmatched(&stubs);
        // Reported before the stubs stop, because stopping takes time.
        stub_signals::held(&stubs).iter().for_each(|text| self.line(text));
        self.flows.take(std::mem::take(&mut readings.flow_events));
        self.trace_names.learn(&snapshot);
        self.trace_names.put_into(&mut readings.traces, self.secrets);

        let worker_warnings: Vec<String> = warnings(&snapshot).collect();
        let mark = |kind, text| Mark { at: snapshot.end, kind, text };
        let warnings: Vec<Mark> = unmatched.iter().map(|text| mark(MarkKind::Warning, text.clone())).collect();
        let asked: Vec<Mark> = marks.into_iter().map(|(kind, text)| mark(kind, text)).collect();
        snapshot.marks.extend(warnings);
        let is_drained = self.flows.complete(&mut snapshot, is_last);
        snapshot.marks.extend(readings.marks());
        snapshot.marks.extend(asked);
        let snapshot = Snapshot::hiding(Cow::Owned(snapshot), self.secrets).into_owned();
        let abort = self.judgement.snapshot(&readings, &snapshot);

        worker_warnings.iter().chain(&unmatched).for_each(|text| self.line(&format!("warning: {text}")));
        lines.iter().for_each(|line| self.line(line));
        self.readings(&readings);
        self.printed_lines();
        if let Some((found, before)) = self.provisional.as_mut().filter(|_| !is_last).and_then(|early| early.second(snapshot.end)) {
            self.subscribers.deliver(&RunEvent::Provisional { found, before: before.as_ref() });
        }
        self.subscribers.deliver(&RunEvent::Snapshot { snapshot: &snapshot, live: self.judgement.live(), is_last });

        controls.extend(self.subscribers.new_failure().map(halt));
        controls.extend(self.printed.failure().map(|problem| LoadControl::Halt(StopReason::Script(problem))));
        controls.extend(abort.map(LoadControl::Stop));
        controls.extend(self.subscribers.controls());
        controls.extend(is_drained.then_some(LoadControl::Release));
        self.strongest(controls)
    }

    /// No second is complete yet. Only readings and lines are delivered.
    pub(crate) fn waiting(&mut self) -> Option<LoadControl> {
        let readings = self.signals.take();
        let _ = self.judgement.readings(&readings);
        self.readings(&readings);
        self.printed_lines();
        let mut controls: Vec<LoadControl> = self.subscribers.new_failure().map(halt).into_iter().collect();
        controls.extend(self.subscribers.controls());
        self.strongest(controls)
    }

    /// All load has ended as planned.
    pub(crate) fn load_ended(&mut self, at: Nanos) {
        self.flows.load_ended(at);
        self.subscribers.deliver(&RunEvent::LoadEnded { at });
    }

    /// Delivers the remaining events: the last second if the workers failed before it, later readings and lines, and the end. Returns the first failure of
    /// a subscriber.
    pub(crate) fn finish(mut self, at: Nanos, end: &RunEnd) -> Option<SubscriberError> {
        if !self.position.is_closed {
            // No second follows, so there is nothing left to stop.
            let _ = self.snapshot(Snapshot { slice: self.position.next_slice, start: at, end: at, ..Snapshot::default() }, true);
        }
        if self.plan.observers.iter().any(|observer| observer["kind"] == "traces") {
            self.line("waiting for the spans of the last requests");
        }
        let mut rest = self.signals.finish();
        self.trace_names.put_into(&mut rest.traces, self.secrets);
        let _ = self.judgement.readings(&rest);
        self.readings(&rest);
        self.printed_lines();
        self.subscribers.deliver(&RunEvent::Closing);
        self.subscribers.requests().lines.iter().for_each(|line| self.line(line));
        self.subscribers.deliver(&RunEvent::Finished { end });
        self.subscribers.into_failure()
    }

    fn readings(&mut self, readings: &FreshReadings) {
        if !readings.series.is_empty() {
            self.subscribers.deliver(&RunEvent::Signals(&readings.series));
        }
        if !readings.traces.is_empty() {
            self.subscribers.deliver(&RunEvent::Traces(&readings.traces));
        }
        for notice in &readings.notices {
            self.subscribers.deliver(&RunEvent::Notice(notice));
            self.line(&format!("warning: {}", notice.message));
        }
    }

    fn printed_lines(&mut self) {
        for line in self.printed.take() {
            self.line(&line);
        }
    }

    fn line(&mut self, line: &str) {
        self.subscribers.deliver(&RunEvent::ConsoleLine(&self.secrets.hide(line)));
    }

    /// The request to end that is carried out. New scales do not end the load and are forwarded.
    fn strongest(&self, controls: Vec<LoadControl>) -> Option<LoadControl> {
        let (scales, ends): (Vec<_>, Vec<_>) = controls.into_iter().partition(|control| matches!(control, LoadControl::Scale(_)));
        scales.into_iter().for_each(|scale| self.controller.send(scale));
        let weakness = |control: &LoadControl| match control {
            LoadControl::Halt(_) => 0,
            LoadControl::Stop(_) => 1,
            LoadControl::Release | LoadControl::Scale(_) => 2,
        };
        ends.into_iter().min_by_key(weakness)
    }
}

/// Warnings of the workers.
fn warnings(snapshot: &Snapshot) -> impl Iterator<Item = String> {
    snapshot.marks.iter().filter(|mark| mark.kind == MarkKind::Warning).map(|mark| mark.text.clone())
}

fn halt(failure: &SubscriberError) -> LoadControl {
    LoadControl::Halt(StopReason::Failure(failure.to_string()))
}
