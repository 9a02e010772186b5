//! Errors of a script as users see them: the problem, its place, and the remedy.
//!
//! Read [`ScriptError`]. It renders itself with the source line and a caret, without terminal colours.

use std::fmt;
use std::sync::Arc;

use loadstone_metrics::ErrorCause;
use loadstone_plan::Secrets;

/// A place in a source file. Lines and columns start at 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePlace {
    /// Relative to the test file's folder.
    pub file: Arc<str>,
    pub line: u32,
    pub column: u32,
    /// The source line, if it is known.
    pub source_line: Option<String>,
    /// Number of columns that the mark under the source line covers. At least 1.
    pub width: u32,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One frame of a stack trace, in coordinates of the user's source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackFrame {
    pub function: String,
    pub place: SourcePlace,
}

/// A problem with a test file, at load time or while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// The problem, in a sentence without a full stop.
    pub message: String,
    pub place: Option<Box<SourcePlace>>,
    /// The remedy.
    pub help: Option<String>,
    /// Innermost first, without frames of Loadstone.
    pub stack: Vec<StackFrame>,
    /// Where a rule asks for it.
    pub cause: Option<ErrorCause>,
}

impl ScriptError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None, help: None, stack: Vec::new(), cause: None }
    }

    #[must_use]
    pub fn at(mut self, place: SourcePlace) -> Self {
        self.place = Some(Box::new(place));
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The error without secrets: scripts may put any value into messages, and source lines contain defaults.
    #[must_use]
    pub fn hiding(mut self, secrets: &Secrets) -> Self {
        let hide = |text: &mut String| *text = secrets.hide(text).into_owned();
        hide(&mut self.message);
        self.help.iter_mut().for_each(hide);
        self.place.iter_mut().filter_map(|place| place.source_line.as_mut()).for_each(hide);
        self
    }

    /// The error on several lines: message, place, source line with a mark, remedy, stack.
    pub fn render(&self) -> String {
        let mut out = format!("error: {}\n", self.message);
        if let Some(place) = &self.place {
            render_place(&mut out, place);
        }
        if let Some(help) = &self.help {
            out.push_str(&format!("  help: {help}\n"));
        }
        if self.stack.len() > 1 {
            for frame in &self.stack {
                out.push_str(&format!("    at {} ({})\n", frame.function, frame.place));
            }
        }
        out
    }
}

fn render_place(out: &mut String, place: &SourcePlace) {
    let number = place.line.to_string();
    let gutter = " ".repeat(number.len());
    out.push_str(&format!(" {gutter} ╭─[{place}]\n"));
    if let Some(line) = &place.source_line {
        let before: String =
            line.chars().take(place.column.saturating_sub(1) as usize).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        out.push_str(&format!(" {number} │ {}\n", line.trim_end()));
        out.push_str(&format!(" {gutter} │ {before}{}\n", "^".repeat(place.width.max(1) as usize)));
    }
}

/// One line: `file:line:column: message`.
impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for ScriptError {}
