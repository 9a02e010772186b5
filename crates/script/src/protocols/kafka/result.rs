//! The result object of a script.

use loadstone_metrics::Sample;
use loadstone_protocol::kafka::{KafkaPlace, KafkaProblem};
use rquickjs::class::Trace;
use rquickjs::{Array, Ctx, JsLifetime, Object, Value};

use crate::protocols::http::response::times;

#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "KafkaResult")]
pub(crate) struct KafkaResultObject {
    #[qjs(skip_trace)]
    pub(super) result: Result<Vec<KafkaPlace>, KafkaProblem>,
    #[qjs(skip_trace)]
    pub(super) sample: Sample,
}

impl KafkaResultObject {
    fn first(&self) -> Option<KafkaPlace> {
        self.result.as_ref().ok()?.first().copied()
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl KafkaResultObject {
    #[qjs(get)]
    fn ok(&self) -> bool {
        self.result.is_ok()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.result.as_ref().err().map(KafkaProblem::text)
    }

    #[qjs(get)]
    fn code(&self) -> Option<String> {
        match &self.result {
            Err(KafkaProblem::Refused(refusal)) => Some(refusal.name()),
            _ => None,
        }
    }

    #[qjs(get)]
    fn partition(&self) -> Option<i32> {
        self.first().map(|place| place.partition)
    }

    #[qjs(get)]
    fn offset(&self) -> Option<f64> {
        self.first().and_then(|place| place.offset).map(|offset| offset as f64)
    }

    /// The place of each record, in their order.
    #[qjs(get)]
    fn places<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let list = Array::new(ctx.clone())?;
        for (number, place) in self.result.iter().flatten().enumerate() {
            let object = Object::new(ctx.clone())?;
            object.set("partition", place.partition)?;
            object.set("offset", place.offset.map(|offset| offset as f64))?;
            list.set(number, object)?;
        }
        Ok(list.into_value())
    }

    #[qjs(get)]
    fn times<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        times(&ctx, &self.sample)
    }
}
