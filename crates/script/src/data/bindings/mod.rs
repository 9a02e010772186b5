//! Data in front of scripts: what `module/data.ts` finds as `__loadstone.data`.
//!
//! Read [`RealmData`], one realm's view of the [`Store`]. Native objects hold no JavaScript values, so that nothing here keeps a realm
//! alive; rows made by functions and lists written in the script stay on the TypeScript side.

mod collections;
mod feeders;
pub(crate) mod protos;
mod random;
mod shared;
pub(crate) mod texts;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use rquickjs::{Class, Ctx, Exception, Object, Result};

pub(crate) use random::RandomHandle;

use super::draws::DrawStream;
use super::files::FileBytes;
use super::store::Store;
use super::template::TextTemplate;
use super::unique::UniqueIds;

/// The folder that a script's file names are relative to: that of the file which called.
pub(crate) type CallerFolder = Box<dyn Fn(&Ctx<'_>) -> PathBuf>;

/// One realm's view of the store.
pub(crate) struct RealmData {
    store: Arc<Store>,
    folder: CallerFolder,
    random: RandomHandle,
    ids: RefCell<UniqueIds>,
    /// Feeders declared so far: realms run the same declarations in the same order.
    declared: Cell<u64>,
    sealed: Cell<bool>,
    templates: RefCell<ByModuleAndPath<TextTemplate>>,
    files: RefCell<ByModuleAndPath<FileBytes>>,
}

/// What a realm has used, by calling module and by the path as written: found again without a lock or a new text.
type ByModuleAndPath<T> = HashMap<String, HashMap<String, Arc<T>>>;

impl RealmData {
    /// After the test file was evaluated: feeders can no longer be declared.
    pub(crate) fn seal(&self) {
        self.sealed.set(true);
    }

    /// What the realm draws outside any user: `random`, `Math.random`, `crypto`.
    pub(crate) fn random(&self) -> &RandomHandle {
        &self.random
    }

    /// The number of a new feeder, or an error once the test file has been evaluated.
    fn declare(&self, ctx: &Ctx<'_>, what: &str) -> Result<u64> {
        if self.sealed.get() {
            let message =
                format!("{what}: declare feeders at the top level of the test, outside scenarios, so that all users share their position");
            return Err(Exception::throw_message(ctx, &message));
        }
        Ok(self.declared.replace(self.declared.get() + 1))
    }

    fn path(&self, ctx: &Ctx<'_>, written: &str) -> PathBuf {
        let path = Path::new(written);
        if path.is_absolute() { path.to_owned() } else { (self.folder)(ctx).join(path) }
    }

    fn known<T, E: fmt::Display>(
        &self,
        ctx: &Ctx<'_>,
        known: &RefCell<ByModuleAndPath<T>>,
        written: &str,
        load: impl FnOnce(&Path) -> std::result::Result<Arc<T>, E>,
    ) -> Result<Arc<T>> {
        // Level 1 is the JavaScript function that called.
        let module = ctx.script_or_module_name(1).and_then(|name| name.to_string().ok()).unwrap_or_default();
        if let Some(found) = known.borrow().get(&module).and_then(|paths| paths.get(written)) {
            return Ok(Arc::clone(found));
        }
        let loaded = load(&self.path(ctx, written)).map_err(|error| Exception::throw_message(ctx, &error.to_string()))?;
        known.borrow_mut().entry(module).or_default().insert(written.to_owned(), Arc::clone(&loaded));
        Ok(loaded)
    }
}

/// Puts `data` on the hidden `__loadstone` object of a new realm.
pub(crate) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, store: &Arc<Store>, folder: CallerFolder) -> Result<Rc<RealmData>> {
    let realm = store.realm_number();
    let scope = Rc::new(RealmData {
        store: Arc::clone(store),
        folder,
        random: RandomHandle::new(store.seed(), DrawStream::Realm { number: realm }),
        ids: RefCell::new(UniqueIds::new(store.mark(), realm)),
        declared: Cell::new(0),
        sealed: Cell::new(false),
        templates: RefCell::default(),
        files: RefCell::default(),
    });
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
