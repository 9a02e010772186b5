//! Draws the progress: a block that is redrawn in place on a terminal, a line per interval elsewhere.

use std::io::{self, Write};

use crossterm::{cursor, queue, terminal};
use loadstone_metrics::Nanos;

use super::progress::Progress;
use super::style::Style;

/// How the progress is drawn, and how often. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressMode {
    /// A block that is redrawn in place, at most once per this time.
    Block { every_ns: u64 },
    /// One plain line per interval, without control codes.
    Lines { every_ns: u64 },
    /// Messages only.
    Quiet,
}

impl ProgressMode {
    pub const BLOCK: ProgressMode = ProgressMode::Block { every_ns: 500_000_000 };
    pub const LINES: ProgressMode = ProgressMode::Lines { every_ns: 5_000_000_000 };

    /// A block on a terminal; lines in a pipe and if the variable `CI` is set (and neither empty nor `false`).
    pub fn detect(is_terminal: bool) -> Self {
        let ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if is_terminal && !ci && !dumb { ProgressMode::BLOCK } else { ProgressMode::LINES }
    }
}

/// Draws a [`Progress`] to a stream. The caller supplies the time.
#[derive(Debug)]
pub struct Screen<W> {
    out: W,
    pace: ProgressMode,
    style: Style,
    /// Number of lines of the block that the terminal shows at present.
    lines: u16,
    drawn_at: Option<Nanos>,
    /// Reads the present width of the window; `None` uses the width of the style.
    columns: fn() -> Option<usize>,
}

impl<W: Write> Screen<W> {
    /// Draws with the width of the style.
    pub fn new(out: W, pace: ProgressMode, style: Style) -> Self {
        Self { out, pace, style, lines: 0, drawn_at: None, columns: || None }
    }

    /// For a stream that is the terminal itself: uses the present width of the window.
    pub fn on_terminal(out: W, pace: ProgressMode, style: Style) -> Self {
        Self { columns: terminal_columns, ..Self::new(out, pace, style) }
    }

    /// Draws if the interval has passed. May be called at any rate.
    ///
    /// # Errors
    /// Errors of the stream. The run should then continue without its progress.
    pub fn draw(&mut self, progress: &Progress, now: Nanos) -> io::Result<()> {
        let every_ns = match self.pace {
            ProgressMode::Block { every_ns } | ProgressMode::Lines { every_ns } => every_ns,
            ProgressMode::Quiet => return Ok(()),
        };
        if self.drawn_at.is_some_and(|at| now < at.saturating_add(every_ns)) {
            return Ok(());
        }
        // The first plain line comes after a full interval, when there is something to report.
        let first_line = self.drawn_at.is_none() && matches!(self.pace, ProgressMode::Lines { .. });
        if first_line && now < every_ns {
            return Ok(());
        }
        self.drawn_at = Some(now);
        if let ProgressMode::Lines { .. } = self.pace {
            writeln!(self.out, "{}", progress.line(now))?;
            return self.out.flush();
        }
        self.resize();
        queue!(self.out, terminal::BeginSynchronizedUpdate)?;
        self.erase()?;
        let block = progress.block(now, &self.style);
        for line in &block {
            queue!(self.out, terminal::Clear(terminal::ClearType::UntilNewLine))?;
            self.out.write_all(line.as_bytes())?;
            self.out.write_all(b"\n")?;
        }
        self.lines = block.len() as u16;
        queue!(self.out, terminal::EndSynchronizedUpdate)?;
        self.out.flush()
    }

    /// Prints a permanent line (a script's `console.log`, a warning). The block moves below it.
    ///
    /// # Errors
    /// What the stream reports.
    pub fn message(&mut self, text: &str) -> io::Result<()> {
        self.erase()?;
        for line in text.lines() {
            writeln!(self.out, "{}", super::tame(line))?;
        }
        self.drawn_at = self.drawn_at.filter(|_| !matches!(self.pace, ProgressMode::Block { .. }));
        self.out.flush()
    }

    /// Removes the block before the summary is printed.
    ///
    /// # Errors
    /// What the stream reports.
    pub fn finish(&mut self) -> io::Result<()> {
        self.erase()?;
        self.out.flush()
    }

    fn erase(&mut self) -> io::Result<()> {
        if self.lines > 0 {
            queue!(self.out, cursor::MoveToPreviousLine(self.lines), terminal::Clear(terminal::ClearType::FromCursorDown))?;
            self.lines = 0;
        }
        Ok(())
    }

    /// Uses the present width: a line wider than the terminal would wrap and break the redrawing.
    fn resize(&mut self) {
        if let Some(columns) = (self.columns)() {
            self.style.width = columns.max(20);
        }
    }
}

fn terminal_columns() -> Option<usize> {
    terminal::size().ok().map(|(columns, _)| usize::from(columns)).filter(|columns| *columns > 0)
}
