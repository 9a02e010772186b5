//! What a server is asked to do.

use super::address::SqlDialect;
use super::parameter::SqlParameter;

/// A statement and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlStatement {
    pub text: String,
    /// For `$1` and what follows, or for each `?`.
    pub parameters: Vec<SqlParameter>,
    /// A statement that goes before it on a trip of its own, as a part of it.
    pub preamble: Option<String>,
}

impl SqlStatement {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), parameters: Vec::new(), preamble: None }
    }

    /// Begins a transaction, where asked for at a level such as `serializable`.
    pub fn begin(dialect: SqlDialect, isolation: Option<&str>) -> Self {
        let level = isolation.map(|level| format!("ISOLATION LEVEL {}", level.to_uppercase()));
        match dialect {
            SqlDialect::Postgres => Self::plain(level.map_or_else(|| "BEGIN".to_owned(), |level| format!("BEGIN {level}"))),
            // Its `BEGIN` takes no level; this is of the next transaction only.
            SqlDialect::MySql => Self { preamble: level.map(|level| format!("SET TRANSACTION {level}")), ..Self::plain("BEGIN") },
        }
    }

    /// It ends a transaction and wants to keep what that did.
    pub(super) fn commits(&self) -> bool {
        self.begins_with(&["commit", "end"])
    }

    /// It ends a transaction, or begins one, which ends whatever was open.
    pub(super) fn ends_a_transaction(&self) -> bool {
        self.begins_with(&["commit", "rollback", "begin", "start"])
    }

    fn begins_with(&self, words: &[&str]) -> bool {
        let first = self.text.split(|character: char| !character.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default();
        words.iter().any(|word| first.eq_ignore_ascii_case(word))
    }
}
