//! The observer: finds the threads, empties their rings, and reports functions by name.

use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{NoticeKind, unit};

use super::error::NativeError;
use super::event::ThreadSampling;
use super::records::Record;
use super::samples::NativeSamples;
use super::threads::{SampledThreads, THREADS_MAX};
use crate::collector::{MetricSpec, SignalCollector};
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::kinds::process::find::ProcessTable;
use crate::kinds::process::system;
use crate::kinds::process::which::{NoProcess, Which};
use crate::pace::SamplingPace;
use crate::reader::{PendingRead, SignalReader};
use crate::stacks::functions::FunctionSamples;

/// As in the kind.
const NAME: &str = "native";

const SAMPLES: MetricSpec<'_> = MetricSpec::counter("samples", unit::COUNT, "Stacks that were sampled");
const LOST: MetricSpec<'_> = MetricSpec::counter("lost", unit::COUNT, "Samples lost because a buffer was full");
const SAMPLED: MetricSpec<'_> = MetricSpec::gauge("sampled_threads", unit::COUNT, "Threads that are being sampled");

/// Samples that a function needs before it is reported by name.
const SAMPLES_MIN: f64 = 3.0;
/// Time between two reads of the rings. Nanoseconds.
const LOOK_NS: u64 = 200_000_000;
/// Pages of a ring, normally and above a hundred samples per second: enough for one interval's samples of the deepest stacks.
const PAGES: usize = 4;
const PAGES_OFTEN: usize = 8;
/// After this many reports, the observer looks up again which processes listen on the port, which reads all descriptors of all processes. In between, it
/// follows only the descendants of the processes that it found.
const FIND_EVERY: u64 = 5;
/// How long a report may wait for names; after that, it is added to the next report.
const NAMES_WAIT: Duration = Duration::from_millis(300);

pub(super) struct Native {
    which: Which,
    pace: SamplingPace,
    clock: Monotonic,
    /// CPU time that a sample stands for. Seconds.
    sample_seconds: f64,
    processes: Vec<u32>,
    threads: SampledThreads,
    samples: NativeSamples,
    functions: FunctionSamples,
    /// When the rings were last emptied. Nanoseconds.
    taken_at: Option<u64>,
    /// Whether the notice about excluded threads was sent.
    left_out_reported: bool,
    reports: u64,
    count: u64,
    lost: u64,
}

impl SignalReader for Native {
    fn default_name(&self, given: Option<&str>) -> Option<String> {
        self.which.default_name(NAME, given)
    }

    fn period_ns(&self, _every_ns: u64) -> u64 {
        self.pace.period_ns()
    }

    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async { Ok(self.look(out).await?) })
    }

    fn reset(&mut self) {
        self.pace.reset();
        self.processes.clear();
        self.threads.clear();
        self.samples.reset();
        self.functions.reset();
        self.taken_at = None;
    }
}

impl Native {
    pub(super) fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        let hz = description.whole_number("profileHz").unwrap_or(1);
        let pages = if hz > 100 { PAGES_OFTEN } else { PAGES };
        let sampling = ThreadSampling { period_ns: 1_000_000_000 / u64::from(hz), has_kernel: true, pages };
        Ok(Self {
            which: Which::from_description(description)?,
            pace: SamplingPace::every(LOOK_NS, description),
            clock: Monotonic::start(),
            sample_seconds: 1.0 / f64::from(hz),
            processes: Vec::new(),
            threads: SampledThreads::new(sampling),
            samples: NativeSamples::default(),
            functions: FunctionSamples::at(f64::from(hz)).proven_by(SAMPLES_MIN / f64::from(hz)),
            taken_at: None,
            left_out_reported: false,
            reports: 0,
            count: 0,
            lost: 0,
        })
    }

    /// # Errors
    /// When there is no such process, or none of its threads may be sampled.
    async fn look(&mut self, out: &mut SignalCollector) -> Result<(), NativeError> {
        let look = self.pace.begin();
        self.take();
        if look.is_report {
            self.report(out).await;
            self.find()?;
        }
        self.threads.find(&self.processes)?;
        self.taken_at.get_or_insert_with(|| self.clock.now());
        if self.threads.left_out > 0 && !std::mem::replace(&mut self.left_out_reported, true) {
            let (count, others) = (self.threads.count(), self.threads.left_out);
            out.notice(
                NoticeKind::Remark,
                format!("samples {count} threads and excludes {others} others; the limit is {THREADS_MAX} threads"),
            );
        }
        self.pace.end(&look, out);
        Ok(())
    }

    /// The processes and their descendants.
    ///
    /// # Errors
    /// When there is no such process.
    fn find(&mut self) -> Result<(), NoProcess> {
        let table = ProcessTable::read();
        self.processes.retain(|pid| table.entry(*pid).is_some());
        if self.processes.is_empty() || self.reports.is_multiple_of(FIND_EVERY) {
            self.processes = self.which.pids(&table, &system::tcp().unwrap_or_default())?;
        } else {
            self.processes = table.with_descendants(&self.processes);
        }
        self.reports += 1;
        self.processes.sort_unstable();
        self.samples.know(&self.processes);
        Ok(())
    }

    /// Empties the rings.
    fn take(&mut self) {
        let Some(before) = self.taken_at else { return };
        let Self { threads, samples, count, lost, .. } = self;
        let mut overwritten = 0;
        let broken = threads.take(|bytes| {
            super::records::each(bytes, |record| match record {
                Record::Sample(sample) => {
                    *count += 1;
                    samples.add(&sample);
                }
                Record::Lost(more) => overwritten += more,
            });
        });
        *lost += overwritten + broken;
        let now = self.clock.now();
        self.functions.looked((now - before) as f64 / 1e9);
        self.taken_at = Some(now);
        self.samples.ask();
    }

    /// Samples whose names take longer are added to the next report, together with their seconds.
    async fn report(&mut self, out: &mut SignalCollector) {
        if tokio::time::timeout(NAMES_WAIT, self.samples.named()).await.is_err() {
            return;
        }
        // Samples that arrived during the look-up of others.
        self.samples.ask();
        if tokio::time::timeout(NAMES_WAIT, self.samples.named()).await.is_err() || !self.samples.is_named() {
            return;
        }
        self.samples.add_to(&mut self.functions, self.sample_seconds);
        self.functions.report(out);
        out.put(SAMPLES, self.count as f64);
        out.put(LOST, self.lost as f64);
        out.put(SAMPLED, self.threads.count() as f64);
    }
}
