//! Builds the view of a run, all at once or one second at a time. Read [`ViewBuilder`] first.

use std::cmp::Reverse;

use loadstone_analysis::{Provisional, Summary};
use loadstone_metrics::{Histogram, Mark, MarkKind, SeriesKind, Signal, SignalPoint, SlowSample, Snapshot};
use loadstone_plan::{Parameter, ParameterOrigin, TestPlan};
use loadstone_run_directory::{Run, RunEnd, RunInfo};

use crate::explanation;
use crate::timeline::axis::Axis;
use crate::timeline::bands::Tracks;
use crate::timeline::requests::RequestLines;
use crate::timeline::sparks::Sparks;
use crate::timeline::{bins, close_up, figures, own_metrics, panels, spans};
use crate::view::{MarkView, ProvisionalView, ReportView, RunState, TestView, Timeline};
use crate::words;

/// Upper bound on stored marks and notes. A run that logs a warning per request must not grow the page without end.
const MARKS_MAX: usize = 500;

/// Collects a run slice by slice; [`ViewBuilder::view`] returns the view of the slices so far. Memory does not depend on the length of the run. A
/// finished run has the same view, whether it was collected live or read back from disk.
#[derive(Debug)]
pub struct ViewBuilder {
    info: RunInfo,
    plan: TestPlan,
    axis: Axis,
    tracks: Tracks,
    metrics: Tracks,
    sparks: Sparks,
    requests: RequestLines,
    all: Histogram,
    slow: Vec<SlowSample>,
    marks: Vec<Mark>,
    marks_left_out: u64,
    signals_left_out: bool,
    series_overflow: u64,
    next_slice: u32,
    gaps: Vec<(u32, u32)>,
}

impl ViewBuilder {
    pub fn new(info: &RunInfo, plan: &TestPlan) -> Self {
        let open = plan.load.leaves().iter().map(|leaf| leaf.profile.is_open()).collect();
        Self {
            info: info.clone(),
            plan: plan.clone(),
            axis: Axis::new(open),
            tracks: Tracks::default(),
            metrics: Tracks::default(),
            sparks: Sparks::new(),
            requests: RequestLines::new(),
            all: Histogram::new(),
            slow: Vec::new(),
            marks: Vec::new(),
            marks_left_out: 0,
            signals_left_out: false,
            series_overflow: 0,
            next_slice: 0,
            gaps: Vec::new(),
        }
    }

    /// Adds one second, merged over all workers.
    pub fn push(&mut self, slice: &Snapshot) {
        self.axis.push(slice);
        self.sparks.push(slice);
        self.requests.push(slice);
        slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request).for_each(|series| self.all.merge(&series.response));
        self.slow.extend(slice.slow.iter().cloned());
        self.slow.sort_by_key(|slow| Reverse(slow.response_ns));
        self.slow.truncate(Snapshot::SLOW_MAX);
        for mark in &slice.marks {
            if self.marks.len() < MARKS_MAX {
                self.marks.push(mark.clone());
            } else {
                self.marks_left_out += 1;
            }
        }
        self.series_overflow += slice.series_overflow;
        for (signal, point) in own_metrics::lines(slice) {
            self.signals_left_out |= !self.metrics.push(&signal, &point);
        }
        if slice.slice > self.next_slice && self.gaps.len() < MARKS_MAX {
            self.gaps.push((self.next_slice, slice.slice));
        }
        self.next_slice = self.next_slice.max(slice.slice.saturating_add(slice.seconds()));
    }

    /// Adds a reading of a signal. The readings of one signal come in order of time.
    pub fn push_signal(&mut self, signal: &Signal, point: &SignalPoint) {
        self.signals_left_out |= !self.tracks.push(signal, point);
    }

    /// The view so far. `summary` contains the numbers and verdicts of the same slices.
    pub fn view(&self, summary: &Summary, state: RunState, state_detail: &str) -> ReportView {
        let marks = self.marks.iter().map(|mark| MarkView { at_seconds: seconds(mark.at), kind: mark.kind, text: mark.text.clone() });
        let step_seconds = self.axis.step_seconds();
        let starts = (0..self.axis.steps().len()).map(|index| index as f64 * f64::from(step_seconds));
        ReportView {
            version: 1,
            test: self.test(summary, state, state_detail),
            timeline: Timeline {
                seconds: starts.collect(),
                step_seconds: f64::from(step_seconds),
                panels: panels::build(&self.axis, &summary.source),
                heat: bins::heat_map(self.axis.steps().iter().map(|step| step.digest().heat.as_slice())),
                bands: own_metrics::side_by_side(self.metrics.bands(&self.axis)).into_iter().chain(self.tracks.bands(&self.axis)).collect(),
                marks: marks.collect(),
                close_ups: Vec::new(),
            },
            distribution: bins::distribution(&self.all),
            sparks: summary.requests.iter().map(|row| self.sparks.line(&row.key)).collect(),
            request_charts: self.requests.charts(&summary.requests.iter().map(|row| (&row.key, row.count)).collect::<Vec<_>>()),
            evidence_charts: figures::of(&self.requests, &summary.verdict.findings.findings),
            explanations: explanation::of_findings(&summary.verdict.findings.findings, self.info.file.as_deref(), &self.info.id),
            slowest: self.slow.clone(),
            flow_notes: summary.flows.iter().map(words::flow).collect(),
            uncertainty_notes: words::uncertainties(summary),
            uncertainty_in_short: words::uncertainty_in_short(summary),
            unusable_percentiles: words::unusable_percentiles(summary),
            notes: self.notes(state),
            trace_link: self.plan.observers.iter().find_map(trace_link),
            traces: Vec::new(),
            comparison: None,
            provisional: None,
            summary: summary.clone(),
        }
    }

    /// The view of a run in progress with its findings so far. `summary` contains its numbers.
    pub fn provisional_view(&self, mut summary: Summary, found: Option<&Provisional>) -> ReportView {
        if let Some(found) = found {
            found.put_into(&mut summary);
        }
        let provisional = found.map(|found| ProvisionalView { seconds: found.seconds, withdrawn: found.withdrawn.clone() });
        ReportView { provisional, ..self.view(&summary, RunState::Running, "") }
    }

    fn test(&self, summary: &Summary, state: RunState, state_detail: &str) -> TestView {
        TestView {
            name: self.plan.name.clone(),
            id: self.info.id.clone(),
            file: self.info.file.clone(),
            target: self.plan.target.clone(),
            started: self.info.started.clone(),
            commit: words::commit(&self.info),
            state,
            state_detail: state_detail.to_owned(),
            duration_seconds: summary.totals.duration_seconds,
            planned_seconds: self.plan.load.duration_ns().map(seconds),
            loadstone: self.info.loadstone.clone(),
            seed: self.plan.options.seed,
            workers: self.info.workers,
            host: words::host(&self.info.host),
            parameters: self.plan.parameters.iter().map(parameter).collect(),
            load: words::load(&self.plan),
            tags: self.info.tags.clone(),
        }
    }

    fn notes(&self, state: RunState) -> Vec<String> {
        let noted = self.marks.iter().filter(|mark| matches!(mark.kind, MarkKind::Adjusted | MarkKind::Warning | MarkKind::Stopped));
        let mut notes: Vec<String> =
            noted.map(|mark| format!("At {}: {}", loadstone_units::seconds(seconds(mark.at)), mark.text)).collect();
        if self.marks_left_out > 0 {
            notes.push(format!("{} more marks are not shown.", loadstone_units::count(self.marks_left_out)));
        }
        if self.signals_left_out {
            notes.push("The report cannot draw all signals. The rest are in the run directory only.".to_owned());
        }
        if self.series_overflow > 0 {
            let samples = loadstone_units::counted(self.series_overflow, "sample");
            notes.push(format!(
                "Too many different request names: {samples} are grouped under (other). Give requests with varying URLs a fixed name."
            ));
        }
        for (from, to) in &self.gaps {
            notes.push(format!("Nothing was recorded from second {from} to second {to}."));
        }
        if state == RunState::Killed {
            notes.push("The process of the run was killed. At most its last second is missing.".to_owned());
        }
        notes
    }
}

impl ReportView {
    /// The view of a run that was read back from its directory. `summary` is the conclusion that `analysis` drew from the same run.
    pub fn build(run: &Run, summary: &Summary) -> ReportView {
        let (state, detail) = RunState::of(run.end.as_ref());
        Self::build_in_state(run, summary, state, detail)
    }

    /// As [`ReportView::build`], for a caller that knows the state of the run. A directory without an end may be a killed run or one in progress.
    pub fn build_in_state(run: &Run, summary: &Summary, state: RunState, detail: &str) -> ReportView {
        let mut builder = ViewBuilder::new(&run.info, &run.plan);
        run.slices.iter().for_each(|slice| builder.push(slice));
        for series in &run.signals {
            series.points.iter().for_each(|point| builder.push_signal(&series.signal, point));
        }
        let mut view = builder.view(summary, state, detail);
        if builder.axis.step_seconds() > 1 {
            view.timeline.close_ups = close_up::of(run, summary, builder.axis.open());
        }
        view.traces.clone_from(&run.traces.kept);
        view.traces.sort_by_key(|trace| (trace.kept_for, Reverse(trace.total_ns)));
        for (charts, row) in view.request_charts.iter_mut().zip(&summary.requests) {
            spans::add(charts, &row.key, &run.traces);
        }
        figures::add_spans(&mut view);
        view
    }
}

impl RunState {
    /// The state of a run that is over, and why it ended early (empty otherwise). A run without an end was killed.
    pub fn of(end: Option<&RunEnd>) -> (RunState, &str) {
        match end {
            None => (RunState::Killed, ""),
            Some(RunEnd::Completed) => (RunState::Completed, ""),
            Some(RunEnd::Interrupted) => (RunState::Interrupted, ""),
            Some(RunEnd::Aborted(why)) => (RunState::Aborted, why),
            Some(RunEnd::Failed(why)) => (RunState::Failed, why),
        }
    }
}

/// The link of an observer of traces.
fn trace_link(observer: &serde_json::Value) -> Option<String> {
    (observer["kind"] == "traces").then(|| observer["link"].as_str().map(str::to_owned))?
}

fn parameter(parameter: &Parameter) -> (String, String, String, String) {
    let value = words::parameter(parameter).to_owned();
    let origin = match parameter.origin {
        ParameterOrigin::Default => "default",
        ParameterOrigin::File => "file",
        ParameterOrigin::Environment => "environment",
        ParameterOrigin::CommandLine => "command_line",
    };
    (parameter.name.clone(), value, origin.to_owned(), parameter.help.clone().unwrap_or_default())
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
