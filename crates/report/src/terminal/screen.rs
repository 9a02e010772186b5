//! Where the progress is drawn: a block redrawn in place on a terminal, a line now and then elsewhere.

use std::io::{self, Write};

use crossterm::{cursor, queue, terminal};
use loadstone_metrics::Nanos;

use super::progress::Progress;
use super::style::Style;

/// How the progress is shown, and how often. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressMode {
    /// A block that is redrawn in place, at most this often.
    Block { every_ns: u64 },
    /// Plain lines, one per interval; no control codes.
    Lines { every_ns: u64 },
    /// Nothing but messages.
    Quiet,
}

impl ProgressMode {
    pub const BLOCK: ProgressMode = ProgressMode::Block { every_ns: 500_000_000 };
    pub const LINES: ProgressMode = ProgressMode::Lines { every_ns: 5_000_000_000 };

    /// A block on a terminal; lines in a pipe and where the environment says `CI` (set, and neither empty nor `false`).
    pub fn detect(is_terminal: bool) -> Self {
        let ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if is_terminal && !ci && !dumb { ProgressMode::BLOCK } else { ProgressMode::LINES }
    }
}

/// Draws a [`Progress`] to a stream. Takes the time from its caller.
#[derive(Debug)]
pub struct Screen<W> {
    out: W,
    pace: ProgressMode,
    style: Style,
    /// Lines of the block that stand on the terminal now.
    lines: u16,
    drawn_at: Option<Nanos>,
    /// Asks for the present width of the window; `None` keeps the style's.
    columns: fn() -> Option<usize>,
}

impl<W: Write> Screen<W> {
    /// Draws as wide as the style says.
    pub fn new(out: W, pace: ProgressMode, style: Style) -> Self {
        Self { out, pace, style, lines: 0, drawn_at: None, columns: || None }
    }

    /// For a stream that is the terminal itself: follows its width.
    pub fn on_terminal(out: W, pace: ProgressMode, style: Style) -> Self {
        Self { columns: terminal_columns, ..Self::new(out, pace, style) }
    }

    /// Draws, if it is time to. Call it as often as convenient.
    ///
    /// # Errors
    /// What the stream reports; a run should go on without its progress then.
    pub fn draw(&mut self, progress: &Progress, now: Nanos) -> io::Result<()> {
        let every_ns = match self.pace {
            ProgressMode::Block { every_ns } | ProgressMode::Lines { every_ns } => every_ns,
            ProgressMode::Quiet => return Ok(()),
        };
        if self.drawn_at.is_some_and(|at| now < at.saturating_add(every_ns)) {
            return Ok(());
        }
        // The first plain line comes after a full interval, when there is something to tell.
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

    /// Prints a line that stays (a script's `console.log`, a warning). The block moves below it.
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

    /// Removes the block, for the summary to take its place.
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

    /// Follows the window: a line wider than the terminal would wrap and break the redrawing.
    fn resize(&mut self) {
        if let Some(columns) = (self.columns)() {
            self.style.width = columns.max(20);
        }
    }
}

fn terminal_columns() -> Option<usize> {
    terminal::size().ok().map(|(columns, _)| usize::from(columns)).filter(|columns| *columns > 0)
}
