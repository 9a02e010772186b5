//! The object that a script gives records to.

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, JsLifetime, Promise, Value};

use super::produce;
use super::state::KafkaHandle;

/// A Kafka cluster as one user has it.
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
