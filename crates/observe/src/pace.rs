//! Sampling and reporting intervals, for sessions of a database and stacks of a runtime.

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::unit;

use crate::collector::{MetricSpec, SignalCollector};
use crate::description::ObserverDescription;
use crate::option::{ObserverOption, OptionValue};

pub(crate) const SAMPLE_HZ: ObserverOption =
    ObserverOption { name: "sampleHz", takes: OptionValue::WholeNumber { max: 50, default: Some(10) }, help: "session samples per second" };

const OBSERVER_SECONDS: MetricSpec<'_> =
    MetricSpec::counter("observer_seconds", unit::SECONDS, "Time that the observer's own queries took, measured at the client");

pub(crate) struct SamplingPace {
    every_ns: u64,
    sample_ns: u64,
    clock: Monotonic,
    reported_ns: Option<u64>,
    /// Time that the observer's queries took. Nanoseconds.
    spent_ns: u64,
}

/// One sample.
pub(crate) struct SamplingLook {
    begin_ns: u64,
    /// Whether a report follows this sample.
    pub(crate) is_report: bool,
}

impl SamplingPace {
    /// For a kind with the option [`SAMPLE_HZ`].
    pub(crate) fn from_description(description: &ObserverDescription<'_>) -> Self {
        let sample_hz = description.whole_number(SAMPLE_HZ.name).unwrap_or(1);
        Self::every(1_000_000_000 / u64::from(sample_hz), description)
    }

    /// With this interval in nanoseconds between two samples.
    pub(crate) fn every(sample_ns: u64, description: &ObserverDescription<'_>) -> Self {
        Self { every_ns: description.duration_ns("every"), sample_ns, clock: Monotonic::start(), reported_ns: None, spent_ns: 0 }
    }

    /// Nanoseconds between two samples.
    pub(crate) fn period_ns(&self) -> u64 {
        self.sample_ns.min(self.every_ns)
    }

    pub(crate) fn begin(&self) -> SamplingLook {
        let begin_ns = self.clock.now();
        // A report that is due between two samples belongs to the nearer one.
        let slack_ns = self.sample_ns / 2;
        let is_report = self.reported_ns.is_none_or(|reported| begin_ns - reported + slack_ns >= self.every_ns);
        SamplingLook { begin_ns, is_report }
    }

    /// Ends a successful sample.
    pub(crate) fn end(&mut self, look: &SamplingLook, out: &mut SignalCollector) {
        self.spent_ns += self.clock.now() - look.begin_ns;
        if look.is_report {
            self.reported_ns = Some(look.begin_ns);
            out.put(OBSERVER_SECONDS, self.spent_ns as f64 / 1e9);
        }
    }

    /// After a gap, the next sample reports.
    pub(crate) fn reset(&mut self) {
        self.reported_ns = None;
    }
}
