//! The program that started a run, where the run is to end with it.

use std::io;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

/// Notices when standard input ends. A program that starts runs holds it open, so that its end is the end of that program, however it came.
pub(crate) struct Starter {
    end: Receiver<()>,
    told: bool,
}

impl Starter {
    /// What is said of the run that it leaves behind.
    pub(crate) const GONE: &str = "stopped, since the program that started the run has ended";

    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn watch() -> io::Result<Self> {
        let (open, end) = sync_channel::<()>(0);
        std::thread::Builder::new().name("starter".to_owned()).spawn(move || {
            // What is written to it says nothing, and a failure to read is its end too.
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            drop(open);
        })?;
        Ok(Self { end, told: false })
    }

    /// True once, when it has ended.
    pub(crate) fn has_gone(&mut self) -> bool {
        let gone = !self.told && self.end.try_recv() == Err(TryRecvError::Disconnected);
        self.told |= gone;
        gone
    }
}
