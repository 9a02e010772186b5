//! What a realm is created from.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use loadstone_plan::DeclaredMetric;
use loadstone_protocol::HostPattern;
use loadstone_script::{FileAccess, Program};

use crate::moved_folder::MovedFolder;
use crate::test::{K6Test, Shared};

/// Inputs of a realm.
#[derive(Clone)]
pub(crate) struct RealmInputs {
    pub(crate) program: Arc<Program>,
    /// Empty: modules are compiled from their source.
    pub(crate) bytecode: Arc<HashMap<String, Vec<u8>>>,
    pub(crate) variables: Arc<BTreeMap<String, String>>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) options: Arc<str>,
    /// The metrics of the plan, by name. `None`: the test is being planned.
    pub(crate) metrics: Option<Arc<HashMap<String, usize>>>,
    pub(crate) console: Rc<dyn Fn(&str)>,
    /// The files that the script may read.
    pub(crate) access: FileAccess,
    /// `__VU`.
    pub(crate) id: u64,
    /// `exec.vu.idInTest`. It differs from `__VU` in an execution segment.
    pub(crate) id_in_test: u64,
    /// Metrics that the script declares while it is planned.
    pub(crate) declared: Rc<RefCell<Vec<DeclaredMetric>>>,
    /// What it opens while it is planned.
    pub(crate) opened: Rc<RefCell<OpenedFiles>>,
    /// Where the script's files were, if they have been sent to this machine.
    pub(crate) moved: Option<MovedFolder>,
}

/// The files that a script opens, and the hosts that they name.
#[derive(Debug, Default)]
pub(crate) struct OpenedFiles {
    pub(crate) paths: BTreeSet<PathBuf>,
    pub(crate) hosts: Vec<HostPattern>,
}

impl RealmInputs {
    /// Those of a VU.
    pub(crate) fn of_vu(test: &K6Test, id: u64, console: Rc<dyn Fn(&str)>) -> Self {
        Self {
            program: Arc::clone(&test.program),
            bytecode: Arc::clone(&test.bytecode),
            variables: Arc::clone(&test.variables),
            shared: Arc::clone(&test.shared),
            options: Arc::clone(&test.options),
            metrics: Some(Arc::clone(&test.metric_numbers)),
            console,
            access: test.access.clone(),
            id,
            id_in_test: test.stripe.as_ref().filter(|_| id > 0).map_or(id, |stripe| stripe.number(id - 1) + 1),
            declared: Rc::default(),
            opened: Rc::default(),
            moved: test.moved.clone(),
        }
    }

    /// The file that the script names, relative to `folder`.
    pub(crate) fn file(&self, folder: &Path, written: &str) -> PathBuf {
        let path = cleaned(&folder.join(written.strip_prefix("file://").unwrap_or(written)));
        self.moved.as_ref().map_or_else(|| path.clone(), |moved| moved.new_place(&path))
    }

    /// The script opens files.
    pub(crate) fn note_opened(&self, paths: impl IntoIterator<Item = PathBuf>) {
        if self.is_planning() {
            self.opened.borrow_mut().paths.extend(paths);
        }
    }

    pub(crate) fn is_planning(&self) -> bool {
        self.metrics.is_none()
    }
}

/// As Go's `filepath.Join` does: `a/../b` is `b`, also if there is no `a`.
fn cleaned(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if clean.file_name().is_some() => _ = clean.pop(),
            Component::CurDir => {}
            part => clean.push(part),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_as_in_k6() {
        for (path, expected) in [("/a/none/../b.proto", "/a/b.proto"), ("/a/./b", "/a/b"), ("../a/../../b", "../../b"), ("a/..", "")] {
            assert_eq!(cleaned(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
