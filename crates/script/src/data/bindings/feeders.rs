//! Rows and feeders as native objects: `open(…)` → rows, `feeder(…)` → tickets.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::prelude::Func;
use rquickjs::{Class, Ctx, Exception, Function, JsLifetime, Object, Result, Value};

use super::realm_data::RealmData;
use crate::data::feeder::{Feeder, Strategy};
use crate::data::rows::{CsvOptions, Rows};
use crate::data::store::{FeederKey, RowsFormat};
use crate::exact_json;
use crate::fields::define;
use crate::permissions::AccessKind;

pub(super) fn install<'js>(ctx: &Ctx<'js>, data: &Object<'js>, scope: &Rc<RealmData>) -> Result<()> {
    Class::<NativeRows>::define(data)?;
    Class::<Tickets>::define(data)?;
    let realm = Rc::clone(scope);
    data.set("open", Func::from(move |ctx, format, path, option, columns| open(&realm, &ctx, format, path, option, columns)))?;
    let realm = Rc::clone(scope);
    data.set("feeder", Func::from(move |ctx, strategy, rows, path| tickets(&realm, &ctx, strategy, rows, path)))?;
    let _ = ctx;
    Ok(())
}

/// The rows of a file.
#[derive(Trace, JsLifetime)]
#[rquickjs::class]
struct NativeRows {
    #[qjs(skip_trace)]
    rows: Arc<Rows>,
    #[qjs(skip_trace)]
    path: PathBuf,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl NativeRows {
    #[qjs(get)]
    fn length(&self) -> usize {
        self.rows.len()
    }

    #[qjs(get)]
    fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// A new object for a row.
    fn row<'js>(&self, ctx: Ctx<'js>, row: u32) -> Result<Value<'js>> {
        match &*self.rows {
            Rows::RowTable(table) => {
                let object = Object::new(ctx)?;
                for (column, value) in table.columns().iter().zip(table.row(row as usize)) {
                    define(&object, column, value)?;
                }
                Ok(object.into_value())
            }
            Rows::Json(rows) => exact_json::parse(&ctx, rows[row as usize].as_bytes()),
        }
    }
}

fn open<'js>(
    scope: &RealmData,
    ctx: &Ctx<'js>,
    format: String,
    written: String,
    option: Opt<String>,
    columns: Opt<Option<Vec<String>>>,
) -> Result<Class<'js, NativeRows>> {
    let format = match format.as_str() {
        "json" => RowsFormat::Json { at: option.0 },
        "jsonl" => RowsFormat::JsonLines,
        _ => RowsFormat::Csv(CsvOptions { separator: one_byte(ctx, option.0)?, columns: columns.0.flatten() }),
    };
    let path = scope.path(ctx, AccessKind::Read, &written)?;
    let rows = scope.store.rows(&path, &format).map_err(|error| Exception::throw_message(ctx, &error.to_string()))?;
    Class::instance(ctx.clone(), NativeRows { rows, path })
}

fn one_byte(ctx: &Ctx<'_>, separator: Option<String>) -> Result<u8> {
    match separator.as_deref().unwrap_or(",").as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(Exception::throw_message(ctx, "csv(…): `separator` is one ASCII character, such as \";\" or \"\\t\"")),
    }
}

/// Hands out the numbers of rows.
#[derive(Trace, JsLifetime)]
#[rquickjs::class]
struct Tickets {
    #[qjs(skip_trace)]
    feeder: Arc<Feeder>,
    #[qjs(skip_trace)]
    key: FeederKey,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl Tickets {
    /// The next row's number. Throws an error named `Exhausted` when every row has been used.
    fn take(&self, ctx: Ctx<'_>) -> Result<f64> {
        match self.feeder.take() {
            // Exact in a double: 2⁵³ calls take centuries.
            Some(row) => Ok(row as f64),
            None => Err(self.exhausted(&ctx)),
        }
    }

    /// Rows that remain.
    #[qjs(get)]
    fn remaining(&self) -> f64 {
        self.feeder.remaining().map_or(f64::INFINITY, |rows| rows as f64)
    }
}

impl Tickets {
    fn exhausted(&self, ctx: &Ctx<'_>) -> rquickjs::Error {
        let name = self.key.path.file_name().map_or_else(|| "rows".to_owned(), |name| name.to_string_lossy().into_owned());
        let message = format!("{name} is exhausted: all {} rows have been used ({})", self.key.rows, self.feeder.strategy().name());
        if self.feeder.is_first_to_report()
            && let Err(error) = warn(ctx, &format!("{message}; the part of the load that needs more rows ends"))
        {
            return error;
        }
        let error = Exception::from_message(ctx.clone(), &message).and_then(|error| {
            error.as_object().set("name", "Exhausted")?;
            Ok(error)
        });
        match error {
            Ok(error) => error.throw(),
            Err(error) => error,
        }
    }
}

/// A line on the script's console.
fn warn(ctx: &Ctx<'_>, line: &str) -> Result<()> {
    let Some(console) = ctx.globals().get::<_, Option<Object<'_>>>("console")? else { return Ok(()) };
    console.get::<_, Function<'_>>("warn")?.call((line,))
}

fn tickets<'js>(scope: &RealmData, ctx: &Ctx<'js>, strategy: String, rows: usize, path: String) -> Result<Class<'js, Tickets>> {
    let strategy = match strategy.as_str() {
        "random" => Strategy::Random,
        "shuffle" => Strategy::Shuffle,
        "queue" => Strategy::Queue,
        "generator" => Strategy::Number,
        _ => Strategy::Circular,
    };
    let order = scope.declare(ctx, &format!("{}()", strategy.name()))?;
    let key = FeederKey { order, path: path.into(), rows, strategy };
    Class::instance(ctx.clone(), Tickets { feeder: scope.store.feeder(&key), key })
}
