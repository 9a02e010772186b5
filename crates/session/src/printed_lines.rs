//! What scripts say on the workers' threads: lines that they print, until these are told to the subscribers, and why they cannot go on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

/// Lines kept until they are taken; a script that prints faster loses lines, never time.
const LINES_MAX: usize = 10_000;

/// Where printed lines gather.
#[derive(Debug)]
pub struct PrintedLines {
    sender: LineSender,
    lines: Receiver<String>,
}

/// The workers' end.
#[derive(Debug, Clone)]
pub struct LineSender {
    sender: SyncSender<String>,
    lost: Arc<AtomicU64>,
    failure: Arc<OnceLock<String>>,
}

impl LineSender {
    /// Adds a line. Never waits: beyond the bound it is counted and lost.
    pub fn line(&self, text: String) {
        if self.sender.try_send(text).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The run cannot be what was meant: it ends as failed. The first reason counts.
    pub fn fail(&self, problem: String) {
        // Whoever was first has said enough.
        let _ = self.failure.set(problem);
    }
}

impl PrintedLines {
    #[expect(clippy::new_without_default, reason = "a channel is nothing that stands for itself")]
    pub fn new() -> Self {
        let (sender, lines) = sync_channel(LINES_MAX);
        Self { sender: LineSender { sender, lost: Arc::default(), failure: Arc::default() }, lines }
    }

    pub fn sender(&self) -> LineSender {
        self.sender.clone()
    }

    /// Why the run cannot go on.
    pub(crate) fn failure(&self) -> Option<String> {
        self.sender.failure.get().cloned()
    }

    /// What was printed since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.lines.try_iter().collect();
        let lost = self.sender.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            lines.push(format!("({lost} more lines were printed faster than they could be kept)"));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_bound_are_counted() {
        let printed = PrintedLines::new();
        let sender = printed.sender();
        (0..LINES_MAX + 5).for_each(|n| sender.line(n.to_string()));
        let lines = printed.take();
        assert_eq!((lines.len(), lines[0].as_str()), (LINES_MAX + 1, "0"));
        assert!(lines[LINES_MAX].starts_with("(5 more lines"));
        assert!(printed.take().is_empty());
    }
}
