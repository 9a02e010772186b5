//! Errors of a script as people see them: what was wrong, where, and what to do.
//!
//! Read [`ScriptError`]. It renders itself with the source line and a caret; no terminal colours are added here.

use std::fmt;
use std::sync::Arc;

use loadstone_plan::Secrets;

/// A place in a source file. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePlace {
    /// Relative to the test file's folder.
    pub file: Arc<str>,
    pub line: u32,
    pub column: u32,
    /// The source line itself, where it is known.
    pub source_line: Option<String>,
    /// How many columns the mark under the source line spans, at least 1.
    pub width: u32,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One frame of a stack trace, in the coordinates of the source the user wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackFrame {
    pub function: String,
    pub place: SourcePlace,
}

/// Something wrong with a test file, at load time or while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// What was wrong, in a sentence without a full stop.
    pub message: String,
    pub place: Option<Box<SourcePlace>>,
    /// What to do about it.
    pub help: Option<String>,
    /// Innermost first; frames of Loadstone itself are left out.
    pub stack: Vec<StackFrame>,
}

impl ScriptError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None, help: None, stack: Vec::new() }
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

    /// The error without secrets: scripts put what they like into messages, and source lines hold defaults.
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
