//! Runs of one test, one after the other in one process, which Ctrl-C ends together. Read [`Series`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use plan::TestPlan;
use run_directory::{Reader, Run};
use session::{FinishedRun, LoadControl, LoadEnding, LoadHandle, RunEvent, RunRequests, StopReason, Subscriber, SubscriberError};
use tokio::signal::unix::{SignalKind, signal};

use crate::interrupt::InterruptError;
use crate::script_run::ScriptRun;

/// Runs that follow each other.
pub(crate) struct Series<'a> {
    pub(crate) script: ScriptRun<'a>,
    /// Where their directories are made.
    pub(crate) folder: std::path::PathBuf,
    pub(crate) interrupts: Interrupts,
}

/// One run of a series.
pub(crate) struct SeriesRun {
    pub(crate) run: Run,
    pub(crate) ending: LoadEnding,
}

impl Series<'_> {
    /// One more run. `seed`: of its draws. `change`: what is different from the test as it stands.
    ///
    /// # Errors
    /// Whatever keeps it from beginning or breaks it: the file, the target, a subscriber.
    pub(crate) fn run(
        &mut self,
        seed: u64,
        tags: &[String],
        change: impl FnOnce(&mut TestPlan),
        subscribers: &mut [&mut dyn Subscriber],
    ) -> anyhow::Result<SeriesRun> {
        let mut script = ScriptRun { tags, ..self.script.clone() };
        script.inputs.seed = Some(seed);
        let mut loaded = script.load()?;
        change(&mut loaded.plan);
        let prepared = script.prepare(loaded, self.folder.clone())?;
        let mut all: Vec<&mut dyn Subscriber> = subscribers.iter_mut().map(|subscriber| &mut **subscriber as &mut dyn Subscriber).collect();
        all.push(&mut self.interrupts);
        let FinishedRun { directory, ending, failure } = prepared.run(&mut all)?;
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        Ok(SeriesRun { run: Reader::open(&directory).and_then(Reader::run)?, ending })
    }
}

/// Ctrl-C for a whole series: the first stops the run under way gracefully, further ones at once; between runs it is remembered.
#[derive(Clone)]
pub(crate) struct Interrupts {
    heard: Arc<AtomicU32>,
    /// Of the run under way.
    controller: Arc<Mutex<Option<LoadHandle>>>,
}

impl Interrupts {
    /// Listens on a thread of its own until the process ends.
    ///
    /// # Errors
    /// When the handler cannot be installed.
    pub(crate) fn listen() -> Result<Self, InterruptError> {
        let interrupts = Self { heard: Arc::default(), controller: Arc::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let (mut interrupt, mut terminate) = {
            let _entered = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        let listener = interrupts.clone();
        std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        received = interrupt.recv() => if received.is_none() { return },
                        received = terminate.recv() => if received.is_none() { return },
                    }
                    listener.heard.fetch_add(1, Ordering::AcqRel);
                    listener.tell();
                }
            });
        })?;
        Ok(interrupts)
    }

    pub(crate) fn heard(&self) -> bool {
        self.heard.load(Ordering::Acquire) > 0
    }

    fn tell(&self) {
        let order = match self.heard.load(Ordering::Acquire) {
            0 => return,
            1 => LoadControl::Stop(StopReason::User),
            _ => LoadControl::Halt(StopReason::User),
        };
        if let Some(controller) = self.controller.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            controller.send(order);
        }
    }
}

impl Subscriber for Interrupts {
    fn take(&mut self, event: &RunEvent<'_>, _requests: &mut RunRequests) -> Result<(), SubscriberError> {
        if let RunEvent::Started { controller, .. } = event {
            *self.controller.lock().unwrap_or_else(PoisonError::into_inner) = Some((*controller).clone());
            self.tell();
        }
        Ok(())
    }
}
