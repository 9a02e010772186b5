//! A request to a server.

use super::address::SqlDialect;
use super::parameter::SqlParameter;

/// A statement and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlStatement {
    pub text: String,
    /// For `$1`, `$2`, …, or for each `?`.
    pub parameters: Vec<SqlParameter>,
    /// A statement that is sent before it with a separate round trip, as a part of it.
    pub preamble: Option<String>,
}

impl SqlStatement {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), parameters: Vec::new(), preamble: None }
    }

    /// Begins a transaction, if requested with an isolation level such as `serializable`.
    pub fn begin(dialect: SqlDialect, isolation: Option<&str>) -> Self {
        let level = isolation.map(|level| format!("ISOLATION LEVEL {}", level.to_uppercase()));
        match dialect {
            SqlDialect::Postgres => Self::plain(level.map_or_else(|| "BEGIN".to_owned(), |level| format!("BEGIN {level}"))),
            // MySQL's `BEGIN` takes no level. This sets the level of the next transaction only.
            SqlDialect::MySql => Self { preamble: level.map(|level| format!("SET TRANSACTION {level}")), ..Self::plain("BEGIN") },
        }
    }

    /// Whether it ends a transaction and commits it.
    pub(super) fn commits(&self) -> bool {
        self.begins_with(&["commit", "end"])
    }

    /// Whether it ends a transaction, or begins one, which ends any open one.
    pub(super) fn ends_a_transaction(&self) -> bool {
        self.begins_with(&["commit", "rollback", "begin", "start"])
    }

    fn begins_with(&self, words: &[&str]) -> bool {
        let first = self.text.split(|character: char| !character.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default();
        words.iter().any(|word| first.eq_ignore_ascii_case(word))
    }
}
