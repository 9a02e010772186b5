//! Collections as native objects. `module/data.ts` converts rows to lines.

use std::rc::Rc;
use std::sync::Arc;

use rquickjs::class::Trace;
use rquickjs::prelude::Func;
use rquickjs::{Class, Ctx, Exception, JsLifetime, Object, Result};

use super::realm_data::RealmData;
use crate::data::collection::Collection;
use crate::permissions::AccessKind;

pub(super) fn install<'js>(ctx: &Ctx<'js>, data: &Object<'js>, scope: &Rc<RealmData>) -> Result<()> {
    Class::<NativeCollection>::define(data)?;
    let scope = Rc::clone(scope);
    let declare = move |ctx: Ctx<'js>, path: String| {
        let collection = scope.store.collections().declare(&scope.path(&ctx, AccessKind::Write, &path)?);
        Class::instance(ctx, NativeCollection { collection, scope: Rc::clone(&scope) })
    };
    data.set("collection", Func::from(declare))?;
    let _ = ctx;
    Ok(())
}

#[derive(Trace, JsLifetime)]
#[rquickjs::class]
struct NativeCollection {
    #[qjs(skip_trace)]
    collection: Arc<Collection>,
    #[qjs(skip_trace)]
    scope: Rc<RealmData>,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl NativeCollection {
    fn add(&self, ctx: Ctx<'_>, header: String, line: String) -> Result<()> {
        if !self.scope.is_sealed() {
            let message = "collect(…).add(row): add rows in a scenario; the top level of the test runs once on every core";
            return Err(Exception::throw_message(&ctx, message));
        }
        self.collection.add(&header, &line).map_err(|error| Exception::throw_message(&ctx, &error.to_string()))
    }
}
