//! Reasons why a Node process cannot be observed.

use crate::http::FetchError;
use crate::kinds::process::which::NoProcess;

#[derive(Debug, thiserror::Error)]
pub(super) enum NodeError {
    #[error(transparent)]
    Process(#[from] NoProcess),
    #[cfg_attr(
        not(target_os = "macos"),
        error("process {0} does not handle SIGUSR1: start it with --inspect=127.0.0.1:0, and without --disable-sigusr1")
    )]
    #[cfg_attr(
        target_os = "macos",
        error("macOS does not show whether process {0} handles SIGUSR1, which could end it: start it with --inspect=127.0.0.1:0")
    )]
    NoSignal(u32),
    #[error("process {0} opened no inspector: is its port (9229, or the one of --inspect-port) in use?")]
    NoInspector(u32),
    #[error("the inspector cannot be reached: {0}")]
    Connect(std::io::Error),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("the inspector's connection broke: {0}")]
    WebSocket(#[from] tokio_tungstenite::tungstenite::Error),
    #[error("the inspector closed the connection")]
    Gone,
    #[error("the inspector's message is not JSON: {0}")]
    NotJson(serde_json::Error),
    #[error("the inspector refused {method}: {problem}")]
    Command { method: String, problem: String },
    #[error("the meter failed in the process: {0}")]
    Thrown(String),
}
