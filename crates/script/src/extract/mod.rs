//! Taking values out of bodies: JSON path, CSS selectors, XPath. Pure functions over bytes and texts.
//!
//! Read [`json::JsonPath`] and [`markup`]. Deliberately absent: JavaScript (the response object converts what is found), headers, and
//! regular expressions, which scripts run with their own engine.

pub(crate) mod cache;
pub(crate) mod json;
pub(crate) mod markup;
pub(crate) mod scan;

use thiserror::Error;

/// Why nothing could be taken out. A value that is not there is not an error here: the caller knows which response it was and says so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ExtractError {
    #[error("\"{expression}\" is not a valid {kind}: {problem}")]
    Expression { kind: &'static str, expression: String, problem: String },
    #[error("{0}")]
    Body(String),
}
