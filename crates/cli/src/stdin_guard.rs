//! Ends a run together with the program that started it.

use std::io;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use loadstone_metrics::MarkKind;
use loadstone_session::{LoadControl, RunEvent, RunRequests, StopReason, Subscriber, SubscriberError};

/// The mark of a run whose parent program ended.
const GONE: &str = "stopped, since the program that started the run has ended";

/// Notices when standard input closes. A program that starts runs holds it open, so the run ends with that program, for any reason.
#[derive(Default)]
pub(crate) struct StdinGuard {
    /// Disconnected at the end of standard input. `None` before the run has started, and after the end was reported.
    end: Option<Receiver<()>>,
}

impl StdinGuard {
    fn has_ended(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.try_recv() == Err(TryRecvError::Disconnected))
    }
}

impl Subscriber for StdinGuard {
    fn take(&mut self, event: &RunEvent<'_>, requests: &mut RunRequests) -> Result<(), SubscriberError> {
        match event {
            RunEvent::Started { .. } => self.end = Some(watch()?),
            RunEvent::SnapshotDue { .. } if self.has_ended() => {
                self.end = None;
                requests.say(GONE);
                requests.mark(MarkKind::Stopped, GONE);
                requests.control(LoadControl::Stop(StopReason::User));
            }
            _ => {}
        }
        Ok(())
    }
}

/// A channel that disconnects when standard input closes.
///
/// # Errors
/// The system cannot start a thread.
pub(crate) fn watch() -> io::Result<Receiver<()>> {
    let (open, end) = sync_channel::<()>(0);
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        // Input is ignored, and a read error also counts as the end.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        drop(open);
    })?;
    Ok(end)
}
