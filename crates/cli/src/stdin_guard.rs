//! Ends a run with the program that started it.

use std::io;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use metrics::MarkKind;
use session::{LoadControl, RunEvent, RunRequests, StopReason, Subscriber, SubscriberError};

/// What is said of a run that is left behind.
const GONE: &str = "stopped, since the program that started the run has ended";

/// Notices when standard input ends. A program that starts runs holds it open, so that its end is the end of that program, however it
/// came.
#[derive(Default)]
pub(crate) struct StdinGuard {
    /// Closed by the end of standard input; `None` before the run has started and once the end was told.
    end: Option<Receiver<()>>,
}

impl Subscriber for StdinGuard {
    fn take(&mut self, event: &RunEvent<'_>, requests: &mut RunRequests) -> Result<(), SubscriberError> {
        match event {
            RunEvent::Started { .. } => self.end = Some(watch()?),
            RunEvent::SecondDue { .. } => {
                if self.end.take_if(|end| end.try_recv() == Err(TryRecvError::Disconnected)).is_some() {
                    requests.say(GONE);
                    requests.mark(MarkKind::Stopped, GONE);
                    requests.control(LoadControl::Stop(StopReason::User));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// # Errors
/// When the system gives no thread.
fn watch() -> io::Result<Receiver<()>> {
    let (open, end) = sync_channel::<()>(0);
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        // What is written to it says nothing, and a failure to read is its end too.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        drop(open);
    })?;
    Ok(end)
}
