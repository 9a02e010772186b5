//! The data functions of scripts: `__loadstone.data` in `module/data.ts`.
//!
//! Read [`RealmData`], one realm's view of the [`Store`]. Native objects hold no JavaScript values, so that nothing here keeps a realm
//! alive. Rows created by functions, and lists written in the script, remain on the TypeScript side.

mod collections;
mod feeders;
pub(crate) mod protos;
mod random;
mod realm_data;
mod shared;
pub(crate) mod texts;

use std::rc::Rc;
use std::sync::Arc;

use rquickjs::{Class, Ctx, Object, Result};

pub(crate) use random::RandomHandle;
pub(crate) use realm_data::RealmData;

use super::store::Store;
use realm_data::CallerFolder;

/// Puts `data` on the hidden `__loadstone` object of a new realm.
pub(crate) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, store: &Arc<Store>, folder: CallerFolder) -> Result<Rc<RealmData>> {
    let scope = Rc::new(RealmData::new(store, folder));
    let data = Object::new(ctx.clone())?;
    feeders::install(ctx, &data, &scope)?;
    collections::install(ctx, &data, &scope)?;
    protos::install(ctx, &data, &scope)?;
    shared::install(ctx, &data, &scope)?;
    texts::install(ctx, &data, &scope)?;
    data.set("random", Class::instance(ctx.clone(), random::RandomObject::new(scope.random.clone()))?)?;
    native.set("data", data)?;
    Ok(scope)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
