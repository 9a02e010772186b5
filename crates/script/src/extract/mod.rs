//! Extraction of values from bodies: JSON path, CSS selectors, XPath. Pure functions over bytes and strings.
//!
//! Read [`json::JsonPath`], [`markup`] and [`xpath::XPath`]. Deliberately absent: JavaScript (the response object converts the values), headers, and regular
//! expressions, which scripts run with their engine.

pub(crate) mod cache;
pub(crate) mod effort;
pub(crate) mod json;
pub(crate) mod markup;
pub(crate) mod nesting;
pub(crate) mod scan;
pub(crate) mod xpath;

use thiserror::Error;

/// Why a value could not be extracted. A missing value is no error here: the caller knows the response and reports it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ExtractError {
    #[error("\"{expression}\" is not a valid {kind}: {problem}")]
    Expression { kind: &'static str, expression: String, problem: String },
    #[error("{0}")]
    Body(String),
}
