//! Observers by flags, for commands without a script: the descriptions that `observe.KIND(…)` of a script gives.

use clap::Args;
use loadstone_observe::Observer;
use loadstone_plan::TestPlan;
use serde_json::{Value, json};

use crate::exit::UsageError;

/// What to observe while the load runs.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Observe")]
pub(crate) struct ObserverArgs {
    /// Observe the process that listens on this port, or has this name. Can be repeated, as the next flags can.
    #[arg(long, value_name = "PORT|NAME")]
    process: Vec<String>,
    /// Observe the machine.
    #[arg(long)]
    host: bool,
    /// Observe the JVM that listens on this port, or has this name: threads by what they wait for, garbage collection.
    #[arg(long, value_name = "PORT|NAME")]
    jvm: Vec<String>,
    /// Observe the Node process that listens on this port, or has this name: event loop, functions.
    #[arg(long, value_name = "PORT|NAME")]
    node: Vec<String>,
    /// Observe a PostgreSQL server.
    #[arg(long, value_name = "URL")]
    postgres: Vec<String>,
    /// Observe a MySQL or MariaDB server.
    #[arg(long, value_name = "URL")]
    mysql: Vec<String>,
    /// Observe a Redis server.
    #[arg(long, value_name = "URL")]
    redis: Vec<String>,
    /// Read metrics in the format of Prometheus.
    #[arg(long, value_name = "URL")]
    prometheus: Vec<String>,
}

impl ObserverArgs {
    fn processes(&self) -> [(&'static str, &[String]); 3] {
        [("process", &self.process), ("jvm", &self.jvm), ("node", &self.node)]
    }

    fn urls(&self) -> [(&'static str, &[String]); 4] {
        [("postgres", &self.postgres), ("mysql", &self.mysql), ("redis", &self.redis), ("prometheus", &self.prometheus)]
    }

    /// The first of these flags that is set.
    pub(crate) fn first_set(&self) -> Option<String> {
        let mut kinds = self.processes().into_iter().chain(self.urls());
        let repeated = kinds.find(|(_, values)| !values.is_empty()).map(|(kind, _)| kind);
        repeated.or(self.host.then_some("host")).map(|kind| format!("--{kind}"))
    }

    /// Adds the observers to a plan. Their passwords become secrets of the plan.
    pub(crate) fn apply(&self, plan: &mut TestPlan) {
        plan.observers = self.descriptions();
        plan.observers.iter().for_each(|described| plan.secrets.learn_description(described));
    }

    fn descriptions(&self) -> Vec<Value> {
        let of_process = |kind: &str, of: &String| match of.parse::<u16>() {
            Ok(port) => json!({ "kind": kind, "port": port }),
            Err(_) => json!({ "kind": kind, "name": of }),
        };
        // The second and later ones need their own names.
        let of_url = |kind: &str, index: usize, url: &String| match index {
            0 => json!({ "kind": kind, "url": url }),
            _ => json!({ "kind": kind, "url": url, "name": format!("{kind}{}", index + 1) }),
        };
        let processes = self.processes().into_iter().flat_map(|(kind, all)| all.iter().map(move |of| of_process(kind, of)));
        let urls = self.urls().into_iter().flat_map(|(kind, all)| all.iter().enumerate().map(move |(index, url)| of_url(kind, index, url)));
        processes.chain(self.host.then(|| json!({ "kind": "host" }))).chain(urls).collect()
    }
}

/// Implementations of a plan's observers.
///
/// # Errors
/// An option is wrong. Secrets are masked.
pub(crate) fn observers_of(plan: &TestPlan) -> Result<Vec<Observer>, UsageError> {
    loadstone_session::observers(plan).map_err(|problem| UsageError(plan.all_secrets().hide(&problem.to_string()).into_owned()))
}
