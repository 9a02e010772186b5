//! Values of a statement.

/// A value for one of a statement's `$1`, `$2`, …, or for one of its `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqlParameter {
    Null,
    Boolean(bool),
    /// In JavaScript's notation.
    Number(String),
    Text(String),
    /// An instant: `2026-11-23T17:00:00.000Z`.
    Time(String),
    /// A list in PostgreSQL's notation: `{1,2,"three"}`.
    List(String),
    Bytes(Vec<u8>),
}

impl SqlParameter {
    /// In text form. `None` if it has none.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Null | Self::Bytes(_) => None,
            Self::Boolean(true) => Some("true"),
            Self::Boolean(false) => Some("false"),
            Self::Number(text) | Self::Text(text) | Self::Time(text) | Self::List(text) => Some(text),
        }
    }
}
