//! Why a file cannot be imported.

/// What was wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}\n  help: {help}")]
pub struct ImportError {
    /// `file:line`, or the file alone.
    pub place: String,
    pub message: String,
    pub help: String,
}

impl ImportError {
    pub(crate) fn new(file: &str, line: Option<usize>, message: impl Into<String>, help: impl Into<String>) -> Self {
        let place = line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"));
        Self { place, message: message.into(), help: help.into() }
    }
}
