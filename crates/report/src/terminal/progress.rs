//! The state of a run in progress, as a block of a few lines or as one line. Read [`Progress`].
//!
//! Deliberately absent: where and how often it is drawn, which is the task of `screen`.

use std::collections::VecDeque;

use loadstone_analysis::{Grade, ThresholdResult, ThresholdState, Validity};
use loadstone_metrics::{Histogram, MarkKind, Nanos, Snapshot};
use loadstone_plan::TestPlan;

use super::grade_sign;
use super::style::{Paint, Style, cut, shorten, width_of};
use crate::timeline::digest::percentile;
use crate::timeline::step::{TimelineFlow, TimelineStep};

/// Length of the window for the moving numbers. Seconds.
const WINDOW: usize = 5;

/// The state of a run in progress. The caller updates it once a second; it does not read a clock.
#[derive(Debug)]
pub struct Progress {
    name: String,
    planned_ns: Option<u64>,
    open: Vec<bool>,
    recent: VecDeque<TimelineStep>,
    stage: String,
    requests: u64,
    failed: u64,
    grade: Option<Grade>,
    /// The worst validity check, in short.
    worst_check: String,
    thresholds: Vec<ThresholdProgress>,
}

/// One threshold during a run.
#[derive(Debug)]
struct ThresholdProgress {
    standing: ThresholdStanding,
    label: String,
    /// `p99 was 38.2 ms`; empty before the first measurement.
    value: String,
}

/// The state of a threshold, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ThresholdStanding {
    Failed,
    Failing,
    Holding,
    Unmeasured,
}

impl Progress {
    pub fn new(plan: &TestPlan) -> Self {
        Self {
            name: plan.name.clone(),
            planned_ns: plan.load.duration_ns().filter(|ns| *ns > 0),
            open: plan.load.leaves().iter().map(|leaf| leaf.profile.is_open()).collect(),
            recent: VecDeque::with_capacity(WINDOW),
            stage: String::new(),
            requests: 0,
            failed: 0,
            grade: None,
            worst_check: String::new(),
            thresholds: Vec::new(),
        }
    }

    /// Adds one second, merged over all workers.
    pub fn push(&mut self, slice: &Snapshot) {
        let step = TimelineStep::of(slice, &self.open);
        self.requests += step.requests();
        self.failed += step.failed();
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(step);
        let stage = slice
            .marks
            .iter()
            .rfind(|mark| matches!(mark.kind, MarkKind::Stage | MarkKind::LeafBegan | MarkKind::LoadEnded | MarkKind::Stopped));
        if let Some(mark) = stage {
            self.stage.clone_from(&mark.text);
        }
    }

    /// Updates validity and thresholds with the seconds so far.
    pub fn judge(&mut self, validity: &Validity, thresholds: &[ThresholdResult]) {
        self.grade = Some(validity.grade);
        let worst = validity.checks.iter().find(|check| check.grade == Some(validity.grade) && validity.grade > Grade::Valid);
        self.worst_check = worst.map_or_else(String::new, |check| format!("{}: {}", check.title, check.evidence));
        self.thresholds = thresholds.iter().map(ThresholdProgress::of).collect();
        self.thresholds.sort_by_key(|threshold| threshold.standing);
    }

    /// A block of at most seven lines, plus one for each of the first few thresholds. No line is wider than the terminal. `elapsed` is the time on
    /// the run's clock.
    pub fn block(&self, elapsed: Nanos, style: &Style) -> Vec<String> {
        let window = self.window();
        let mut lines = vec![self.bar(elapsed, style)];
        lines.push(labelled("rate", &self.rates(&window), style));
        lines.push(labelled("response", &format!("{}   (last {WINDOW} s)", percentiles(&window.response)), style));
        lines.push(labelled("users", &format!("{} · {}", self.users(), self.failures()), style));
        if !window.flows.is_empty() {
            lines.push(labelled("flows", &self.flows(&window).join("   "), style));
        }
        if let Some(grade) = self.grade {
            let (sign, word, paint) = grade_sign(grade);
            let head = cut(&format!("{sign} {word} so far"), style.width.saturating_sub(LABEL));
            let rest = if self.worst_check.is_empty() { String::new() } else { format!(" · {}", self.worst_check) };
            let rest = cut(&rest, style.width.saturating_sub(LABEL + width_of(&head)));
            lines.push(format!("{}{}{rest}", label("validity", style), style.paint(paint, &head)));
        }
        if !self.thresholds.is_empty() {
            lines.push(self.threshold_line(style));
            lines.extend(self.thresholds.iter().take(THRESHOLDS_MAX).map(|threshold| threshold.line(style)));
        }
        lines
    }

    /// The state on one line, without control codes. It may be longer than the terminal is wide.
    pub fn line(&self, elapsed: Nanos) -> String {
        let window = self.window();
        let mut parts = vec![self.clock(elapsed), self.rates(&window), self.users(), percentiles(&window.response), self.failures()];
        parts.extend(self.flows(&window));
        parts.extend(self.grade.map(|grade| grade_sign(grade).1.to_owned()));
        for (standing, word) in [(ThresholdStanding::Failed, "failed"), (ThresholdStanding::Failing, "failing so far")] {
            let count = self.thresholds.iter().filter(|threshold| threshold.standing == standing).count();
            if count > 0 {
                parts.push(format!("{} {word}", loadstone_units::counted(count as u64, "threshold")));
            }
        }
        parts.join(" · ")
    }

    fn window(&self) -> TimelineStep {
        self.recent.iter().fold(TimelineStep::default(), |mut sum, step| {
            sum.merge(step.clone());
            sum
        })
    }

    fn clock(&self, elapsed: Nanos) -> String {
        match self.planned_ns {
            Some(planned) => format!("{} / {}", clock(elapsed), clock(planned)),
            None => clock(elapsed),
        }
    }

    fn bar(&self, elapsed: Nanos, style: &Style) -> String {
        let time = self.clock(elapsed);
        let bar_width = if self.planned_ns.is_some() && style.width >= 40 { (style.width / 4).min(24) } else { 0 };
        let text_width = style.width.saturating_sub(width_of(&time) + bar_width + 4);
        let name = if self.stage.is_empty() { self.name.clone() } else { format!("{} · {}", self.name, self.stage) };
        let name = shorten(&name, text_width);
        let padding = " ".repeat(text_width.saturating_sub(width_of(&name)) + 2);
        let Some(planned) = self.planned_ns.filter(|_| bar_width > 0) else {
            return format!("{}{padding}{time}", style.paint(Paint::Bold, &name));
        };
        let done = ((elapsed as f64 / planned as f64).min(1.0) * bar_width as f64).round() as usize;
        let bar = format!("{}{}", style.paint(Paint::Good, &"█".repeat(done)), style.paint(Paint::Dim, &"░".repeat(bar_width - done)));
        format!("{}{padding}{bar}  {time}", style.paint(Paint::Bold, &name))
    }

    fn rates(&self, window: &TimelineStep) -> String {
        let rate = |count: u64| window.rate(count).map_or_else(|| loadstone_units::NONE.to_owned(), loadstone_units::rate);
        let requests = format!("{} requests", rate(window.requests()));
        // A later part of a sequence may be closed load.
        let is_closed = !self.recent.is_empty() && window.arrivals_due + window.arrivals_started == 0;
        if is_closed || !self.open.contains(&true) {
            return requests;
        }
        format!("{} asked, {} started, {requests}", rate(window.arrivals_due), rate(window.arrivals_started))
    }

    fn users(&self) -> String {
        let users = self.recent.back().map(|step| step.users).unwrap_or_default();
        let mut text = loadstone_units::counted(users.active, "user");
        // With parallel open load, the active users include more than those that the closed profile plans.
        if !self.open.contains(&true) && users.asked != users.active {
            text.push_str(&format!(" of {} asked", loadstone_units::count(users.asked)));
        }
        if users.waiting > 0 {
            text.push_str(&format!(" · {} waiting", loadstone_units::counted(users.waiting, "arrival")));
        }
        text
    }

    /// `Time to send: 312 open, oldest 12.3 s, finishing 15.0/s`. Levels are those of the last second.
    fn flows(&self, window: &TimelineStep) -> Vec<String> {
        let last = self.recent.back();
        let flow = |flow: &TimelineFlow| {
            let now = last.and_then(|step| step.flows.iter().find(|now| now.name == flow.name)).unwrap_or(flow);
            let oldest =
                if now.backlog > 0 { format!(", oldest {}", loadstone_units::seconds(now.oldest_ns as f64 / 1e9)) } else { String::new() };
            let rate = window.rate(flow.finished).map_or_else(String::new, |rate| format!(", finishing {}", loadstone_units::rate(rate)));
            format!("{}: {} open{oldest}{rate}", flow.name, loadstone_units::count(now.backlog))
        };
        window.flows.iter().map(flow).collect()
    }

    fn failures(&self) -> String {
        let share = if self.requests == 0 { 0.0 } else { self.failed as f64 / self.requests as f64 };
        format!("{} failed ({})", loadstone_units::count(self.failed), loadstone_units::share(share))
    }

    fn threshold_line(&self, style: &Style) -> String {
        let count = |wanted: ThresholdStanding| self.thresholds.iter().filter(|threshold| threshold.standing == wanted).count();
        let parts = [ThresholdStanding::Holding, ThresholdStanding::Unmeasured, ThresholdStanding::Failing, ThresholdStanding::Failed].map(
            |standing| {
                let (sign, word, paint) = standing.sign();
                (sign, word, paint, count(standing))
            },
        );
        let mut line = label("thresholds", style);
        let mut used = LABEL;
        for (sign, word, paint, number) in parts.into_iter().filter(|(.., number)| *number > 0) {
            let gap = if used > LABEL { "  " } else { "" };
            let text = cut(&format!("{gap}{sign} {number} {word}"), style.width.saturating_sub(used));
            used += width_of(&text);
            line.push_str(&style.paint(paint, &text));
        }
        line
    }
}

/// Number of thresholds with their own line, the worst first.
const THRESHOLDS_MAX: usize = 4;

impl ThresholdProgress {
    fn of(result: &ThresholdResult) -> Self {
        let standing = match result.state {
            ThresholdState::Failed | ThresholdState::NoData => ThresholdStanding::Failed,
            _ if result.failing => ThresholdStanding::Failing,
            _ if result.measured.is_some() => ThresholdStanding::Holding,
            _ => ThresholdStanding::Unmeasured,
        };
        let value = if result.measured.is_some() { result.reading.clone() } else { String::new() };
        Self { standing, label: result.threshold.label.clone(), value }
    }

    fn line(&self, style: &Style) -> String {
        let (sign, _, paint) = self.standing.sign();
        let indent = " ".repeat(LABEL);
        // The value is first: a narrow terminal cuts off the end.
        let value = if self.value.is_empty() { String::new() } else { format!("{} · ", self.value) };
        let text = cut(&format!(" {value}{}", self.label), style.width.saturating_sub(LABEL + 1));
        format!("{indent}{}{text}", style.paint(paint, sign))
    }
}

impl ThresholdStanding {
    fn sign(self) -> (&'static str, &'static str, Paint) {
        match self {
            ThresholdStanding::Failed => ("✗", "failed", Paint::Bad),
            ThresholdStanding::Failing => ("!", "failing so far", Paint::Warning),
            ThresholdStanding::Holding => ("✓", "holding", Paint::Good),
            ThresholdStanding::Unmeasured => ("…", "open", Paint::Dim),
        }
    }
}

/// Width of the labels. Columns.
const LABEL: usize = 12;

fn label(text: &str, style: &Style) -> String {
    style.paint(Paint::Dim, &format!("{text:<LABEL$}"))
}

fn labelled(name: &str, text: &str, style: &Style) -> String {
    format!("{}{}", label(name, style), cut(text, style.width.saturating_sub(LABEL)))
}

/// Percentiles with at least one expected value beyond them.
fn percentiles(times: &Histogram) -> String {
    let at = |quantile| loadstone_units::seconds_or_none(percentile(times, quantile));
    format!("p50 {} · p95 {} · p99 {}", at(0.5), at(0.95), at(0.99))
}

/// `0:32`, `1:02:05`.
pub(super) fn clock(ns: Nanos) -> String {
    let seconds = ns / 1_000_000_000;
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if h > 0 { format!("{h}:{m:02}:{s:02}") } else { format!("{m}:{s:02}") }
}
