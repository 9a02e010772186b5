//! Why a string is not a valid value: the input, and the format expected instead.

use thiserror::Error;

/// An input that could not be parsed. The message is complete; a caller prefixes it with the name of the flag or option.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    #[error("\"{text}\" is not a duration: expected a number and a unit, such as \"500ms\", \"30s\", \"1m30s\" or \"2h\"")]
    Duration { text: String },
    #[error("\"{text}\" is longer than any run can last")]
    TooLong { text: String },
    #[error("\"{text}\" is not a rate: expected a number per second, or a number and a unit, such as \"360/s\", \"90/min\" or \"5000/h\"")]
    Rate { text: String },
    #[error("\"{text}\" is not a share: expected a percentage from 0% to 100%, such as \"1%\", or a number from 0 to 1, such as 0.01")]
    Share { text: String },
    #[error("\"{text}\" is not a size: expected a number and a unit, such as \"500MB\", \"2GB\" or \"1.5TB\"")]
    Size { text: String },
}
