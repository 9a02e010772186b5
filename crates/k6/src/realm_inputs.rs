//! What a realm is created from.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use loadstone_plan::DeclaredMetric;
use loadstone_protocol::HostPattern;
use loadstone_script::{FileAccess, Program};

use crate::test::Shared;

/// Inputs of a realm.
#[derive(Clone)]
pub(crate) struct RealmInputs {
    pub(crate) program: Arc<Program>,
    /// Empty: modules are compiled from their source.
    pub(crate) bytecode: Arc<HashMap<String, Vec<u8>>>,
    pub(crate) variables: Arc<BTreeMap<String, String>>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) options: String,
    /// The metrics of the plan, by name. `None`: the test is being planned.
    pub(crate) metrics: Option<HashMap<String, usize>>,
    pub(crate) console: Rc<dyn Fn(&str)>,
    /// The files that the script may read.
    pub(crate) access: FileAccess,
    /// `__VU`.
    pub(crate) id: u64,
    /// `exec.vu.idInTest`. It differs from `__VU` in an execution segment.
    pub(crate) id_in_test: u64,
    /// Metrics that the script declares while it is planned.
    pub(crate) declared: Rc<RefCell<Vec<DeclaredMetric>>>,
    /// Hosts that files name which the script opens while it is planned.
    pub(crate) opened_hosts: Rc<RefCell<Vec<HostPattern>>>,
}
