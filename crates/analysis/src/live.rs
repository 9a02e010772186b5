//! A run in progress: numbers for a progress line, thresholds and validity, at low cost.

use std::collections::VecDeque;

use loadstone_metrics::{Histogram, SeriesKind, SignalNotice, Snapshot};
use loadstone_plan::TestPlan;
use loadstone_run_directory::{AgentInfo, HostFacts, RunInfo, SignalSeries};

use crate::censored::CensoredTimes;
use crate::percentile::stats;
use crate::summary::{Conclusions, Numbers};
use crate::thresholds::{ThresholdFailure, Thresholds};
use crate::uncertainty::{self, UncertaintyTally};
use crate::validity::{self, CheckInput, RunStage};
use crate::{Findings, Grade, RunTally, RunTotals, Summary, ThresholdResult, TimeStats, Validity, Verdict};

/// Follows a run slice by slice. The cost of a push depends on the slice, not on the length of the run.
#[derive(Debug)]
pub struct LiveAnalysis {
    plan: TestPlan,
    host: HostFacts,
    agents: Vec<AgentInfo>,
    tally: RunTally,
    uncertainties: UncertaintyTally,
    thresholds: Thresholds,
    notices: Vec<SignalNotice>,
    recent: VecDeque<Recent>,
}

/// Response times in a progress line. Seconds; nearest rank, regardless of the number of samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LiveTimes {
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
}

/// The content of a progress line.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveStatus {
    /// End of the last slice. Seconds since the run began.
    pub seconds: f64,
    /// Open load, over the last seconds: arrivals per second that were due, and that started. `None` without open load.
    pub rate_asked: Option<f64>,
    pub rate_achieved: Option<f64>,
    /// Requests ended per second, over the last seconds.
    pub request_rate: f64,
    /// At the end of the last slice.
    pub users_active: u64,
    /// Closed load: users that the profile asks for. 0 without closed load.
    pub users_asked: u64,
    /// Arrivals that wait for a free user.
    pub waiting: u64,
    pub recent: LiveTimes,
    pub whole: LiveTimes,
    /// Failed share of the requests of the last seconds, 0 to 1.
    pub failure_share: f64,
    pub totals: RunTotals,
    /// The worst grade of the checks that can be judged so far.
    pub grade: Grade,
    pub thresholds: Vec<ThresholdResult>,
}

#[derive(Debug)]
struct Recent {
    response: Histogram,
    requests: u64,
    failed: u64,
    due: u64,
    started: u64,
    seconds: f64,
}

impl LiveAnalysis {
    /// Number of slices in "the last seconds".
    pub const RECENT: usize = 5;

    pub fn new(plan: &TestPlan, host: &HostFacts) -> Self {
        Self {
            plan: plan.clone(),
            host: host.clone(),
            agents: Vec::new(),
            tally: RunTally::default(),
            uncertainties: UncertaintyTally::new(plan),
            thresholds: Thresholds::new(&plan.thresholds),
            notices: Vec::new(),
            recent: VecDeque::new(),
        }
    }

    /// Sets the agents of a run over a fleet.
    #[must_use]
    pub fn over(self, agents: Vec<AgentInfo>) -> Self {
        Self { agents, ..self }
    }

    /// Takes one merged slice. Returns thresholds that have just become certain to fail. A failed threshold with `abort` stops the run.
    pub fn push(&mut self, slice: &Snapshot) -> Vec<ThresholdFailure> {
        let mut recent = Recent {
            response: Histogram::new(),
            requests: 0,
            failed: 0,
            due: slice.leaves.iter().map(|leaf| leaf.arrivals_due).sum(),
            started: slice.leaves.iter().filter(|leaf| self.is_open(leaf.leaf)).map(|leaf| leaf.started).sum(),
            seconds: slice.end.saturating_sub(slice.start) as f64 / 1e9,
        };
        for series in slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request) {
            recent.response.merge(&series.response);
            recent.requests += series.count;
            recent.failed += series.failed;
        }
        if self.recent.len() == Self::RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(recent);
        self.tally.push(slice);
        self.uncertainties.push(slice);
        self.thresholds.push(slice)
    }

    /// Takes readings. Returns thresholds that have just become certain to fail, as [`LiveAnalysis::push`] does.
    pub fn push_signals(&mut self, batch: &[SignalSeries]) -> Vec<ThresholdFailure> {
        self.thresholds.push_signals(batch)
    }

    pub fn push_notice(&mut self, notice: &SignalNotice) {
        self.notices.push(notice.clone());
    }

    pub fn tally(&self) -> &RunTally {
        &self.tally
    }

    /// The checks that can be judged so far.
    pub fn validity(&self) -> Validity {
        let response = self.response();
        let input = CheckInput {
            plan: &self.plan,
            host: &self.host,
            agents: &self.agents,
            tally: &self.tally,
            notices: &self.notices,
            response: &response,
            threshold_samples: &self.thresholds.samples(),
            judged: &uncertainty::judged_percentiles(&self.tally, &self.uncertainties),
            thresholds: &[],
            undecided: &[],
            accepts_late: false,
            stage: RunStage::Running,
        };
        validity::judge(&input)
    }

    pub fn status(&self) -> LiveStatus {
        let sum = |of: fn(&Recent) -> u64| self.recent.iter().map(of).sum::<u64>();
        let seconds: f64 = self.recent.iter().map(|recent| recent.seconds).sum();
        let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let mut response = Histogram::new();
        self.recent.iter().for_each(|recent| response.merge(&recent.response));
        let is_open = self.plan.load.leaves().iter().any(|leaf| leaf.profile.is_open());
        let requests = sum(|recent| recent.requests);
        let leaves = self.tally.leaves();
        LiveStatus {
            seconds: self.tally.duration_seconds(),
            rate_asked: is_open.then(|| per_second(sum(|recent| recent.due))),
            rate_achieved: is_open.then(|| per_second(sum(|recent| recent.started))),
            request_rate: per_second(requests),
            users_active: leaves.iter().map(|leaf| leaf.users_active).sum(),
            users_asked: leaves.iter().map(|leaf| leaf.users_asked).sum(),
            waiting: leaves.iter().map(|leaf| leaf.waiting).sum(),
            recent: LiveTimes::of(&response),
            whole: self.tally.together(SeriesKind::Request).map_or_else(LiveTimes::default, |all| LiveTimes::of(&all.response)),
            failure_share: if requests > 0 { sum(|recent| recent.failed) as f64 / requests as f64 } else { 0.0 },
            totals: crate::summary::totals(&self.tally),
            grade: self.validity().grade,
            thresholds: self.thresholds.so_far(),
        }
    }

    /// All numbers so far, for a page that shows the run in progress. Without intervals, which need the whole run, and without findings:
    /// see [`Provisional`](crate::Provisional).
    pub fn summary(&self, info: &RunInfo) -> Summary {
        let findings = Findings { findings: Vec::new(), remark: crate::Remark::so_far() };
        let verdict = Verdict { validity: self.validity(), thresholds: self.thresholds.so_far(), findings };
        let mut numbers = Numbers::so_far(&self.tally);
        uncertainty::mark_numbers(&mut numbers, &self.tally, &self.uncertainties);
        numbers.into_summary(
            info,
            &self.plan,
            Conclusions {
                signals: Vec::new(),
                changes: Vec::new(),
                resources: Vec::new(),
                spans: Vec::new(),
                profiles: Vec::new(),
                verdict,
            },
        )
    }

    fn response(&self) -> TimeStats {
        let all = self.tally.together(SeriesKind::Request);
        all.map_or_else(TimeStats::default, |all| stats(CensoredTimes::response(&all), |_| (None, None)))
    }

    fn is_open(&self, leaf: u32) -> bool {
        self.plan.load.leaves().get(leaf as usize).is_some_and(|run| run.profile.is_open())
    }
}

impl LiveTimes {
    fn of(histogram: &Histogram) -> Self {
        let at = |quantile| histogram.quantile(quantile).map(|ns| ns as f64 / 1e9);
        Self { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
    }
}
