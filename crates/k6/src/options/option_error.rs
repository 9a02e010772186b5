//! What is wrong with an option.

/// A problem with an option: its name in the source, what is wrong, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OptionError {
    pub(crate) option: String,
    pub(crate) message: String,
    pub(crate) help: String,
}

pub(crate) fn wrong(option: &str, message: impl Into<String>, help: impl Into<String>) -> OptionError {
    OptionError { option: option.to_owned(), message: message.into(), help: help.into() }
}
