//! Signals that end a run: once to stop gracefully, twice to stop now.
//!
//! Ctrl-C, SIGTERM and SIGHUP (a closed terminal, a lost SSH connection) have the same effect. After `nohup`, SIGHUP remains ignored.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use loadstone_plan::{RunRole, TestPlan};
use loadstone_session::{LoadControl, LoadHandle, RunEvent, RunRequests, StopReason, Subscriber, SubscriberError};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A file would exceed the limit of the shell (`ulimit -f`).
const SIGXFSZ: i32 = 25;

/// The signals that end a run.
pub(crate) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    /// `None`: the process ignores it.
    hangup: Option<Signal>,
}

impl StopSignals {
    /// Must be called within a runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        // Its default action would end the process without a word. With a handler, the write fails, and the run reports it like a full disk.
        drop(signal(SignalKind::from_raw(SIGXFSZ))?);
        let hangup = if loadstone_platform::signals::ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())?, hangup })
    }

    /// Waits for the next one. `None`: no signal can arrive any more.
    pub(crate) async fn next(&mut self) -> Option<()> {
        let Self { interrupt, terminate, hangup } = self;
        let hung_up = async {
            match hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            received = interrupt.recv() => received,
            received = terminate.recv() => received,
            received = hung_up => received,
        }
    }
}

/// Returns at the first of these signals.
///
/// # Errors
/// The handler cannot be installed.
pub(crate) fn wait() -> Result<(), InterruptError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        StopSignals::listen()?.next().await;
        Ok(())
    })
}

/// Calls `hear` at each of these signals, on another thread.
fn listen(mut hear: impl FnMut() + Send + 'static) -> Result<(), InterruptError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut signals = {
        let _entered = runtime.enter();
        StopSignals::listen()?
    };
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        runtime.block_on(async {
            while signals.next().await.is_some() {
                hear();
            }
        });
    })?;
    Ok(())
}

/// Stops a run at these signals, which are awaited on another thread.
///
/// # Errors
/// When the handler cannot be installed.
pub(crate) fn steer(controller: LoadHandle) -> Result<(), InterruptError> {
    steer_counting(controller, Arc::default())
}

fn steer_counting(controller: LoadHandle, heard: Arc<AtomicU32>) -> Result<(), InterruptError> {
    listen(move || controller.send(order(heard.fetch_add(1, Ordering::AcqRel) + 1)))
}

/// What the signal with this number asks for.
fn order(heard: u32) -> LoadControl {
    if heard <= 1 { LoadControl::Stop(StopReason::User) } else { LoadControl::Halt(StopReason::User) }
}

/// Lets Ctrl-C end a run.
#[derive(Default)]
pub(crate) struct InterruptHandler {
    heard: Arc<AtomicU32>,
    notice: StopNotice,
}

/// Without the handler, Ctrl-C would end the process without a verdict.
#[derive(Debug, thiserror::Error)]
#[error("cannot install the Ctrl-C handler: {0}")]
pub(crate) struct InterruptError(#[from] io::Error);

impl Subscriber for InterruptHandler {
    fn take(&mut self, event: &RunEvent<'_>, requests: &mut RunRequests) -> Result<(), SubscriberError> {
        if let RunEvent::Started { controller, .. } = event {
            steer_counting((*controller).clone(), Arc::clone(&self.heard))?;
        }
        self.notice.take(event, self.heard.load(Ordering::Acquire) > 0, requests);
        Ok(())
    }
}

/// The line that a run prints after the first signal, because it may continue for a while.
#[derive(Default)]
struct StopNotice {
    line: Option<String>,
}

impl StopNotice {
    fn take(&mut self, event: &RunEvent<'_>, heard: bool, requests: &mut RunRequests) {
        match event {
            RunEvent::Started { plan, .. } => self.line = Some(stop_notice(plan)),
            RunEvent::SnapshotDue { .. } if heard => {
                if let Some(line) = self.line.take() {
                    requests.say(line);
                }
            }
            _ => {}
        }
    }
}

fn stop_notice(plan: &TestPlan) -> String {
    let leaves = plan.leaves().into_iter().filter(|run| run.role == RunRole::Load);
    let longest_ns = leaves.map(|run| run.graceful_stop_ns.unwrap_or(plan.options.graceful_stop_ns)).max().unwrap_or_default();
    let wait = loadstone_units::duration::format(longest_ns);
    format!("Stopping: no new load starts. Requests in progress may take up to {wait} (gracefulStop). Interrupt again to end now.")
}

/// Ctrl-C for a whole series of runs. The first stops the current run gracefully, further ones immediately. Between runs it is remembered.
#[derive(Clone)]
pub(crate) struct Interrupts {
    heard: Arc<AtomicU32>,
    /// Control of the current run.
    controller: Arc<Mutex<Option<LoadHandle>>>,
    notice: Arc<Mutex<StopNotice>>,
}

impl Interrupts {
    /// Listens on separate threads until the process ends. `with_stdin`: the end of standard input counts, too. A program that starts a series holds it
    /// open, so the series ends with that program.
    ///
    /// # Errors
    /// The handler cannot be installed.
    pub(crate) fn listen(with_stdin: bool) -> Result<Self, InterruptError> {
        let interrupts = Self { heard: Arc::default(), controller: Arc::default(), notice: Arc::default() };
        let listener = interrupts.clone();
        listen(move || listener.hear())?;
        if with_stdin {
            let listener = interrupts.clone();
            std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
                // Input is ignored, and a read error also counts as the end.
                let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
                listener.hear();
            })?;
        }
        Ok(interrupts)
    }

    pub(crate) fn heard(&self) -> bool {
        self.heard.load(Ordering::Acquire) > 0
    }

    fn hear(&self) {
        self.heard.fetch_add(1, Ordering::AcqRel);
        self.report();
    }

    fn report(&self) {
        let heard = self.heard.load(Ordering::Acquire);
        if heard > 0
            && let Some(controller) = self.controller.lock().unwrap_or_else(PoisonError::into_inner).as_ref()
        {
            controller.send(order(heard));
        }
    }
}

impl Subscriber for Interrupts {
    fn take(&mut self, event: &RunEvent<'_>, requests: &mut RunRequests) -> Result<(), SubscriberError> {
        if let RunEvent::Started { controller, .. } = event {
            *self.controller.lock().unwrap_or_else(PoisonError::into_inner) = Some((*controller).clone());
            self.report();
        }
        self.notice.lock().unwrap_or_else(PoisonError::into_inner).take(event, self.heard(), requests);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use loadstone_plan::{Load, LoadProfile, ScenarioId, ScenarioRun};

    use super::*;

    #[test]
    fn the_notice_states_the_longest_wait_of_the_load() {
        let run = |graceful_stop_ns, role| {
            let profile = LoadProfile::Open { stages: Vec::new() };
            Load::Run(ScenarioRun { graceful_stop_ns, role, ..ScenarioRun::new(ScenarioId(0), profile) })
        };
        let second = 1_000_000_000;
        let load = [run(None, RunRole::Load), run(Some(45 * second), RunRole::Load), run(Some(600 * second), RunRole::TearDown)];
        let plan = TestPlan::new("t", ["s"], Load::Sequence(load.into()));
        assert!(stop_notice(&plan).contains("may take up to 45s (gracefulStop)"), "{}", stop_notice(&plan));
    }
}
