//! The JVM: waits of its threads and their position, and its collectors, from the sources of `jcmd` and `jstat`.
//!
//! Read [`dump`] first. A dump stops all threads for a few milliseconds; dumps take at most 2 % of the time.

mod attach;
mod counters;
mod dump;
mod error;
mod packages;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing {
    use super::dump::{JavaSamples, add_to};
    use super::{FunctionSamples, ThreadSamples, ThreadTimes};

    pub(in crate::kinds) fn counters(input: &[u8]) {
        super::counters::put_any(input);
    }

    /// Twice, because CPU times are differences.
    pub(in crate::kinds) fn dump(text: &str) {
        let (threads, functions) = (ThreadSamples::of("threads"), FunctionSamples::at(20.0));
        let mut samples = JavaSamples { threads, functions, times: ThreadTimes::default() };
        for now_ns in [1_000_000_000, 1_050_000_000] {
            add_to(&mut samples, text, now_ns);
        }
    }
}
mod thread_times;

use loadstone_metrics::NoticeKind;
use loadstone_metrics::clock::Monotonic;

use super::process::which::{PID, PORT, Which};
use crate::collector::SignalCollector;
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::kind::{MacSupport, ObserverKind};
use crate::option::{ObserverOption, OptionValue};
use crate::pace::{SAMPLE_HZ, SamplingPace};
use crate::reader::{PendingRead, SignalReader};
use crate::stacks::functions::FunctionSamples;
use crate::stacks::threads::ThreadSamples;
use attach::Jvm;
use dump::JavaSamples;
use error::JvmError;
use thread_times::ThreadTimes;

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "jvm",
    watches: "a service on the JVM",
    example: "observe.jvm({ port: 8080 })",
    alternatives: ", by `pid`, or by the `name` of its command",
    reports: "`threads{wait=…,threads=…,at=…,under=…}` (threads at work by what they wait for, and where), `function_cpu{…}`, `gc`, `stopped`, \
            `heap_old`",
    options: &[
        PORT,
        PID,
        ObserverOption {
            name: SAMPLE_HZ.name,
            takes: OptionValue::WholeNumber { max: 20, default: Some(4) },
            help: "stack samples per second; fewer if they would take more than 2 % of the time",
        },
    ],
    on_macos: MacSupport::Refused(
        "the JVM's attach files and counters are read through /proc; use `observe.process`, or observe the JVM on Linux",
    ),
    make: |description| Ok(Box::new(Java::from_description(description)?)),
};

/// Maximum share of the time that dumps may take.
const SHARE_MAX: f64 = 0.02;

struct Java {
    which: Which,
    pace: SamplingPace,
    clock: Monotonic,
    /// No dump before then.
    rests_until: u64,
    jvm: Option<Jvm>,
    /// The process for which the notice "the busiest of several" was sent.
    notified_of: Option<u32>,
    samples: JavaSamples,
}

impl SignalReader for Java {
    fn default_name(&self, given: Option<&str>) -> Option<String> {
        self.which.default_name(KIND.name, given)
    }

    fn period_ns(&self, _every_ns: u64) -> u64 {
        self.pace.period_ns()
    }

    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async { Ok(self.look(out).await?) })
    }

    fn reset(&mut self) {
        self.jvm = None;
        self.pace.reset();
        self.samples.threads.reset();
        self.samples.functions.reset();
        self.samples.times.reset();
    }
}

impl Java {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        Ok(Self {
            which: Which::from_description(description)?,
            pace: SamplingPace::from_description(description),
            clock: Monotonic::start(),
            rests_until: 0,
            jvm: None,
            notified_of: None,
            samples: JavaSamples {
                threads: ThreadSamples::of("threads"),
                functions: FunctionSamples::at(f64::from(description.whole_number(SAMPLE_HZ.name).unwrap_or(1))),
                times: ThreadTimes::default(),
            },
        })
    }

    /// # Errors
    /// When there is no JVM that accepts commands.
    async fn look(&mut self, out: &mut SignalCollector) -> Result<(), JvmError> {
        let look = self.pace.begin();
        if self.jvm.is_none() {
            let (pid, count) = self.which.runtime("a JVM", attach::is_jvm)?;
            if count > 1 && self.notified_of.replace(pid) != Some(pid) {
                out.notice(NoticeKind::Remark, format!("observes process {pid}, the busiest of {count} JVMs"));
            }
            self.jvm = Some(Jvm::attach(pid).await?);
        }
        let Some(jvm) = &self.jvm else { return Ok(()) };
        let begin = self.clock.now();
        if begin >= self.rests_until {
            dump::add_to(&mut self.samples, &jvm.command("Thread.print").await?, begin);
            let took = self.clock.now() - begin;
            self.rests_until = begin + (took as f64 / SHARE_MAX) as u64;
        }
        if look.is_report {
            self.samples.threads.report(out);
            self.samples.functions.report(out);
            counters::read(jvm.pid, jvm.number_inside, out);
        }
        self.pace.end(&look, out);
        Ok(())
    }
}
