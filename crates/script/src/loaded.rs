//! A test file that has been read: what every worker, and the realm of its stubs, is made from.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use metrics::Nanos;
use plan::TestPlan;
use protocol::NetworkOptions;
use stub::ProxySpec;

use crate::compile::Program;
use crate::data::collection::Collected;
use crate::data::store::Store;
use crate::error::ScriptError;
use crate::knobs::Knob;
use crate::parameters::Inputs;
use crate::realm::World;
use crate::settings::Settings;
use crate::stubs::declared::DeclaredStub;

/// A test file, ready to run. Shared by all workers.
#[derive(Debug)]
pub struct Loaded {
    /// Validated.
    pub plan: TestPlan,
    /// How the test reaches the network; the binary's flags may add to it.
    pub network: NetworkOptions,
    /// What an experiment may turn.
    pub knobs: Vec<Knob>,
    /// To be started before the load, whoever makes it.
    pub proxies: Vec<ProxySpec>,
    pub(crate) program: Arc<Program>,
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) settings: Settings,
    pub(crate) store: Arc<Store>,
    pub(crate) stubs: Arc<[DeclaredStub]>,
    /// The run has said that a step was not awaited.
    pub(crate) warned_unawaited: AtomicBool,
    /// Longest turn of JavaScript. Nanoseconds.
    pub(crate) turn_ns_max: Nanos,
}

impl Loaded {
    /// Puts the files that users gathered with `collect` in their places, when the run is over. Without this they are gone.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish_collections(&self) -> Result<Vec<Collected>, ScriptError> {
        self.store.collections().finish().map_err(|error| ScriptError::new(error.to_string()))
    }

    /// SHA-256 of the test file and all that it imports, in hexadecimal: the same for the same text.
    pub fn digest(&self) -> String {
        self.program.digest()
    }

    /// The test file's folder: what its paths are relative to.
    pub fn folder(&self) -> &Path {
        &self.program.folder
    }

    /// What a realm of it is made from.
    pub(crate) fn world(&self) -> World {
        World {
            program: Arc::clone(&self.program),
            folder: self.program.folder.clone(),
            store: Arc::clone(&self.store),
            turn_ns_max: self.turn_ns_max,
        }
    }
}
