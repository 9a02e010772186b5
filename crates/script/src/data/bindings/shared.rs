//! Shared values as native objects. `module/data.ts` parses their JSON and caches each version.

use std::rc::Rc;
use std::sync::Arc;

use rquickjs::class::Trace;
use rquickjs::prelude::{Func, List};
use rquickjs::{Class, Ctx, Exception, JsLifetime, Object, Result};

use super::realm_data::RealmData;
use crate::data::elsewhere::SharedError;
use crate::data::shared::SharedValue;

pub(super) fn install<'js>(ctx: &Ctx<'js>, data: &Object<'js>, scope: &Rc<RealmData>) -> Result<()> {
    Class::<NativeShared>::define(data)?;
    let scope = Rc::clone(scope);
    let declare = move |ctx: Ctx<'js>, name: String, initial: String| {
        Class::instance(ctx, NativeShared { value: scope.store.shared().declare(&name, &initial) })
    };
    data.set("shared", Func::from(declare))?;
    let _ = ctx;
    Ok(())
}

#[derive(Trace, JsLifetime)]
#[rquickjs::class]
struct NativeShared {
    #[qjs(skip_trace)]
    value: Arc<SharedValue>,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl NativeShared {
    #[qjs(get)]
    fn version(&self, ctx: Ctx<'_>) -> Result<f64> {
        self.value.version().map(|version| version as f64).map_err(|error| thrown(&ctx, &error))
    }

    /// Version and JSON.
    fn read(&self, ctx: Ctx<'_>) -> Result<List<(f64, String)>> {
        let (version, json) = self.value.read().map_err(|error| thrown(&ctx, &error))?;
        Ok(List((version as f64, json)))
    }

    fn set(&self, ctx: Ctx<'_>, json: String) -> Result<()> {
        self.value.set(&json).map_err(|error| thrown(&ctx, &error))
    }

    fn replace_if(&self, ctx: Ctx<'_>, version: f64, json: String) -> Result<bool> {
        self.value.replace_if(version as u64, &json).map_err(|error| thrown(&ctx, &error))
    }

    fn increment(&self, ctx: Ctx<'_>, by: f64) -> Result<f64> {
        self.value.increment(by).map_err(|error| thrown(&ctx, &error))
    }

    fn push(&self, ctx: Ctx<'_>, items: Vec<String>) -> Result<usize> {
        self.value.push(items.into_iter().map(String::into_boxed_str).collect()).map_err(|error| thrown(&ctx, &error))
    }

    /// JSON of the item, or `undefined`.
    fn shift(&self, ctx: Ctx<'_>) -> Result<Option<String>> {
        self.value.shift().map(|item| item.map(String::from)).map_err(|error| thrown(&ctx, &error))
    }
}

fn thrown(ctx: &Ctx<'_>, error: &SharedError) -> rquickjs::Error {
    Exception::throw_type(ctx, &error.to_string())
}
