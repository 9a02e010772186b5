//! Reads the options of `user.sql(…)`, of statements and of transactions.

use loadstone_metrics::Tags;
use rquickjs::{Ctx, Value};

use crate::protocols::options::{duration, each, not_in, switch, text, wrong};
use crate::tags;
use crate::unknown_options::{OptionSet, OptionsOfVerb};

static DATABASE: OptionSet = OptionSet::new("a database", &["timeout", "prepare"]);
static STATEMENT: OptionSet = OptionSet::new("a statement", &["name", "timeout", "tags", "arrays"]);
static TRANSACTION: OptionSet = OptionSet::new("a transaction", &["name", "timeout", "tags", "isolation"]);

const ISOLATION: [&str; 3] = ["read committed", "repeatable read", "serializable"];

pub(super) const OPTIONS: &[OptionsOfVerb] = &[OptionsOfVerb { verb: "sql", argument: 1, options: &DATABASE }];

/// The options of `user.sql`.
pub(super) struct DatabaseOptions {
    pub(super) timeout_ns: Option<u64>,
    pub(super) prepare: bool,
}

impl DatabaseOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, object: &Value<'js>) -> rquickjs::Result<Self> {
        let mut options = Self { timeout_ns: None, prepare: true };
        each(ctx, Some(object), "sql(…)", |key, value| {
            match key {
                "timeout" => options.timeout_ns = Some(duration(ctx, &value, "timeout")?),
                "prepare" => options.prepare = switch(ctx, value, "prepare")?,
                other => return Err(not_in(ctx, other, &DATABASE)),
            }
            Ok(())
        })?;
        Ok(options)
    }
}

/// How a statement is recorded, and the form of its rows.
#[derive(Default, Clone)]
pub(super) struct StatementOptions {
    pub(super) name: Option<String>,
    pub(super) timeout_ns: Option<u64>,
    pub(super) tags: Tags,
    /// Rows are lists instead of objects.
    pub(super) arrays: bool,
}

impl StatementOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, object: Option<&Value<'js>>) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        each(ctx, object, "the options of a statement", |key, value| {
            match key {
                "name" => options.name = Some(text(ctx, &value, "name")?),
                "timeout" => options.timeout_ns = Some(duration(ctx, &value, "timeout")?),
                "tags" => options.tags = tags::read(ctx, &value, &STATEMENT.of)?,
                "arrays" => options.arrays = switch(ctx, value, "arrays")?,
                other => return Err(not_in(ctx, other, &STATEMENT)),
            }
            Ok(())
        })?;
        Ok(options)
    }
}

/// How a transaction begins, and how its beginning and end are recorded.
#[derive(Default)]
pub(super) struct TransactionOptions {
    /// For `BEGIN`, `COMMIT` and `ROLLBACK`.
    pub(super) statements: StatementOptions,
    pub(super) isolation: Option<&'static str>,
}

impl TransactionOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, object: Option<&Value<'js>>) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        let StatementOptions { name, timeout_ns, tags, .. } = &mut options.statements;
        each(ctx, object, "the options of a transaction", |key, value| {
            match key {
                "name" => *name = Some(text(ctx, &value, "name")?),
                "timeout" => *timeout_ns = Some(duration(ctx, &value, "timeout")?),
                "tags" => *tags = tags::read(ctx, &value, &TRANSACTION.of)?,
                "isolation" => {
                    let written = text(ctx, &value, "isolation")?;
                    let known = ISOLATION.into_iter().find(|known| *known == written);
                    options.isolation =
                        Some(known.ok_or_else(|| {
                            wrong(ctx, &format!("isolation: \"{written}\" is not one of \"{}\"", ISOLATION.join("\", \"")))
                        })?);
                }
                other => return Err(not_in(ctx, other, &TRANSACTION)),
            }
            Ok(())
        })?;
        Ok(options)
    }
}
