//! A URL without a script, made into a run.

use std::path::PathBuf;

use loadstone_engine::WorkerContext;
use loadstone_plan::{RunOptions, TestPlan};
use loadstone_protocol::{Network, NetworkOptions, WorkerPosition};
use loadstone_session::{FixedRequest, FixedRequestUsers, PrintedLines, Session};

use crate::flags::NetworkArgs;

/// One request, again and again.
pub(crate) struct UrlRun<'a> {
    pub(crate) request: FixedRequest,
    pub(crate) plan: TestPlan,
    pub(crate) workers: u32,
    pub(crate) network: &'a NetworkArgs,
}

impl UrlRun<'_> {
    /// As the flags have it; `plan`: the run's own, whose seed it takes.
    pub(crate) fn network_options(&self, plan: &TestPlan) -> NetworkOptions {
        let mut network = NetworkOptions::default();
        self.network.apply(&mut network, plan.options.seed);
        network
    }

    /// A run of `plan` in `folder`, which concludes when it is over.
    pub(crate) fn session(&self, plan: TestPlan, network: &NetworkOptions, tags: &[String], folder: PathBuf) -> Session {
        Session {
            plan,
            network: network.clone(),
            observers: Vec::new(),
            stubs: None,
            file: None,
            script: None,
            workers: self.workers,
            tags: tags.to_vec(),
            folder,
            printed: PrintedLines::new(),
            finds_early: false,
        }
    }

    /// Makes the users on each worker.
    pub(crate) fn users<'s>(
        &'s self,
        network: &'s NetworkOptions,
        options: &'s RunOptions,
    ) -> impl Fn(&WorkerContext) -> Result<FixedRequestUsers, String> + Send + Sync + 's {
        let request = &self.request;
        move |context: &WorkerContext| {
            let position = WorkerPosition { worker: context.index, workers: context.workers };
            let network =
                Network::new(context.clock.clone(), NetworkOptions { position, ..network.clone() }).map_err(|error| error.to_string())?;
            FixedRequestUsers::new(context, network, request, options)
        }
    }
}
