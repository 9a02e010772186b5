//! The record object that a function of `kafka.consume(…)` receives.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_protocol::kafka::KafkaReadRecord;
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::object::Property;
use rquickjs::{Class, Ctx, JsLifetime, Object, TypedArray, Value};

use crate::body::BodyReader;
use crate::extract::cache::Compiled;
use crate::inbound::ConsumedMessage;

/// A record that has been read.
pub(super) struct ConsumedRecord {
    pub(super) read: KafkaReadRecord,
    pub(super) topic: Arc<str>,
}

impl ConsumedMessage for ConsumedRecord {
    fn into_object<'js>(self: Box<Self>, ctx: &Ctx<'js>, compiled: &Rc<RefCell<Compiled>>) -> rquickjs::Result<Value<'js>> {
        let Self { read, topic } = *self;
        Class::instance(ctx.clone(), ConsumedRecordObject { read, topic, compiled: Rc::clone(compiled) }).map(Class::into_value)
    }
}

#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "KafkaRecord")]
pub(super) struct ConsumedRecordObject {
    #[qjs(skip_trace)]
    read: KafkaReadRecord,
    #[qjs(skip_trace)]
    topic: Arc<str>,
    #[qjs(skip_trace)]
    compiled: Rc<RefCell<Compiled>>,
}

impl ConsumedRecordObject {
    fn value(&self) -> &[u8] {
        self.read.record.value.as_deref().unwrap_or_default()
    }

    fn described(&self) -> String {
        format!("a record of \"{}\"", self.topic)
    }

    fn reading<T>(&self, read: impl FnOnce(&BodyReader<'_>) -> T) -> T {
        let (described, content_type) = (|| self.described(), || None);
        read(&BodyReader { bytes: self.value(), content_type: &content_type, compiled: &self.compiled, described: &described })
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl ConsumedRecordObject {
    #[qjs(get)]
    fn topic(&self) -> String {
        self.topic.to_string()
    }

    #[qjs(get)]
    fn partition(&self) -> i32 {
        self.read.record.partition.unwrap_or_default()
    }

    #[qjs(get)]
    fn offset(&self) -> f64 {
        self.read.offset as f64
    }

    /// Milliseconds since 1970.
    #[qjs(get)]
    fn timestamp(&self) -> f64 {
        self.read.record.timestamp_ms as f64
    }

    /// As a string. `undefined` if there is none.
    #[qjs(get)]
    fn key(&self) -> Option<String> {
        self.read.record.key.as_ref().map(|key| String::from_utf8_lossy(key).into_owned())
    }

    #[qjs(get)]
    fn headers<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let object = Object::new(ctx)?;
        for (name, value) in &self.read.record.headers {
            let text = value.as_ref().map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default();
            // Defined, not set: a header may be called `__proto__`. The last of several equal names wins.
            object.prop(name.as_str(), Property::from(text).writable().enumerable().configurable())?;
        }
        Ok(object)
    }

    /// Whether it has a value. A record without one deletes its key.
    #[qjs(get)]
    fn has_value(&self) -> bool {
        self.read.record.value.is_some()
    }

    #[qjs(get)]
    fn text<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<rquickjs::String<'js>> {
        rquickjs::String::from_str(ctx, &String::from_utf8_lossy(self.value()))
    }

    #[qjs(get)]
    fn bytes<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<TypedArray<'js, u8>> {
        TypedArray::new_copy(ctx, self.value())
    }

    fn json<'js>(&self, ctx: Ctx<'js>, path: Opt<Value<'js>>, fallback: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
        self.reading(|body| body.json(&ctx, path, fallback))
    }

    fn json_all<'js>(&self, ctx: Ctx<'js>, path: String) -> rquickjs::Result<Value<'js>> {
        self.reading(|body| body.json_all(&ctx, &path))
    }

    /// For messages of code in TypeScript.
    fn description(&self) -> String {
        self.described()
    }
}
