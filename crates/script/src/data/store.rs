//! Data that the realms of one process share: data files, feeders, shared values, templates.
//!
//! Read [`Store`]. It is created once for a run and passed to every worker. Its locks are taken while a script declares its data and when a
//! file is used for the first time, never to use a row.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use prost_reflect::DescriptorPool;
use thiserror::Error;

use super::collection::Collections;
use super::elsewhere::{CommonHome, RowsElsewhere};
use super::feeder::{CallLeases, Feeder, Strategy};
use super::files::FileBytes;
use super::protos::{self, ProtoError, ProtoSource};
use super::rows::{CsvOptions, DataError, Rows};
use super::shared::SharedValues;
use super::template::{TemplateError, TextTemplate};
use super::unique::RunMark;
use crate::permissions::FileAccess;

/// How a data file is read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum RowsFormat {
    Csv(CsvOptions),
    /// `at`: the path of the list in the document.
    Json {
        at: Option<String>,
    },
    JsonLines,
}

/// Identifies a feeder of a test. Realms run the same declarations in the same order, so equal keys are the same feeder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FeederKey {
    /// Number of the declaration within its realm.
    pub(crate) order: u64,
    /// File of its rows, or empty.
    pub(crate) path: PathBuf,
    pub(crate) rows: usize,
    pub(crate) strategy: Strategy,
}

/// Files, feeders and values that all realms of a process share.
pub(crate) struct Store {
    seed: u64,
    access: FileAccess,
    mark: RunMark,
    realms: AtomicU64,
    rows: CreatedOnce<(PathBuf, RowsFormat), Rows>,
    feeders: CreatedOnce<FeederKey, Feeder>,
    templates: CreatedOnce<PathBuf, TextTemplate>,
    files: CreatedOnce<PathBuf, FileBytes>,
    services: CreatedOnce<ProtoSource, DescriptorPool>,
    shared: SharedValues,
    collections: Collections,
    /// The set-up's result, as JSON.
    set_up: OnceLock<String>,
    /// The numbering of feeders over several machines.
    leases: OnceLock<Arc<dyn CallLeases>>,
    /// Receives the set-up's result.
    on_set_up: OnceLock<SetUpListener>,
}

/// Receives the set-up's result, as JSON.
pub(crate) struct SetUpListener(pub(crate) Box<dyn Fn(&str) + Send + Sync>);

/// A template file that cannot be used.
#[derive(Debug, Error)]
pub(crate) enum TemplateFileError {
    #[error(transparent)]
    File(#[from] DataError),
    #[error(transparent)]
    TextTemplate(#[from] TemplateError),
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl Store {
    /// `seed`: the run's seed, for shuffled and random rows. `access`: the files that the test may use.
    pub(crate) fn new(seed: u64, access: FileAccess) -> Arc<Self> {
        Arc::new(Self {
            seed,
            access,
            mark: RunMark::new(),
            realms: AtomicU64::new(0),
            rows: CreatedOnce::default(),
            feeders: CreatedOnce::default(),
            templates: CreatedOnce::default(),
            files: CreatedOnce::default(),
            services: CreatedOnce::default(),
            shared: SharedValues::default(),
            collections: Collections::default(),
            set_up: OnceLock::new(),
            leases: OnceLock::new(),
            on_set_up: OnceLock::new(),
        })
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The files that the test may use. Its functions check it before they call the store.
    pub(crate) fn access(&self) -> &FileAccess {
        &self.access
    }

    pub(crate) fn mark(&self) -> &RunMark {
        &self.mark
    }

    pub(crate) fn shared(&self) -> &SharedValues {
        &self.shared
    }

    pub(crate) fn collections(&self) -> &Collections {
        &self.collections
    }

    /// The set-up's result. It is known before any load begins, and never changes.
    pub(crate) fn set_up(&self) -> Option<&str> {
        self.set_up.get().map(String::as_str)
    }

    /// Stores the set-up's result. `here`: it ran in this process.
    pub(crate) fn keep_set_up(&self, json: String, here: bool) {
        if let Some(SetUpListener(notify)) = self.on_set_up.get().filter(|_| here) {
            notify(&json);
        }
        // It runs once.
        let _ = self.set_up.set(json);
    }

    /// Turns the process into one of several machines that share feeders, values, collected rows and a set-up. `folder`: of the test. Call
    /// this once, before any load.
    pub(crate) fn share(&self, leases: Arc<dyn CallLeases>, home: Arc<dyn CommonHome>, folder: &Path, on_set_up: SetUpListener) {
        let _ = (self.leases.set(leases), self.on_set_up.set(on_set_up));
        self.shared.move_to(Arc::clone(&home));
        self.collections.send_to(Arc::new(RowsElsewhere { home, folder: folder.to_owned() }));
    }

    /// Files that were read.
    pub(crate) fn files_read(&self) -> Vec<PathBuf> {
        let rows = self.rows.keys().into_iter().map(|(path, _)| path);
        rows.chain(self.templates.keys()).chain(self.files.keys()).collect()
    }

    /// A number that no other realm of this process has.
    pub(crate) fn realm_number(&self) -> u64 {
        self.realms.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn rows(&self, path: &Path, format: &RowsFormat) -> Result<Arc<Rows>, DataError> {
        self.rows.get(&(path.to_owned(), format.clone()), |_| match format {
            RowsFormat::Csv(options) => Rows::csv(path, options),
            RowsFormat::Json { at } => Rows::json(path, at.as_deref()),
            RowsFormat::JsonLines => Rows::json_lines(path),
        })
    }

    pub(crate) fn feeder(&self, key: &FeederKey) -> Arc<Feeder> {
        let created = self.feeders.get(key, |key| {
            let feeder = Feeder::new(key.strategy, key.rows, self.seed, key.order);
            Ok::<_, std::convert::Infallible>(match self.leases.get() {
                Some(leases) => feeder.leased(key.order, &**leases),
                None => feeder,
            })
        });
        match created {
            Ok(feeder) => feeder,
            Err(never) => match never {},
        }
    }

    pub(crate) fn template(&self, path: &Path) -> Result<Arc<TextTemplate>, TemplateFileError> {
        self.templates.get(&path.to_owned(), |_| {
            let content = self.file(path)?;
            let text =
                content.text().ok_or_else(|| DataError::Unreadable { path: path.to_owned(), problem: "it is not UTF-8".to_owned() })?;
            Ok(TextTemplate::compile(&path.display().to_string(), text)?)
        })
    }

    pub(crate) fn services(&self, source: &ProtoSource) -> Result<Arc<DescriptorPool>, ProtoError> {
        self.services.get(source, protos::compile)
    }

    pub(crate) fn file(&self, path: &Path) -> Result<Arc<FileBytes>, DataError> {
        self.files.get(&path.to_owned(), |_| FileBytes::read(path))
    }
}

/// Objects that are created once and exist as long as the run. Their number is that of the files and declarations of a test.
#[derive(Debug)]
struct CreatedOnce<K, V>(Mutex<HashMap<K, Arc<V>>>);

impl<K, V> Default for CreatedOnce<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash + Clone, V> CreatedOnce<K, V> {
    fn keys(&self) -> Vec<K> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Created under the lock, so that a large file is read once even when all workers start together.
    fn get<E>(&self, key: &K, make: impl FnOnce(&K) -> Result<V, E>) -> Result<Arc<V>, E> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(key) {
            return Ok(Arc::clone(found));
        }
        let created = Arc::new(make(key)?);
        known.insert(key.clone(), Arc::clone(&created));
        Ok(created)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permissions::Permissions;

    fn new_store() -> Arc<Store> {
        Store::new(1, FileAccess::new(Path::new("/"), &Permissions::default()))
    }

    #[test]
    fn a_file_is_read_once_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, "a\n1\n2\n").unwrap();
        let store = new_store();
        let format = RowsFormat::Csv(CsvOptions::default());
        let first = store.rows(&path, &format).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(Arc::ptr_eq(&first, &store.rows(&path, &format).unwrap()));
        assert!(store.rows(&path, &RowsFormat::Json { at: None }).is_err());
    }

    #[test]
    fn equal_declarations_share_a_position_and_others_do_not() {
        let store = new_store();
        let key = FeederKey { order: 0, path: "a.csv".into(), rows: 3, strategy: Strategy::Queue };
        assert_eq!(store.feeder(&key).take(), Some(0));
        assert_eq!(store.feeder(&key).take(), Some(1));
        assert_eq!(store.feeder(&FeederKey { order: 1, ..key }).take(), Some(0));
    }

    #[test]
    fn template_errors_name_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.txt");
        std::fs::write(&path, "x\n{{").unwrap();
        let store = new_store();
        assert!(store.template(&path).unwrap_err().to_string().contains("t.txt:2: {{ without }}"));
        assert!(store.template(&folder.path().join("no.txt")).unwrap_err().to_string().contains("no.txt: cannot be read"));
        std::fs::write(&path, b"\xff").unwrap();
        assert!(new_store().template(&path).unwrap_err().to_string().contains("not UTF-8"));
    }
}
