//! Writes the run directory during the run.

use loadstone_run_directory::{RunError, Writer};

use crate::event::{RunEvent, RunRequests, Subscriber, SubscriberError};

/// The subscriber that every run has.
pub(crate) struct DirectoryWriter {
    /// Until the end is written.
    writer: Option<Writer>,
}

/// The directory could not be written. Later measurements are lost; earlier ones are readable.
#[derive(Debug, thiserror::Error)]
#[error("the run directory cannot be written: {0}")]
struct WriteError(#[source] RunError);

impl DirectoryWriter {
    pub(crate) fn new(writer: Writer) -> Self {
        Self { writer: Some(writer) }
    }
}

impl Subscriber for DirectoryWriter {
    fn take(&mut self, event: &RunEvent<'_>, _requests: &mut RunRequests) -> Result<(), SubscriberError> {
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
