//! Ctrl-C: once to stop gracefully, twice to stop now.

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
