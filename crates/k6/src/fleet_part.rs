//! A script on the agents of a fleet: the inputs that the controller sends, and the totals that agents send back.
//!
//! A fleet is one instance of k6: numbers of VUs and iterations are unique over all agents, and `setup` runs once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use loadstone_protocol::HostPattern;
use loadstone_script::{Permissions, RemoteModules};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::input::K6Inputs;
use crate::moved_folder::MovedFolder;
use crate::rate_limit::RequestRateLimit;
use crate::secret_sources::SecretSource;
use crate::step_counts::StepCounts;
use crate::test::K6Test;

/// The inputs of a script, for another machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SentK6Inputs {
    variables: BTreeMap<String, String>,
    tiers: Vec<Map<String, Value>>,
    seed: u64,
    exports_summary: bool,
    /// Text by URL.
    remote: BTreeMap<String, String>,
    secret_sources: Vec<SecretSource>,
    allowed_hosts: Vec<String>,
}

impl SentK6Inputs {
    /// Of the environment, only the variables whose names the script contains.
    pub fn of(test: &K6Test, inputs: &K6Inputs) -> Self {
        let is_needed = |name: &String| inputs.set_by_flag.contains(name) || test.program.contains_word(name);
        let variables = inputs.variables.iter().filter(|(name, _)| is_needed(name));
        Self {
            variables: variables.map(|(name, value)| (name.clone(), value.clone())).collect(),
            tiers: inputs.tiers.clone(),
            seed: test.plan.options.seed,
            exports_summary: inputs.exports_summary,
            remote: test.program.remote_modules().map(|(url, text)| (url.to_owned(), text.to_owned())).collect(),
            secret_sources: inputs.secret_sources.clone(),
            allowed_hosts: inputs.permissions.net.iter().map(ToString::to_string).collect(),
        }
    }

    /// The inputs on the other machine. The script may read the folder to which its files were moved. `remote`: a folder for modules that it imports
    /// by URL.
    ///
    /// # Errors
    /// The folder cannot be written, or the inputs do not come from this version.
    pub fn received(self, moved: MovedFolder, remote: &Path) -> Result<K6Inputs, String> {
        let modules = SentModules::store(&self.remote, remote).map_err(|error| format!("{}: {error}", remote.display()))?;
        let pattern = |host: &String| host.parse::<HostPattern>().map_err(|error| error.to_string());
        let net = self.allowed_hosts.iter().map(pattern).collect::<Result<_, _>>()?;
        Ok(K6Inputs {
            set_by_flag: self.variables.keys().cloned().collect(),
            variables: self.variables,
            tiers: self.tiers,
            seed: Some(self.seed),
            exports_summary: self.exports_summary,
            remote: (!modules.files.is_empty()).then(|| Arc::new(modules) as Arc<dyn RemoteModules + Send + Sync>),
            permissions: Permissions { read: vec![moved.to.clone()], net, ..Permissions::default() },
            secret_sources: self.secret_sources,
            moved: Some(moved),
        })
    }
}

/// Modules that the controller downloaded: a file for each URL.
#[derive(Debug)]
struct SentModules {
    files: BTreeMap<String, PathBuf>,
}

impl SentModules {
    fn store(texts: &BTreeMap<String, String>, folder: &Path) -> std::io::Result<Self> {
        if !texts.is_empty() {
            std::fs::create_dir_all(folder)?;
        }
        let store = |(number, (url, text)): (usize, (&String, &String))| {
            let end = if url.split(['?', '#']).next().is_some_and(|path| path.ends_with(".ts")) { "ts" } else { "js" };
            let file = folder.join(format!("{number}.{end}"));
            std::fs::write(&file, text)?;
            Ok((url.clone(), file))
        };
        let files = texts.iter().enumerate().map(store).collect::<std::io::Result<_>>()?;
        Ok(Self { files })
    }
}

impl RemoteModules for SentModules {
    fn file(&self, url: &str) -> Result<PathBuf, (String, String)> {
        let missing = || (format!("the controller did not send {url}"), "import it by a constant string".to_owned());
        self.files.get(url).cloned().ok_or_else(missing)
    }
}

/// What an agent has counted so far for the end of the run.
#[derive(Debug, Default, Serialize, Deserialize)]
struct AgentTotals {
    steps: StepCounts,
    marked_failed: bool,
}

impl K6Test {
    /// Every file that another machine needs to load the script.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: BTreeSet<PathBuf> = self.program.files(&self.access).iter().filter_map(|file| file.canonicalize().ok()).collect();
        files.extend(self.opened_files.iter().filter_map(|file| normal(file)));
        files.into_iter().collect()
    }

    /// Limits this process to its share of the option `rps`: `here` of all workers.
    pub fn share_rate(&mut self, here: u32, of: u32) {
        self.rate_limit = RequestRateLimit::per_second(self.settings.rps * f64::from(here) / f64::from(of.max(1)));
    }

    /// Stores the result of `setup`, as JSON.
    pub fn keep_set_up(&self, json: String) {
        // There is one set-up.
        let _ = self.shared.set_up.set(json);
    }

    /// On an agent: the input of [`Self::receive_totals`] on the controller. `None`: it has not changed since the last call.
    pub fn changed_totals(&self) -> Option<String> {
        let totals = AgentTotals { steps: self.all_steps(), marked_failed: self.is_marked_failed() };
        let text = serde_json::to_string(&totals).ok()?;
        let mut sent = self.shared.sent_totals.lock().ok()?;
        let is_new = *sent != text && (totals.marked_failed || !totals.steps.is_empty());
        is_new.then(|| text.clone_into(&mut sent)).map(|()| text)
    }

    /// On the controller: the totals of an agent, which replace earlier ones.
    pub fn receive_totals(&self, agent: usize, text: &str) {
        // Agents have the controller's version.
        let Ok(totals) = serde_json::from_str::<AgentTotals>(text) else { return };
        if totals.marked_failed {
            self.shared.marked_failed.store(true, Ordering::Relaxed);
        }
        if let Ok(mut agents) = self.shared.steps_of_agents.lock() {
            agents.insert(agent, totals.steps);
        }
    }
}

/// The path without `.` and `..`. Links stay, because the script names them. `None`: the file has disappeared.
fn normal(file: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in file.components() {
        match part {
            Component::ParentDir => _ = normal.pop(),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal.is_file().then_some(normal)
}
