//! Reasons why a JVM accepts no commands.

use crate::kinds::process::which::NoProcess;

#[derive(Debug, thiserror::Error)]
pub(super) enum JvmError {
    #[error(transparent)]
    Process(#[from] NoProcess),
    #[error("process {0} accepts no commands because it runs with -Xrs: start it without -Xrs")]
    Deaf(u32),
    #[error("process {0} opened no attach socket: was it started with -XX:+DisableAttachMechanism?")]
    Silent(u32),
    #[error("the JVM cannot be reached: {0}")]
    Connect(std::io::Error),
    #[error("the JVM refused {command}: {response}")]
    Refused { command: String, response: String },
}
