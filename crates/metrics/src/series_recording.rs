//! Records samples in their series.

use crate::histogram::Histogram;
use crate::outcome::Outcome;
use crate::sample::Sample;
use crate::snapshot::{SeriesSlice, add_to};

impl SeriesSlice {
    pub(crate) fn record(&mut self, sample: &Sample) {
        let response_ns = sample.response_ns();
        if sample.outcome == Outcome::Interrupted {
            add_to(&mut self.outcomes, Outcome::Interrupted, 1);
            self.censored.record(response_ns);
            self.service_censored.record(sample.service_ns());
            return;
        }
        add_to(&mut self.outcomes, sample.outcome, 1);
        if sample.outcome == Outcome::Unsendable {
            return;
        }
        self.count += 1;
        if sample.outcome.is_unsent() {
            self.failed += 1;
            return;
        }
        if sample.status != 0 {
            add_to(&mut self.statuses, sample.status, 1);
        }
        self.response.record(response_ns);
        self.service.record(sample.service_ns());
        if sample.scheduled != sample.started {
            self.lag.record(sample.lag_ns());
        }
        self.phases.record(&sample.phases);
        self.bytes_sent += sample.bytes_sent;
        self.bytes_received += sample.bytes_received;
        self.retried += u64::from(sample.retried);
        if sample.outcome != Outcome::Passed {
            self.failed += 1;
            self.failed_response.record(response_ns);
            if sample.outcome == Outcome::Timeout {
                self.censored.record(response_ns);
                self.service_timed_out.record(sample.service_ns());
                self.service_censored.record(sample.service_ns());
            }
        }
    }

    pub(crate) fn check(&mut self, passed: bool) {
        self.count += 1;
        self.failed += u64::from(!passed);
        add_to(&mut self.outcomes, if passed { Outcome::Passed } else { Outcome::Expect }, 1);
    }

    /// Returns a packed copy of the accumulated values. The histograms keep their memory for the next slice.
    pub(crate) fn take(&mut self) -> SeriesSlice {
        let taken = SeriesSlice {
            key: self.key.clone(),
            count: std::mem::take(&mut self.count),
            failed: std::mem::take(&mut self.failed),
            outcomes: std::mem::take(&mut self.outcomes),
            statuses: std::mem::take(&mut self.statuses),
            response: self.response.to_packed(),
            service: self.service.to_packed(),
            lag: self.lag.to_packed(),
            failed_response: self.failed_response.to_packed(),
            censored: self.censored.to_packed(),
            phases: self.phases.to_packed(),
            bytes_sent: std::mem::take(&mut self.bytes_sent),
            bytes_received: std::mem::take(&mut self.bytes_received),
            retried: std::mem::take(&mut self.retried),
            service_timed_out: self.service_timed_out.to_packed(),
            service_censored: self.service_censored.to_packed(),
            script_errors: std::mem::take(&mut self.script_errors),
        };
        self.histograms().into_iter().for_each(Histogram::clear);
        taken
    }
}
