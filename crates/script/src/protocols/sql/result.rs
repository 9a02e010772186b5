//! The result object of a script. Its rows become values when the script reads them.

use loadstone_metrics::Sample;
use loadstone_protocol::sql::{SqlAnswer, SqlValue};
use rquickjs::class::Trace;
use rquickjs::function::This;
use rquickjs::object::Property;
use rquickjs::{Class, Ctx, JsLifetime, Object, Value};

use super::state::SqlFailure;
use super::value;
use crate::protocols::http::response::times;

#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "SqlResult")]
pub(crate) struct SqlResultObject {
    /// Without rows if there was no answer.
    #[qjs(skip_trace)]
    pub(super) answer: SqlAnswer,
    #[qjs(skip_trace)]
    pub(super) sample: Sample,
    #[qjs(skip_trace)]
    pub(super) failure: Option<SqlFailure>,
    #[qjs(skip_trace)]
    pub(super) arrays: bool,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl SqlResultObject {
    #[qjs(get)]
    fn ok(&self) -> bool {
        self.failure.is_none()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.failure.as_ref().map(|failure| failure.error.clone())
    }

    #[qjs(get)]
    fn code(&self) -> Option<String> {
        self.failure.as_ref()?.code.clone()
    }

    #[qjs(get)]
    fn count(&self) -> f64 {
        self.answer.count.unwrap_or_default() as f64
    }

    /// The number that the server assigned to the first added row.
    #[qjs(get)]
    fn inserted_id<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let number =
            self.answer.inserted.map(|number| i64::try_from(number).map_or(SqlValue::Text(number.to_string().into()), SqlValue::Integer));
        number.map_or_else(|| Ok(Value::new_undefined(ctx.clone())), |number| value::value(&ctx, number))
    }

    /// All rows. Created once, and then a property of the object.
    #[qjs(get)]
    fn rows<'js>(this: This<Class<'js, Self>>, ctx: Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let rows = {
            let result = this.0.borrow();
            value::rows(&ctx, &result.answer, result.arrays)?
        };
        this.0.prop("rows", Property::from(rows.clone()).enumerable().configurable())?;
        Ok(rows)
    }

    /// The first row.
    #[qjs(get)]
    fn row<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let first = self.answer.rows().next();
        first.map_or_else(|| Ok(Value::new_undefined(ctx.clone())), |row| value::row(&ctx, row, self.arrays))
    }

    /// The first value of the first row.
    #[qjs(get)]
    fn value<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let first = self.answer.rows().next().and_then(|row| row.values().next());
        first.map_or_else(|| Ok(Value::new_undefined(ctx.clone())), |(_, first)| value::value(&ctx, first))
    }

    #[qjs(get)]
    fn times<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        times(&ctx, &self.sample)
    }
}
