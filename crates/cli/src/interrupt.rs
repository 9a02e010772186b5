//! Ctrl-C: the first stops gracefully, the second stops immediately.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use loadstone_session::{LoadControl, LoadHandle, RunEvent, RunRequests, StopReason, Subscriber, SubscriberError};
use tokio::signal::unix::{SignalKind, signal};

/// Returns at the first SIGINT or SIGTERM.
///
/// # Errors
/// The handler cannot be installed.
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

/// Stops a run on SIGINT and SIGTERM, which a separate thread waits for.
///
/// # Errors
/// The handler cannot be installed.
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

/// Allows Ctrl-C to end a run.
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

/// Ctrl-C for a whole series of runs. The first stops the current run gracefully, further ones immediately. Between runs it is remembered.
#[derive(Clone)]
pub(crate) struct Interrupts {
    heard: Arc<AtomicU32>,
    /// Control of the current run.
    controller: Arc<Mutex<Option<LoadHandle>>>,
}

impl Interrupts {
    /// Listens on separate threads until the process ends. `with_stdin`: the end of standard input counts, too. A program that starts a series holds it
    /// open, so the series ends with that program.
    ///
    /// # Errors
    /// The handler cannot be installed.
    pub(crate) fn listen(with_stdin: bool) -> Result<Self, InterruptError> {
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
                    listener.hear();
                }
            });
        })?;
        if with_stdin {
            let listener = interrupts.clone();
            std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
                // Input is ignored, and a read error also counts as the end.
                let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
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
            self.report();
        }
        Ok(())
    }
}
