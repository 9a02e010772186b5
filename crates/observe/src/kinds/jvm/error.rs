//! Why a JVM cannot be asked.

use crate::kinds::process::which::NoProcess;

#[derive(Debug, thiserror::Error)]
pub(super) enum JvmError {
    #[error(transparent)]
    Process(#[from] NoProcess),
    #[error("process {0} cannot be asked: it was started with -Xrs")]
    Deaf(u32),
    #[error("process {0} opened no socket to be asked at: was it started with -XX:+DisableAttachMechanism?")]
    Silent(u32),
    #[error("the JVM cannot be reached: {0}")]
    Connect(std::io::Error),
    #[error("the JVM refused {command}: {response}")]
    Refused { command: String, response: String },
}
