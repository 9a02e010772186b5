//! Output of scripts on the workers' threads: printed lines until subscribers receive them, and the reason why a script cannot continue.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

use loadstone_units::text;

/// Maximum number of waiting lines. A script that prints faster loses lines, but no time.
const LINES_MAX: usize = 10_000;

/// Collects printed lines.
#[derive(Debug)]
pub struct PrintedLines {
    sender: LineSender,
    lines: Receiver<String>,
}

/// The workers' handle.
#[derive(Debug, Clone)]
pub struct LineSender {
    sender: SyncSender<String>,
    lost: Arc<AtomicU64>,
    failure: Arc<OnceLock<String>>,
}

impl LineSender {
    /// Adds a line without waiting. Lines beyond the limit are counted and dropped.
    ///
    /// A line may contain text of the target: it is bounded, and has no characters that control a terminal.
    pub fn line(&self, text: String) {
        let text = text::printable(&text::bounded(&text, text::LINE_BYTES_MAX)).into_owned();
        if self.sender.try_send(text).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Ends the run as failed, because it contradicts the test's intent. The first reason counts.
    pub fn fail(&self, problem: String) {
        // Only the first reason is stored.
        let _ = self.failure.set(problem);
    }
}

impl PrintedLines {
    #[expect(clippy::new_without_default, reason = "a default channel would be misleading")]
    pub fn new() -> Self {
        let (sender, lines) = sync_channel(LINES_MAX);
        Self { sender: LineSender { sender, lost: Arc::default(), failure: Arc::default() }, lines }
    }

    pub fn sender(&self) -> LineSender {
        self.sender.clone()
    }

    /// Why the run cannot continue.
    pub(crate) fn failure(&self) -> Option<String> {
        self.sender.failure.get().cloned()
    }

    /// Lines printed since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.lines.try_iter().collect();
        let lost = self.sender.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            lines.push(format!("({lost} more lines were dropped, because the script printed too fast)"));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_printable() {
        let printed = PrintedLines::new();
        printed.sender().line("\u{1b}]52;c;ZXZpbA==\u{7}".to_owned());
        printed.sender().line("x".repeat(1_000_000));
        let lines = printed.take();
        assert_eq!(lines[0], "␛]52;c;ZXZpbA==␇");
        assert!(lines[1].len() <= text::LINE_BYTES_MAX && lines[1].ends_with('…'));
    }

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
