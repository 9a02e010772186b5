//! Ctrl-C: once to stop gracefully, twice to stop now.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use session::{LoadControl, LoadHandle, RunEvent, RunRequests, StopReason, Subscriber, SubscriberError};
use tokio::signal::unix::{SignalKind, signal};

/// Returns at the first SIGINT or SIGTERM.
///
/// # Errors
/// When the handler cannot be installed.
pub(crate) fn wait() -> Result<(), InterruptError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        Ok(())
    })
}

/// Stops a run on SIGINT and SIGTERM, which are awaited on a thread of their own.
///
/// # Errors
/// When the handler cannot be installed.
pub(crate) fn steer(controller: LoadHandle) -> Result<(), InterruptError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        runtime.block_on(async {
            let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else {
                return;
            };
            let mut before = 0;
            loop {
                tokio::select! {
                    received = interrupt.recv() => if received.is_none() { return },
                    received = terminate.recv() => if received.is_none() { return },
                }
                before += 1;
                controller.send(if before == 1 { LoadControl::Stop(StopReason::User) } else { LoadControl::Halt(StopReason::User) });
            }
        });
    })?;
    Ok(())
}

/// Lets Ctrl-C end a run.
pub(crate) struct InterruptHandler;

/// Without the handler, Ctrl-C would end the process without a verdict.
#[derive(Debug, thiserror::Error)]
#[error("cannot install the Ctrl-C handler: {0}")]
pub(crate) struct InterruptError(#[from] std::io::Error);

impl Subscriber for InterruptHandler {
    fn take(&mut self, event: &RunEvent<'_>, _requests: &mut RunRequests) -> Result<(), SubscriberError> {
        if let RunEvent::Started { controller, .. } = event {
            steer((*controller).clone())?;
        }
        Ok(())
    }
}

/// Ctrl-C over several runs, one after the other: it ends the one that goes on, and whoever starts the next one can ask.
pub(crate) struct RepeatedInterrupt {
    state: Arc<InterruptState>,
}

#[derive(Default)]
struct InterruptState {
    asked: AtomicBool,
    /// Of the run that goes on.
    controller: Mutex<Option<LoadHandle>>,
}

/// Lets it end one of the runs.
pub(crate) struct RepeatedHandler {
    state: Arc<InterruptState>,
}

impl RepeatedInterrupt {
    /// # Errors
    /// When the handler cannot be installed.
    pub(crate) fn start() -> Result<Self, InterruptError> {
        let state = Arc::new(InterruptState::default());
        let shared = Arc::clone(&state);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
            runtime.block_on(async {
                let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else {
                    return;
                };
                loop {
                    tokio::select! {
                        received = interrupt.recv() => if received.is_none() { return },
                        received = terminate.recv() => if received.is_none() { return },
                    }
                    let before = shared.asked.swap(true, Ordering::SeqCst);
                    if let Some(controller) = &*shared.controller.lock().unwrap_or_else(PoisonError::into_inner) {
                        controller.send(if before { LoadControl::Halt(StopReason::User) } else { LoadControl::Stop(StopReason::User) });
                    }
                }
            });
        })?;
        Ok(Self { state })
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.state.asked.load(Ordering::SeqCst)
    }

    /// For the next run.
    pub(crate) fn handler(&self) -> RepeatedHandler {
        RepeatedHandler { state: Arc::clone(&self.state) }
    }
}

impl Subscriber for RepeatedHandler {
    fn take(&mut self, event: &RunEvent<'_>, requests: &mut RunRequests) -> Result<(), SubscriberError> {
        let mut current = self.state.controller.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            RunEvent::Started { controller, .. } => {
                *current = Some((*controller).clone());
                if self.state.asked.load(Ordering::SeqCst) {
                    requests.control(LoadControl::Stop(StopReason::User));
                }
            }
            RunEvent::Finished { .. } => *current = None,
            _ => {}
        }
        Ok(())
    }
}
