//! The requests' own series that findings rest on, so that a picture draws the numbers of its sentence. Read [`of`] first.
//!
//! Requests that a sentence names together are merged before a percentile or a rate is read.

use loadstone_analysis::{Evidence, Finding, RequestNames};
use loadstone_metrics::{Histogram, Outcome};

use super::bins;
use super::digest::PERCENTILES;
use super::panels::{PHASES, outcome_id};
use super::requests::{RequestLines, RequestStep};
use super::{column, percentile_columns, shorten};
use crate::view::{ChartColumn, EvidenceCharts, Panel, ReportView};

/// Id, title and unit of the panels. A column belongs to the panel with its prefix.
const PANELS: [(&str, &str, &str); 6] = [
    ("rate", "Rate", "/s"),
    ("failures/share", "Share of failed requests", "share"),
    ("failures", "Failures", "/s"),
    ("service", "Service time", "s"),
    ("response", "Response time", "s"),
    ("phases", "Mean time per request, by phase", "s"),
];

/// The charts of each finding's evidence.
pub(crate) fn of(lines: &RequestLines, findings: &[Finding]) -> Vec<Vec<EvidenceCharts>> {
    let charts = |finding: &Finding| finding.evidence.iter().map(|evidence| of_evidence(lines, evidence)).collect();
    findings.iter().map(charts).collect()
}

/// Adds the parts of a request's time that its evidence names. The charts of requests have them only once all traces are read.
pub(crate) fn add_spans(view: &mut ReportView) {
    let names = RequestNames::of(view.summary.requests.iter().map(|row| &row.key));
    let findings = &view.summary.verdict.findings.findings;
    for (finding, charts) in findings.iter().zip(&mut view.evidence_charts) {
        for (evidence, drawn) in finding.evidence.iter().zip(charts) {
            let [name] = evidence.requests.as_slice() else { continue };
            let row = view.summary.requests.iter().position(|row| *names.shown(&row.key) == **name);
            let Some(of_request) = row.and_then(|row| view.request_charts.get(row)) else { continue };
            let Some(spans) = of_request.panels.iter().find(|panel| panel.id == "spans") else { continue };
            let columns: Vec<ChartColumn> = spans.columns.iter().filter(|column| evidence.series.contains(&column.id)).cloned().collect();
            if !columns.is_empty() {
                drawn.panels.push(Panel { columns, stacked: false, ..spans.clone() });
            }
        }
    }
}

fn of_evidence(lines: &RequestLines, evidence: &Evidence) -> EvidenceCharts {
    let step_seconds = f64::from(lines.step_seconds);
    if evidence.requests.is_empty() {
        return EvidenceCharts { step_seconds, panels: Vec::new(), distribution: Vec::new() };
    }
    let own = OwnSeries::of(lines, evidence);
    let mut panels: Vec<Panel> = Vec::new();
    for id in &evidence.series {
        let Some(mut drawn) = own.column(id) else { continue };
        shorten(&mut drawn);
        let prefix = PANELS.iter().find(|(prefix, ..)| id.starts_with(prefix));
        let Some((prefix, title, unit)) = prefix else { continue };
        match panels.iter_mut().find(|panel| panel.id == *prefix) {
            Some(panel) => panel.columns.push(drawn),
            None => panels.push(Panel {
                id: (*prefix).to_owned(),
                title: (*title).to_owned(),
                unit: (*unit).to_owned(),
                stacked: false,
                columns: vec![drawn],
            }),
        }
    }
    let is_marked = evidence.lines.iter().any(|line| line.series == "distribution");
    let distribution = if is_marked { bins::distribution(&own.all()) } else { Vec::new() };
    EvidenceCharts { step_seconds, panels, distribution }
}

/// The merged steps of some requests.
struct OwnSeries<'a> {
    steps: Vec<RequestStep>,
    covered_ns: &'a [u64],
    step_seconds: u32,
    /// Ids of the columns that are drawn together.
    drawn: &'a [String],
}

impl<'a> OwnSeries<'a> {
    fn of(lines: &'a RequestLines, evidence: &'a Evidence) -> Self {
        let mut steps = vec![RequestStep::default(); lines.covered_ns.len()];
        let names = RequestNames::of(lines.series.keys());
        for (_, line) in lines.series.iter().filter(|(key, _)| evidence.requests.iter().any(|name| *name == *names.shown(key))) {
            steps.iter_mut().zip(line).for_each(|(mine, theirs)| mine.merge(theirs));
        }
        Self { steps, covered_ns: &lines.covered_ns, step_seconds: lines.step_seconds, drawn: &evidence.series }
    }

    fn all(&self) -> Histogram {
        self.steps.iter().fold(Histogram::new(), |mut all, step| {
            all.merge(&step.response);
            all
        })
    }

    /// `None`: requests have no series of this id.
    fn column(&self, id: &str) -> Option<ChartColumn> {
        let (panel, part) = id.split_once('/')?;
        match (panel, part) {
            ("rate", "requests") => Some(self.rate(id, "requests", RequestStep::requests)),
            ("rate", "failures") => Some(self.rate(id, "failed", RequestStep::failed)),
            ("rate", "passed") => Some(self.rate(id, "passed", |step| step.requests() - step.failed())),
            ("failures", "share") => {
                let share = |step: &RequestStep| (step.requests() > 0).then(|| step.failed() as f64 / step.requests() as f64);
                Some(column(id, "failed", self.steps.iter().map(share)))
            }
            ("failures", kind) => {
                let outcome = self.outcome(kind)?;
                Some(self.rate(id, outcome.label(), |step| step.failed_as(outcome)))
            }
            ("service", "mean") => {
                let mean = |step: &RequestStep| {
                    let times = step.service();
                    (!times.is_empty()).then(|| times.sum() as f64 / 1e9 / times.count() as f64)
                };
                Some(column(id, "mean", self.steps.iter().map(mean)))
            }
            ("service", _) => self.percentile(id, RequestStep::service),
            ("response", "max") => {
                let max = |step: &RequestStep| (!step.response.is_empty()).then(|| step.response.max() as f64 / 1e9);
                Some(column(id, "max", self.steps.iter().map(max)))
            }
            ("response", _) => self.percentile(id, |step| &step.response),
            ("phases", phase) => {
                let index = PHASES.iter().position(|(known, _)| *known == phase)?;
                let each = |step: &RequestStep| {
                    (!step.response.is_empty()).then(|| step.phase_ns[index] as f64 / 1e9 / step.response.count() as f64)
                };
                Some(column(id, PHASES[index].1, self.steps.iter().map(each)))
            }
            _ => None,
        }
    }

    fn outcome(&self, kind: &str) -> Option<Outcome> {
        self.steps.iter().flat_map(RequestStep::outcomes).find(|outcome| outcome_id(*outcome) == kind)
    }

    fn rate(&self, id: &str, label: &str, count: impl Fn(&RequestStep) -> u64) -> ChartColumn {
        let each = self.steps.iter().zip(self.covered_ns);
        column(id, label, each.map(|(step, covered)| (*covered > 0).then(|| count(step) as f64 / (*covered as f64 / 1e9))))
    }

    /// Percentiles that are drawn together have pools in which their ranks are in order.
    fn percentile(&self, id: &str, times: impl Fn(&RequestStep) -> &Histogram) -> Option<ChartColumn> {
        let (prefix, _) = id.split_once('/')?;
        let is_drawn = |(name, _): &(&str, f64)| self.drawn.contains(&format!("{prefix}/{name}"));
        let ranks: Vec<(&str, f64)> = PERCENTILES.into_iter().filter(is_drawn).collect();
        let times: Vec<&Histogram> = self.steps.iter().map(times).collect();
        percentile_columns(prefix, &ranks, &times, self.step_seconds, |_| None).into_iter().find(|column| column.id == id)
    }
}
