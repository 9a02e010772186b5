//! The object through which a script writes records.

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, JsLifetime, Promise, Value};

use super::produce;
use super::state::KafkaHandle;

/// A Kafka cluster, for one user.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "Kafka")]
pub(crate) struct KafkaObject {
    #[qjs(skip_trace)]
    pub(super) handle: KafkaHandle,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl KafkaObject {
    fn produce<'js>(
        &self,
        ctx: Ctx<'js>,
        topic: Value<'js>,
        records: Value<'js>,
        options: Opt<Value<'js>>,
    ) -> rquickjs::Result<Promise<'js>> {
        produce::produce(&ctx, &self.handle, &topic, &records, options.0.as_ref())
    }
}
