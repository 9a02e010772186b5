//! Passes on what a command prints, and keeps the end of it, where summaries are.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// What is kept of one output. Bytes.
const TAIL_BYTES_MAX: usize = 256 * 1024;

/// The end of an output.
#[derive(Debug, Default)]
pub(crate) struct PrintedTail {
    bytes: Vec<u8>,
}

impl PrintedTail {
    fn push(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
        if self.bytes.len() > 2 * TAIL_BYTES_MAX {
            self.bytes.drain(..self.bytes.len() - TAIL_BYTES_MAX);
        }
    }

    /// The text so far. Bytes that are no UTF-8 are replaced.
    pub(crate) fn text(tail: &Mutex<Self>) -> String {
        String::from_utf8_lossy(&tail.lock().unwrap_or_else(PoisonError::into_inner).bytes).into_owned()
    }
}

/// A thread that copies an output until its end.
pub(crate) struct OutputCopy {
    thread: JoinHandle<()>,
}

impl OutputCopy {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub(crate) fn start(
        mut from: impl Read + Send + 'static,
        mut to: impl Write + Send + 'static,
        tail: Arc<Mutex<PrintedTail>>,
    ) -> io::Result<Self> {
        let copy = move || {
            let mut chunk = vec![0; 16 * 1024];
            loop {
                let read = match from.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(read) => read,
                    Err(problem) if problem.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => return,
                };
                tail.lock().unwrap_or_else(PoisonError::into_inner).push(&chunk[..read]);
                // If nobody reads Loadstone's output, the command must not wait for it.
                let _ = to.write_all(&chunk[..read]).and_then(|()| to.flush());
            }
        };
        Ok(Self { thread: thread::Builder::new().name("output".to_owned()).spawn(copy)? })
    }

    /// Whether the command, and all that it started, have closed the output.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_passed_on_and_only_the_end_is_kept() {
        let text: Vec<u8> = (0..4 * TAIL_BYTES_MAX).map(|at| b'a' + (at % 23) as u8).collect();
        let (tail, passed) = (Arc::new(Mutex::new(PrintedTail::default())), tempfile::NamedTempFile::new().unwrap());
        let copy = OutputCopy::start(io::Cursor::new(text.clone()), passed.reopen().unwrap(), Arc::clone(&tail)).unwrap();
        copy.thread.join().unwrap();
        assert_eq!(std::fs::read(passed.path()).unwrap(), text);
        let kept = PrintedTail::text(&tail);
        assert!(kept.len() >= TAIL_BYTES_MAX && kept.len() <= 2 * TAIL_BYTES_MAX && text.ends_with(kept.as_bytes()));
    }
}
