//! Errors in an observer's description, and errors while it reads.

/// What is wrong with an observer's description. Found before any load starts. Credentials in addresses are not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObserveError {
    #[error("an observer is described as {{\"kind\": …}}, got {found}; use the observe.… builders")]
    Shape { found: String },
    #[error("there is no observer `observe.{kind}`; known are: {known}")]
    Kind { kind: String, known: String },
    #[error("observe.{kind}: {problem}")]
    Observer { kind: &'static str, problem: String },
    #[error("the thread for observers did not start: {0}")]
    Thread(String),
}

/// Why a source could not be read: the error type of its kind. Its text follows "NAME cannot read: ".
pub(crate) type ReadError = Box<dyn std::error::Error + Send + Sync>;
