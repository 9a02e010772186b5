//! The object that a transaction's function receives.

use std::rc::Rc;

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, JsLifetime, Promise, Value};

use super::ending::end;
use super::options::StatementOptions;
use super::query::query;
use super::state::{SqlHandle, TransactionState};

/// An open transaction.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "SqlTransaction")]
pub(crate) struct SqlTransactionObject {
    #[qjs(skip_trace)]
    pub(super) handle: SqlHandle,
    #[qjs(skip_trace)]
    pub(super) state: Rc<TransactionState>,
    /// Of its beginning and of its end.
    #[qjs(skip_trace)]
    pub(super) options: StatementOptions,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl SqlTransactionObject {
    fn query<'js>(
        &self,
        ctx: Ctx<'js>,
        text: Opt<Value<'js>>,
        parameters: Opt<Value<'js>>,
        options: Opt<Value<'js>>,
    ) -> rquickjs::Result<Promise<'js>> {
        query(&ctx, &self.handle, text.0, parameters.0, options.0)
    }

    /// For `transaction.ts`.
    fn commit<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        end(&ctx, &self.handle, &self.options, "COMMIT")
    }

    fn rollback<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        end(&ctx, &self.handle, &self.options, "ROLLBACK")
    }

    /// For `transaction.ts`: whether it has a connection and has not ended.
    #[qjs(get)]
    fn open(&self) -> bool {
        self.state.id.is_some_and(|id| self.handle.client.can_end(id))
    }

    /// For `transaction.ts`: releases the connection in every case.
    fn leave(&self) {
        self.state.id.into_iter().for_each(|id| self.handle.client.leave(id));
    }

    #[qjs(get)]
    fn committed(&self) -> bool {
        self.state.committed.get()
    }

    #[qjs(get)]
    fn ok(&self) -> bool {
        self.state.failure().is_none()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.state.failure().map(|failure| failure.error)
    }

    #[qjs(get)]
    fn code(&self) -> Option<String> {
        self.state.failure()?.code
    }
}
