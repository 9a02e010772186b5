//! A k6 script that has been loaded: the basis of every worker.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use loadstone_plan::{ScenarioId, TestPlan};
use loadstone_protocol::NetworkOptions;
use loadstone_script::{FileAccess, GuestProtos, Program};

use crate::ended_run::SummaryFile;
use crate::instance_counts::{InstanceCounts, WorkerCounts};
use crate::moved_folder::MovedFolder;
use crate::options::{K6Scenario, K6Settings, PlannedMetric, PlannedVus, Stripe, SubMetric};
use crate::rate_limit::RequestRateLimit;
use crate::script_part::ScriptPart;
use crate::secret_sources::SecretSource;
use crate::step_counts::StepCounts;

/// A script, ready to run. Shared by all workers.
#[derive(Debug)]
pub struct K6Test {
    /// Validated.
    pub plan: TestPlan,
    /// How the test reaches the network. The binary's flags may add to it.
    pub network: NetworkOptions,
    /// Options of the script that have no effect, with the reason. For the user, before the run.
    pub notes: Vec<String>,
    pub(crate) program: Arc<Program>,
    pub(crate) bytecode: Arc<HashMap<String, Vec<u8>>>,
    pub(crate) scenarios: Vec<K6Scenario>,
    /// Whether the VUs of open load are created before the load.
    pub(crate) prepares_vus: bool,
    /// How many VUs k6 would initialise.
    pub(crate) planned_vus: PlannedVus,
    /// The VUs of the execution segment, among those of all instances.
    pub(crate) stripe: Option<Stripe>,
    pub(crate) settings: K6Settings,
    pub(crate) metrics: Vec<PlannedMetric>,
    pub(crate) sub_metrics: Vec<SubMetric>,
    pub(crate) metric_numbers: Arc<HashMap<String, usize>>,
    pub(crate) handles_summary: bool,
    /// Whether checks are counted by group, for the summary.
    pub(crate) summarizes: bool,
    pub(crate) access: FileAccess,
    pub(crate) variables: Arc<BTreeMap<String, String>>,
    /// The merged options as JSON, for `exec.test.options`.
    pub(crate) options: Arc<str>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) rate_limit: Option<RequestRateLimit>,
    /// Files that the script opened while it was planned.
    pub(crate) opened_files: BTreeSet<PathBuf>,
    pub(crate) moved: Option<MovedFolder>,
}

/// Data of all VUs.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// The result of `setup`, as JSON. Empty: it returned `undefined`.
    pub(crate) set_up: OnceLock<String>,
    /// `SharedArray`s by name: their elements as JSON.
    pub(crate) arrays: Mutex<HashMap<String, Arc<Vec<Box<str>>>>>,
    /// Services of `.proto` files, by path.
    pub(crate) protos: Mutex<HashMap<String, GuestProtos>>,
    /// Counts for `exec.instance`, for each worker.
    pub(crate) counts: Mutex<Vec<Arc<WorkerCounts>>>,
    /// VUs that each leaf of open load has used, on all workers.
    pub(crate) vus_of_arrivals: Mutex<BTreeMap<u32, u64>>,
    /// Checks by group, for each worker.
    pub(crate) steps: Mutex<Vec<Arc<Mutex<StepCounts>>>>,
    pub(crate) secret_sources: Vec<SecretSource>,
    /// The argument of `handleSummary`, as JSON, and what it returned.
    pub(crate) summary_data: Mutex<String>,
    pub(crate) summary_files: Mutex<Option<Vec<SummaryFile>>>,
    /// `exec.test.abort()` was called: no iteration begins any more.
    pub(crate) aborted: AtomicBool,
    /// `exec.test.fail()` was called.
    pub(crate) marked_failed: AtomicBool,
    pub(crate) tear_down_threw: AtomicBool,
    /// `setup` or `teardown` was interrupted: by its time limit, or by the user.
    pub(crate) set_up_cut_off: AtomicBool,
    pub(crate) tear_down_cut_off: AtomicBool,
    /// Checks by group of each agent of a fleet, on the controller.
    pub(crate) steps_of_agents: Mutex<BTreeMap<usize, StepCounts>>,
    /// The totals that an agent sent last.
    pub(crate) sent_totals: Mutex<String>,
}

impl K6Test {
    /// Creates no VU before the load needs it. For loads other than the script's.
    pub fn prepare_no_users(&mut self) {
        self.prepares_vus = false;
    }

    /// Names of the variables that the script reads, as `__ENV.NAME` or `__ENV["NAME"]`.
    pub fn variables_read(&self) -> BTreeSet<String> {
        self.program.source_files().flat_map(|(_, text)| variables_in(text)).collect()
    }

    /// SHA-256 of the script and all its imports, in hexadecimal.
    pub fn digest(&self) -> String {
        self.program.source_digest()
    }

    /// The script's folder.
    pub fn folder(&self) -> &Path {
        self.program.folder_path()
    }

    /// The script.
    pub fn entry(&self) -> PathBuf {
        self.program.entry_path()
    }

    /// Checks by group of all workers, on all machines.
    pub(crate) fn all_steps(&self) -> StepCounts {
        let mut all = StepCounts::default();
        let workers = self.shared.steps.lock().map(|workers| workers.clone()).unwrap_or_default();
        for steps in workers {
            if let Ok(steps) = steps.lock() {
                all.merge(&steps);
            }
        }
        if let Ok(agents) = self.shared.steps_of_agents.lock() {
            agents.values().for_each(|steps| all.merge(steps));
        }
        all
    }

    /// Whether the script marked the run as failed: `exec.test.fail()`.
    pub fn is_marked_failed(&self) -> bool {
        self.shared.marked_failed.load(Ordering::Relaxed)
    }

    /// Whether `teardown` ended with an error.
    pub fn tear_down_threw(&self) -> bool {
        self.shared.tear_down_threw.load(Ordering::Relaxed)
    }

    /// Whether `setup` was interrupted: by its time limit, or by the user.
    pub fn set_up_was_cut_off(&self) -> bool {
        self.shared.set_up_cut_off.load(Ordering::Relaxed)
    }

    /// Whether `teardown` was interrupted.
    pub fn tear_down_was_cut_off(&self) -> bool {
        self.shared.tear_down_cut_off.load(Ordering::Relaxed)
    }

    /// What `exec.instance` reports.
    pub(crate) fn instance(&self) -> InstanceCounts {
        self.shared.counts.lock().map(|workers| InstanceCounts::of(&workers, self.planned_vus)).unwrap_or_default()
    }

    pub(crate) fn metric(&self, name: &str) -> Option<usize> {
        self.metric_numbers.get(name).copied()
    }

    pub(crate) fn scenario_name(&self, scenario: ScenarioId) -> &str {
        self.plan.scenarios.get(scenario.0 as usize).map_or("?", |scenario| scenario.name.as_str())
    }

    /// What a VU runs for a scenario of the plan.
    pub(crate) fn part(&self, scenario: ScenarioId) -> ScriptPart {
        let index = scenario.0 as usize;
        match self.plan.scenarios.get(index).map(|scenario| scenario.name.as_str()) {
            Some(SET_UP) => ScriptPart::SetUp,
            Some(TEAR_DOWN) => ScriptPart::TearDown,
            Some(_) => ScriptPart::Scenario(index),
            None => ScriptPart::Summary,
        }
    }
}

fn variables_in(text: &str) -> impl Iterator<Item = String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices("__ENV").filter_map(move |(at, word)| {
        let rest = &text[at + word.len()..];
        let (rest, is_quoted) = match rest.strip_prefix('[') {
            Some(inside) => (inside.strip_prefix(['"', '\'', '`'])?, true),
            None => (rest.strip_prefix("?.").or_else(|| rest.strip_prefix('.'))?, false),
        };
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let is_closed = !is_quoted || rest[end..].starts_with(['"', '\'', '`']);
        (end > 0 && is_closed).then(|| rest[..end].to_owned())
    })
}

/// Names of the scenarios that run `setup` and `teardown`.
pub(crate) const SET_UP: &str = "setup()";
pub(crate) const TEAR_DOWN: &str = "teardown()";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_where_the_script_reads_them() {
        let text = "const a = __ENV.BASE_URL || __ENV['KEY'] + __ENV[`T${1}`]; const { B } = __ENV; f(__ENV?.RATE, __ENV[name], __ENV)";
        assert_eq!(variables_in(text).collect::<Vec<_>>(), ["BASE_URL", "KEY", "RATE"]);
    }
}
