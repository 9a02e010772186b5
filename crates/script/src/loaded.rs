//! A test file that has been read: what every worker, and the realm of its stubs, is made from.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loadstone_metrics::Nanos;
use loadstone_plan::TestPlan;
use loadstone_protocol::NetworkOptions;
use loadstone_stub::{DnsSpec, ProxySpec};

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
use crate::settings::Settings;

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
    pub(crate) name_servers: Vec<DnsSpec>,
    /// Their functions run beside those of stubs.
    pub(crate) consumers: Vec<DeclaredConsumer>,
    /// The run has said that a step was not awaited.
    pub(crate) warned_unawaited: AtomicBool,
    /// Files that were read as the test was evaluated.
    pub(crate) data_files: Vec<PathBuf>,
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

    /// Makes it one of several machines' that share feeders, values and a set-up: rows come from `leases`, shared values are with `home`, and
    /// `on_set_up` gets what the set-up returned as JSON where it ran here. To be called once, before any load.
    pub fn share(&self, leases: Arc<dyn CallLeases>, home: Arc<dyn CommonHome>, on_set_up: impl Fn(&str) + Send + Sync + 'static) {
        self.store.share(leases, home, &self.program.folder, SetUpListener(Box::new(on_set_up)));
    }

    /// What `home` tells, see [`CommonData::news`].
    pub fn hear(&self, text: &str) {
        self.store.shared().hear(text);
    }

    /// Sends the rows that users have collected, where the file is on another machine.
    pub fn send_collected(&self) {
        self.store.collections().send();
    }

    /// What users of other machines share, kept here.
    pub fn common_data(&self) -> CommonData {
        CommonData::new(Arc::clone(&self.store), self.program.folder.clone())
    }

    /// What the set-up returned on another machine.
    pub fn keep_set_up(&self, json: String) {
        self.store.keep_set_up(json, false);
    }

    /// Whether it has stubs of any kind, or consumers.
    pub fn has_stubs(&self) -> bool {
        !self.plan.stubs.is_empty() || !self.name_servers.is_empty() || !self.consumers.is_empty()
    }

    /// Where its stubs listen, in their order: what [`Inputs::stub_urls`] of other machines is to be.
    pub fn stub_urls(&self) -> Vec<String> {
        self.stubs.iter().map(|stub| stub.url().to_owned()).collect()
    }

    /// What of it users of other machines could not reach, as it listens on this machine alone: where, and what to do instead.
    pub fn reachable_here_only(&self) -> Option<ScriptError> {
        let is_here = |listen: &str| listen.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback());
        let (what, name) = if self.proxies.iter().any(|proxy| is_here(&proxy.listen)) {
            ("proxy.tcp(…)", "proxy")
        } else if self.name_servers.iter().any(|server| is_here(&server.listen)) && !self.network.name_servers.is_empty() {
            ("stub.dns(…)", "stub")
        } else {
            return None;
        };
        let error = ScriptError::new(format!("agents on other machines do not reach {what}, which listens on this machine alone"));
        let error = error.help("let it listen on an address of this machine's that they reach, or run the test without --fleet");
        Some(match self.program.call_place(name) {
            Some(place) => error.at(place),
            None => error,
        })
    }

    /// Every file that another machine needs to load it: modules, and what says where they are; data, certificates, and whatever file the text
    /// of a module names.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: BTreeSet<PathBuf> = self.data_files.iter().cloned().collect();
        files.extend(self.network.roots.iter().cloned());
        files.extend(self.network.identity.iter().flat_map(|(certificate, key)| [certificate.clone(), key.clone()]));
        for source in self.program.modules.values().filter_map(|module| module.source.as_ref()) {
            let module = self.program.folder.join(&*source.file);
            files.extend(described_by(&module, &self.program.folder));
            let folders = [Some(self.program.folder.as_path()), module.parent()];
            for text in source.text.split(['"', '\'', '`']).filter(|text| text.len() < 256 && text.contains('.')) {
                files.extend(folders.iter().flatten().map(|folder| folder.join(text)).filter(|file| file.is_file()));
            }
            files.insert(module);
        }
        files.iter().filter_map(|file| file.canonicalize().ok()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The test file.
    pub fn entry(&self) -> PathBuf {
        self.program.folder.join(&self.program.entry)
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

/// The package.json and tsconfig.json files that say how a module finds others: of its package, and of the test's folder.
fn described_by(module: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for above in module.ancestors().skip(1) {
        found.extend(["package.json", "tsconfig.json"].map(|name| above.join(name)).into_iter().filter(|file| file.is_file()));
        if above == folder || above.parent().is_none_or(|parent| parent.ends_with("node_modules")) {
            break;
        }
    }
    found
}
