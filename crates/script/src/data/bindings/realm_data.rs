//! One realm's view of the [`Store`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rquickjs::{Ctx, Exception, Result};

use super::random::RandomHandle;
use crate::data::draws::DrawStream;
use crate::data::files::FileBytes;
use crate::data::store::Store;
use crate::data::template::TextTemplate;
use crate::data::unique::UniqueIds;
use crate::permissions::AccessKind;
use crate::unknown_options::report_misuse;

/// The folder that a script's file names are relative to: the folder of the calling file.
pub(crate) type CallerFolder = Box<dyn Fn(&Ctx<'_>) -> PathBuf>;

/// One realm's view of the store.
pub(crate) struct RealmData {
    pub(super) store: Arc<Store>,
    pub(super) folder: CallerFolder,
    pub(super) random: RandomHandle,
    pub(super) ids: RefCell<UniqueIds>,
    /// Feeders declared so far: realms run the same declarations in the same order.
    declared: Cell<u64>,
    sealed: Cell<bool>,
    pub(super) templates: RefCell<ByModuleAndPath<TextTemplate>>,
    pub(super) files: RefCell<ByModuleAndPath<FileBytes>>,
}

/// Values that the realm has used, by calling module and by the path as written, so that a repeated access needs no lock and allocates
/// nothing.
pub(super) type ByModuleAndPath<T> = HashMap<String, HashMap<String, Arc<T>>>;

impl RealmData {
    pub(super) fn new(store: &Arc<Store>, folder: CallerFolder) -> Self {
        let realm = store.realm_number();
        Self {
            store: Arc::clone(store),
            folder,
            random: RandomHandle::new(store.seed(), DrawStream::Realm { number: realm }),
            ids: RefCell::new(UniqueIds::new(store.mark(), realm)),
            declared: Cell::new(0),
            sealed: Cell::new(false),
            templates: RefCell::default(),
            files: RefCell::default(),
        }
    }

    /// The test file has been evaluated: feeders can no longer be declared.
    pub(crate) fn seal(&self) {
        self.sealed.set(true);
    }

    pub(super) fn is_sealed(&self) -> bool {
        self.sealed.get()
    }

    /// The source of draws outside any user: `random`, `Math.random`, `crypto`.
    pub(crate) fn random(&self) -> &RandomHandle {
        &self.random
    }

    /// The number of a new feeder, or an error once the test file has been evaluated.
    pub(super) fn declare(&self, ctx: &Ctx<'_>, what: &str) -> Result<u64> {
        if self.sealed.get() {
            let message =
                format!("{what}: declare feeders at the top level of the test, outside scenarios, so that all users share their position");
            return Err(Exception::throw_message(ctx, &message));
        }
        Ok(self.declared.replace(self.declared.get() + 1))
    }

    /// The path of a file as written in the script.
    ///
    /// # Errors
    /// The test may not access the file. The run fails also if the script catches the error.
    pub(super) fn path(&self, ctx: &Ctx<'_>, kind: AccessKind, written: &str) -> Result<PathBuf> {
        let path = Path::new(written);
        let path = if path.is_absolute() { path.to_owned() } else { (self.folder)(ctx).join(path) };
        match self.store.access().check(kind, &path) {
            Ok(()) => Ok(path),
            Err(refused) => Err(Exception::throw_message(ctx, &report_misuse(ctx, refused.to_string()))),
        }
    }

    pub(super) fn known<T, E: fmt::Display>(
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
        let loaded =
            load(&self.path(ctx, AccessKind::Read, written)?).map_err(|error| Exception::throw_message(ctx, &error.to_string()))?;
        known.borrow_mut().entry(module).or_default().insert(written.to_owned(), Arc::clone(&loaded));
        Ok(loaded)
    }
}
