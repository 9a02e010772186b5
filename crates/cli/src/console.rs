//! Lines that scripts print on the workers' threads, on their way to the terminal and the run directory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Lines kept until they are taken; a script that prints faster loses lines, never time.
const LINES_MAX: usize = 10_000;

/// Where printed lines gather.
#[derive(Debug)]
pub(crate) struct Console {
    sender: Sink,
    lines: Receiver<String>,
}

/// The workers' end: never waits.
#[derive(Debug, Clone)]
pub(crate) struct Sink {
    sender: SyncSender<String>,
    lost: Arc<AtomicU64>,
}

impl Sink {
    pub(crate) fn line(&self, text: String) {
        if self.sender.try_send(text).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Console {
    pub(crate) fn new() -> Self {
        let (sender, lines) = sync_channel(LINES_MAX);
        Self { sender: Sink { sender, lost: Arc::default() }, lines }
    }

    pub(crate) fn sink(&self) -> Sink {
        self.sender.clone()
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
        let console = Console::new();
        let sink = console.sink();
        (0..LINES_MAX + 5).for_each(|n| sink.line(n.to_string()));
        let lines = console.take();
        assert_eq!((lines.len(), lines[0].as_str()), (LINES_MAX + 1, "0"));
        assert!(lines[LINES_MAX].starts_with("(5 more lines"));
        assert!(console.take().is_empty());
    }
}
