//! The database object of a script.

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, JsLifetime, Promise, Value};

use super::query::query;
use super::state::SqlHandle;
use super::transaction::begin;

/// A database, for one user.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "Sql")]
pub(crate) struct SqlObject {
    #[qjs(skip_trace)]
    pub(super) handle: SqlHandle,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl SqlObject {
    fn query<'js>(
        &self,
        ctx: Ctx<'js>,
        text: Opt<Value<'js>>,
        parameters: Opt<Value<'js>>,
        options: Opt<Value<'js>>,
    ) -> rquickjs::Result<Promise<'js>> {
        query(&ctx, &self.handle, text.0, parameters.0, options.0)
    }

    /// For `transaction.ts`: begins a transaction.
    fn begin<'js>(&self, ctx: Ctx<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        begin(&ctx, &self.handle, options.0.as_ref())
    }
}
