//! Writes the run directory during the run.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use loadstone_run_directory::{RunError, Writer};

use crate::event::{RunEvent, RunRequests, Subscriber, SubscriberError};

/// The subscriber that every run has.
pub(crate) struct DirectoryWriter {
    /// Until the end is written.
    writer: Option<Writer>,
    /// Where the run is. It changes if the directory vanishes.
    directory: Rc<RefCell<PathBuf>>,
}

/// The directory could not be written. Later measurements are lost; earlier ones are readable.
#[derive(Debug, thiserror::Error)]
#[error("the run directory cannot be written: {0}")]
struct WriteError(#[source] RunError);

impl DirectoryWriter {
    pub(crate) fn new(writer: Writer, directory: Rc<RefCell<PathBuf>>) -> Self {
        Self { writer: Some(writer), directory }
    }

    /// Somebody may delete or unmount the folder of the runs while a run writes to it.
    fn rescue_if_gone(&mut self, requests: &mut RunRequests) -> Result<(), WriteError> {
        let Some(writer) = self.writer.as_mut().filter(|writer| !writer.is_in_place()) else { return Ok(()) };
        let gone = writer.directory().to_owned();
        writer.rescue(&std::env::temp_dir()).map_err(WriteError)?;
        let now = writer.directory();
        requests.say(format!("warning: the run directory {} has vanished; the run continues in {}", gone.display(), now.display()));
        now.clone_into(&mut self.directory.borrow_mut());
        Ok(())
    }
}

impl Subscriber for DirectoryWriter {
    fn take(&mut self, event: &RunEvent<'_>, requests: &mut RunRequests) -> Result<(), SubscriberError> {
        if let RunEvent::Snapshot { .. } | RunEvent::Closing | RunEvent::Finished { .. } = event {
            self.rescue_if_gone(requests)?;
        }
        if let RunEvent::Finished { end } = event {
            // The message must be self-contained, because every other subscriber has finished by now.
            self.writer.take().map_or(Ok(()), |writer| writer.finish(end).map(drop))?;
            return Ok(());
        }
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let written = match event {
            RunEvent::TimeBegins { info, plan } => writer.begin(&info.started, plan),
            RunEvent::Snapshot { snapshot, .. } => writer.snapshot(snapshot),
            RunEvent::Signals(series) => writer.signals(series),
            RunEvent::Traces(batch) => writer.traces(batch),
            RunEvent::Notice(notice) => writer.notice(notice),
            RunEvent::ConsoleLine(line) => {
                // A failure to write script output must not stop a run.
                let _ = writer.console(line);
                Ok(())
            }
            _ => Ok(()),
        };
        written.map_err(WriteError)?;
        Ok(())
    }
}
