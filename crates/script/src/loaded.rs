//! A test file that has been loaded: the basis of every worker, and of the realm of its stubs.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loadstone_metrics::Nanos;
use loadstone_plan::TestPlan;
use loadstone_protocol::{IdentitySource, NetworkOptions};
use loadstone_stub::{DnsSpec, ProxySpec};
use serde::Deserialize;

use crate::compile::Program;
use crate::data::collection::Collected;
use crate::data::common_data::CommonData;
use crate::data::elsewhere::CommonHome;
use crate::data::feeder::CallLeases;
use crate::data::store::{SetUpListener, Store};
use crate::error::ScriptError;
use crate::inbound::{DeclaredConsumer, DeclaredStub};
use crate::knobs::Knob;
use crate::parameters::Inputs;
use crate::realm::World;
use crate::replay::RecordsOfScenarios;
use crate::settings::Settings;

/// The proxy whose requests are the record of `loadstone watch`, as `proxy.http(…)` describes it. Nothing of it is checked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ProxyRecordChoice {
    /// Address and port of the proxy.
    pub listen: String,
    /// URL of the system.
    pub to: String,
    /// Where to write the certificate of the proxy's authority, relative to the test's folder. `None`: the proxy accepts no TLS.
    pub ca: Option<PathBuf>,
}

/// A test file, ready to run. Shared by all workers.
#[derive(Debug)]
pub struct Loaded {
    /// Validated.
    pub plan: TestPlan,
    /// Only in a file for `loadstone watch`.
    pub record: Option<ProxyRecordChoice>,
    /// How the test reaches the network. The binary's flags may add to it.
    pub network: NetworkOptions,
    /// Settings that an experiment may change.
    pub knobs: Vec<Knob>,
    /// To start before the load, on the machine that leads the run.
    pub proxies: Vec<ProxySpec>,
    pub(crate) program: Arc<Program>,
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) settings: Settings,
    pub(crate) store: Arc<Store>,
    /// The records that its scenarios replay.
    pub(crate) replays: RecordsOfScenarios,
    pub(crate) stubs: Arc<[DeclaredStub]>,
    pub(crate) name_servers: Vec<DnsSpec>,
    /// Their functions run on the thread of stubs' functions.
    pub(crate) consumers: Vec<DeclaredConsumer>,
    /// The run has warned that a step was not awaited.
    pub(crate) warned_unawaited: AtomicBool,
    /// Files that were read while the test was evaluated.
    pub(crate) data_files: Vec<PathBuf>,
    /// Longest turn of JavaScript. Nanoseconds.
    pub(crate) turn_ns_max: Nanos,
}

impl Loaded {
    /// Completes the files that users wrote with `collect`, when the run is over. Otherwise they are removed.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish_collections(&self) -> Result<Vec<Collected>, ScriptError> {
        self.store.collections().finish().map_err(|error| ScriptError::new(error.to_string()))
    }

    /// SHA-256 of the test file and all its imports, in hexadecimal. Equal for equal text.
    pub fn digest(&self) -> String {
        self.program.digest()
    }

    /// Turns it into one of several machines that share feeders, values and a set-up. Rows come from `leases`, and `home` stores shared
    /// values. `on_set_up` receives the set-up's result as JSON if it ran here. Call this once, before any load.
    pub fn share(&self, leases: Arc<dyn CallLeases>, home: Arc<dyn CommonHome>, on_set_up: impl Fn(&str) + Send + Sync + 'static) {
        self.store.share(leases, home, &self.program.folder, SetUpListener(Box::new(on_set_up)));
    }

    /// Applies a notification of `home`, see [`CommonData::news`].
    pub fn receive(&self, text: &str) {
        self.store.shared().receive(text);
    }

    /// Sends the rows that users have collected, if the file is on another machine.
    pub fn send_collected(&self) {
        self.store.collections().send();
    }

    /// The data that users of other machines share, stored here.
    pub fn common_data(&self) -> CommonData {
        CommonData::new(Arc::clone(&self.store), self.program.folder.clone())
    }

    /// Stores the result of a set-up that ran on another machine.
    pub fn keep_set_up(&self, json: String) {
        self.store.keep_set_up(json, false);
    }

    /// Whether it has stubs of any kind, or consumers.
    pub fn has_stubs(&self) -> bool {
        !self.plan.stubs.is_empty() || !self.name_servers.is_empty() || !self.consumers.is_empty()
    }

    /// The URLs of its stubs, in their order: the value for [`Inputs::stub_urls`] on other machines.
    pub fn stub_urls(&self) -> Vec<String> {
        self.stubs.iter().map(|stub| stub.url().to_owned()).collect()
    }

    /// An error if the test uses a server that only this machine can reach: its place, and the remedy.
    pub fn reachable_here_only(&self) -> Option<ScriptError> {
        let is_here = |listen: &str| listen.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback());
        let (what, name) = if self.proxies.iter().any(|proxy| is_here(&proxy.listen)) {
            ("proxy.tcp(…)", "proxy")
        } else if self.name_servers.iter().any(|server| is_here(&server.listen)) && !self.network.name_servers.is_empty() {
            ("stub.dns(…)", "stub")
        } else {
            return None;
        };
        let error = ScriptError::new(format!("agents on other machines cannot reach {what}, which listens only on a loopback address"));
        let error = error.help("set `listen` to an address of this machine that they can reach, or run the test without --fleet");
        Some(match self.program.call_place(name) {
            Some(place) => error.at(place),
            None => error,
        })
    }

    /// A file of which agents would have no copy: a scenario computes its path while the load runs.
    pub fn unknown_files(&self) -> Option<ScriptError> {
        let place = self.program.computed_path()?;
        let error = ScriptError::new("agents have no copy of a file whose path is computed while the load runs");
        let remedy =
            "read the files at the top level of the test, into a list or an object, and select one in the scenario; or run without --fleet";
        Some(error.at(place).help(remedy))
    }

    /// Every file that another machine needs to load the test: modules, the files that control module resolution, data, certificates, and
    /// any file that the text of a module names.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: BTreeSet<PathBuf> = self.data_files.iter().cloned().collect();
        files.extend(self.network.roots.iter().cloned());
        for identity in &self.network.identities {
            match &identity.source {
                IdentitySource::Pem { certificate, key } => files.extend([certificate.clone(), key.clone()]),
                IdentitySource::Pkcs12(file) => files.extend([file.clone()]),
                IdentitySource::Text { .. } => {}
            }
        }
        files.extend(self.program.files(self.store.access()));
        files.iter().filter_map(|file| file.canonicalize().ok()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The test file.
    pub fn entry(&self) -> PathBuf {
        self.program.folder.join(&self.program.entry)
    }

    /// The test file's folder. The test's paths are relative to it.
    pub fn folder(&self) -> &Path {
        &self.program.folder
    }

    /// The input of a realm.
    pub(crate) fn world(&self) -> World {
        World {
            program: Arc::clone(&self.program),
            folder: self.program.folder.clone(),
            store: Arc::clone(&self.store),
            turn_ns_max: self.turn_ns_max,
        }
    }
}
