//! A run of one URL, without a script.

use std::path::PathBuf;

use loadstone_engine::WorkerContext;
use loadstone_plan::{RunOptions, TestPlan};
use loadstone_protocol::{Network, NetworkOptions, WorkerPosition};
use loadstone_session::{FixedRequest, FixedRequestUsers, PrintedLines, Session};

use crate::exit::UsageError;
use crate::flags::{NetworkArgs, observers_of};

/// Repeats one request.
pub(crate) struct UrlRun<'a> {
    pub(crate) request: FixedRequest,
    pub(crate) plan: TestPlan,
    pub(crate) workers: u32,
    pub(crate) network: &'a NetworkArgs,
}

impl UrlRun<'_> {
    /// Builds it from the flags. `plan`: the run's plan, for its seed.
    pub(crate) fn network_options(&self, plan: &TestPlan) -> NetworkOptions {
        let mut network = NetworkOptions::default();
        self.network.apply(&mut network, plan.options.seed);
        network
    }

    /// Runs `plan` in `folder` and concludes afterwards.
    ///
    /// # Errors
    /// The plan names an observer that cannot exist.
    pub(crate) fn session(
        &self,
        plan: TestPlan,
        network: &NetworkOptions,
        tags: &[String],
        folder: PathBuf,
    ) -> Result<Session, UsageError> {
        Ok(Session {
            observers: observers_of(&plan)?,
            plan,
            network: network.clone(),
            stubs: None,
            file: None,
            script: None,
            workers: self.workers,
            tags: tags.to_vec(),
            folder,
            printed: PrintedLines::new(),
            finds_early: false,
        })
    }

    /// Creates the users on each worker.
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
