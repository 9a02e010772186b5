//! Python: waits of threads and their position, and use of the interpreter's lock, by py-spy, which reads the process's memory from outside.
//!
//! No code runs in the process and it is not stopped (`--nonblocking`). If its stacks change while they are read, that sample excludes the process.

mod dump;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing {
    use super::dump::{PythonThread, Sources, add_to};
    use super::{FunctionSamples, ThreadSamples};

    pub(in crate::kinds) fn dump(input: &[u8]) {
        let Ok(threads) = serde_json::from_slice::<Vec<PythonThread>>(input) else { return };
        add_to(&mut ThreadSamples::of("threads"), &mut FunctionSamples::at(20.0), &threads, &mut Sources::default());
    }
}
mod spy;

use futures_util::future::join_all;
use loadstone_metrics::{Role, unit};

use super::process::find::ProcessTable;
use super::process::system;
use super::process::system::program;
use super::process::which::{NoProcess, PID, PORT, Which};
use crate::collector::{MetricSpec, SignalCollector};
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::kind::{MacSupport, ObserverKind};
use crate::option::{ObserverOption, OptionValue};
use crate::pace::{SAMPLE_HZ, SamplingPace};
use crate::procfs::read;
use crate::reader::{PendingRead, SignalReader};
use crate::stacks::functions::FunctionSamples;
use crate::stacks::threads::ThreadSamples;
use dump::Sources;
use spy::PythonError;

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "python",
    watches: "a service in Python",
    example: "observe.python({ port: 8080 })",
    alternatives: ", by `pid`, or by the `name` of its command; with py-spy installed",
    reports: "`threads{wait=…,threads=…,at=…,under=…}` (threads at work by what they wait for, and where), `gil` (share of the time in which a thread had the \
            interpreter's lock), `function_cpu{…}`",
    options: &[
        PORT,
        PID,
        ObserverOption {
            name: SAMPLE_HZ.name,
            takes: OptionValue::WholeNumber { max: 10, default: Some(2) },
            help: "stack samples per second",
        },
    ],
    on_macos: MacSupport::Partial("py-spy needs root there"),
    make: |description| Ok(Box::new(Python::from_description(description)?)),
};

const GIL: MetricSpec<'_> =
    MetricSpec::gauge("gil", unit::COUNT, "Share of the processes at work in which a thread had the interpreter's lock, over the samples")
        .role(Role::InterpreterLock);
const PROCESSES: MetricSpec<'_> = MetricSpec::gauge("processes", unit::COUNT, "Sampled Python processes, mean over the samples");

/// Maximum number of sampled processes; more would be too expensive.
const PROCESSES_MAX: usize = 16;

struct Python {
    which: Which,
    pace: SamplingPace,
    samples: f64,
    seen: f64,
    at_work: f64,
    held: f64,
    threads: ThreadSamples,
    functions: FunctionSamples,
    sources: Sources,
}

impl SignalReader for Python {
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
        self.pace.reset();
        self.threads.reset();
        self.functions.reset();
        self.restart();
    }
}

/// Python itself, or a program with Python inside: uWSGI with its plugin, Apache with mod_wsgi. uWSGI may also have it compiled in.
fn is_python(pid: u32) -> bool {
    program(pid).is_some_and(|name| name.starts_with("python") || name == "uwsgi")
        || read(format!("/proc/{pid}/maps")).is_ok_and(|maps| has_python_library(&maps))
}

/// By the files that a process has in its memory.
fn has_python_library(maps: &str) -> bool {
    maps.lines().filter_map(|line| line.rsplit_once('/')).any(|(_, file)| file.starts_with("libpython"))
}

impl Python {
    fn restart(&mut self) {
        (self.samples, self.seen, self.at_work, self.held) = (0.0, 0.0, 0.0, 0.0);
    }

    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        Ok(Self {
            which: Which::from_description(description)?,
            pace: SamplingPace::from_description(description),
            samples: 0.0,
            seen: 0.0,
            at_work: 0.0,
            held: 0.0,
            threads: ThreadSamples::of("threads"),
            functions: FunctionSamples::at(f64::from(description.whole_number(SAMPLE_HZ.name).unwrap_or(1))),
            sources: Sources::default(),
        })
    }

    /// # Errors
    /// When there is no Python process, or py-spy may read none of them.
    async fn look(&mut self, out: &mut SignalCollector) -> Result<(), PythonError> {
        let look = self.pace.begin();
        let pids = self.which.pids(&ProcessTable::read(), &system::tcp().unwrap_or_default())?;
        let found: Vec<u32> = pids.iter().copied().filter(|pid| is_python(*pid)).take(PROCESSES_MAX).collect();
        if found.is_empty() {
            let problem = |program| NoProcess::Other { pid: pids[0], runtime: "Python", program };
            return Err(program(pids[0]).map_or(NoProcess::Rights(pids[0]), problem).into());
        }
        let (mut seen, mut problem) = (0.0, None);
        self.threads.begin_sample();
        for dumped in join_all(found.iter().map(|pid| spy::dump(*pid))).await {
            match dumped {
                Ok(threads) => {
                    seen += 1.0;
                    let sample = dump::add_to(&mut self.threads, &mut self.functions, &threads, &mut self.sources);
                    self.at_work += f64::from(u8::from(sample.is_at_work));
                    self.held += f64::from(u8::from(sample.has_lock));
                }
                Err(why) => problem = Some(why),
            }
        }
        // If only some of the processes changed while they were read, the sample did not fail.
        if let Some(problem) = problem.filter(|_| seen == 0.0) {
            return Err(problem);
        }
        self.functions.looked(1.0);
        (self.samples, self.seen) = (self.samples + 1.0, self.seen + seen);
        if look.is_report {
            self.threads.report(out);
            self.functions.report(out);
            out.put(PROCESSES, self.seen / self.samples);
            out.put(GIL, self.held / self.at_work.max(1.0));
            self.restart();
        }
        self.pace.end(&look, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::has_python_library;

    #[test]
    fn a_program_with_python_inside_is_python() {
        let with = |file: &str| format!("7f1c-7f1d r-xp 00000000 08:01 131 {file}\n7ffd-7ffe rw-p 00000000 00:00 0 [stack]\n");
        assert!(has_python_library(&with("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0")));
        for other in ["/usr/lib/uwsgi/plugins/http_plugin.so", "/opt/libpython/libz.so", "/usr/sbin/nginx", ""] {
            assert!(!has_python_library(&with(other)), "{other}");
        }
    }
}
