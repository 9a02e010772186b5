//! Go: waits of goroutines and their position, CPU time by function, lock holders, and the collector, from `net/http/pprof` and `expvar`.

#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing {
    use super::{Profile, ThreadSamples, goroutines};

    pub(in crate::kinds) fn profile(input: &[u8]) {
        // Whatever is no profile is refused.
        let _ = goroutines::add_to(&mut ThreadSamples::of("goroutines"), input);
        if let Ok(profile) = Profile::read(input) {
            let _ = (profile.seconds(), profile.value_index("cpu"));
        }
    }
}
mod error;
mod goroutines;
mod locks;
mod memory;
mod pprof;

use tokio::task::JoinHandle;

use crate::collector::SignalCollector;
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::http::{Address, FetchError, get};
use crate::kind::{MacSupport, ObserverKind};
use crate::option::{ADDRESS, ObserverOption, OptionValue};
use crate::pace::{SAMPLE_HZ, SamplingPace};
use crate::reader::{PendingRead, SignalReader};
use crate::stacks::functions::FunctionSamples;
use crate::stacks::position::Position;
use crate::stacks::threads::ThreadSamples;
use error::GoError;
use locks::Locks;
use memory::GoMemory;
use pprof::Profile;

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "go",
    watches: "a service in Go",
    example: "observe.go(\"http://127.0.0.1:6060\")",
    alternatives: ", where `net/http/pprof` answers",
    reports: "`threads{wait=…,at=…,under=…}` (goroutines at work by what they wait for, and where), `function_cpu{…}`, `lock_wait{…}` where the service has a \
            mutex profile, `gc` where it has `expvar`",
    options: &[
        ADDRESS,
        ObserverOption {
            name: SAMPLE_HZ.name,
            takes: OptionValue::WholeNumber { max: 20, default: Some(5) },
            help: "stack samples per second",
        },
    ],
    on_macos: MacSupport::Full,
    make: |description| Ok(Box::new(Go::from_description(description)?)),
};

/// Reports between two readings of the mutex profile, which is a total since the service started.
const LOCKS_EVERY: u64 = 5;

/// Samples per second of CPU time in Go's CPU profile.
const PROFILE_HZ: f64 = 100.0;

struct Go {
    goroutines: Address,
    cpu: Address,
    locks_at: Address,
    pace: SamplingPace,
    reports: u64,
    threads: ThreadSamples,
    functions: FunctionSamples,
    /// The one-second CPU profile in progress.
    profile: Option<JoinHandle<Result<Vec<u8>, FetchError>>>,
    locks: Locks,
    memory: GoMemory,
}

impl SignalReader for Go {
    fn period_ns(&self, _every_ns: u64) -> u64 {
        self.pace.period_ns()
    }

    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async { Ok(self.look(out).await?) })
    }

    fn finish<'a>(&'a mut self, _out: &'a mut SignalCollector) -> PendingRead<'a> {
        // The service stops profiling when the client disconnects.
        self.profile.take().iter().for_each(JoinHandle::abort);
        crate::reader::at_once(Ok::<(), GoError>(()))
    }

    fn reset(&mut self) {
        self.profile.take().iter().for_each(JoinHandle::abort);
        self.pace.reset();
        self.threads.reset();
        self.functions.reset();
    }
}

impl Go {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        let base = description.required_text("url").trim_end_matches('/').trim_end_matches("/debug/pprof").to_owned();
        let at = |path: &str| Address::parse(&format!("{base}{path}")).map_err(|problem| description.problem(problem.to_string()));
        Ok(Self {
            goroutines: at("/debug/pprof/goroutine")?,
            cpu: at("/debug/pprof/profile?seconds=1")?,
            locks_at: at("/debug/pprof/mutex")?,
            memory: GoMemory::at(at("/debug/vars")?),
            pace: SamplingPace::from_description(description),
            reports: 0,
            threads: ThreadSamples::of("goroutines"),
            functions: FunctionSamples::at(PROFILE_HZ),
            profile: None,
            locks: Locks::default(),
        })
    }

    /// # Errors
    /// When the service does not respond.
    async fn look(&mut self, out: &mut SignalCollector) -> Result<(), GoError> {
        let look = self.pace.begin();
        goroutines::add_to(&mut self.threads, &get(&self.goroutines, "*/*").await?)?;
        self.profile().await?;
        if look.is_report {
            self.threads.report(out);
            self.functions.report(out);
            if self.reports.is_multiple_of(LOCKS_EVERY) {
                self.locks.put(&Profile::read(&get(&self.locks_at, "*/*").await?)?, out);
            }
            self.memory.put(out).await;
            self.reports += 1;
        }
        self.pace.end(&look, out);
        Ok(())
    }

    /// Takes the last second's profile and requests the next one. There is none while another client profiles the service.
    async fn profile(&mut self) -> Result<(), GoError> {
        if self.profile.as_ref().is_some_and(|pending| !pending.is_finished()) {
            return Ok(());
        }
        let response = match self.profile.take() {
            Some(pending) => pending.await.ok(),
            None => None,
        };
        let address = self.cpu.clone();
        self.profile = Some(tokio::task::spawn_local(async move { get(&address, "*/*").await.map(|body| body.to_vec()) }));
        let Some(Ok(body)) = response else { return Ok(()) };
        let profile = Profile::read(&body)?;
        let Some(cpu) = profile.value_index("cpu") else { return Ok(()) };
        self.functions.looked(profile.seconds());
        for stack in profile.stacks() {
            self.functions.add(Position::computing(&stack.frames()), stack.value(cpu) / 1e9);
        }
        Ok(())
    }
}
