//! Ctrl-C: once to stop gracefully, twice to stop now.

use engine::{LoadControl, LoadHandle, StopReason};
use tokio::signal::unix::{SignalKind, signal};

/// Returns at the first SIGINT or SIGTERM.
///
/// # Errors
/// When the signals cannot be watched.
pub(crate) fn wait() -> std::io::Result<()> {
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

/// Watches for SIGINT and SIGTERM on a thread of its own, and steers the run.
///
/// # Errors
/// When the signals cannot be watched.
pub(crate) fn watch(controller: LoadHandle) -> std::io::Result<()> {
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
