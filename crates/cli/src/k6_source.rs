//! A k6 script as a source of load, for every command that generates load with one. Read [`K6Source`].

use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loadstone_engine::WorkerContext;
use loadstone_k6::{K6Inputs, K6Sinks, K6Test, K6Users, LoadError};
use loadstone_plan::TestPlan;
use loadstone_protocol::NetworkOptions;
use loadstone_script::{Inputs, Loaded};
use loadstone_session::{FinishedRun, LineSender, PrintedLines, Session, SessionError, Subscriber};

use crate::command_run::check_network;
use crate::flags::NetworkArgs;
use crate::fleet::{FleetRun, abort_text};
use crate::system_file::{merged, with_system};

#[derive(Clone)]
pub(crate) struct K6Source<'a> {
    pub(crate) path: &'a Path,
    /// The file name that the run records.
    pub(crate) shown: &'a str,
    pub(crate) inputs: K6Inputs,
    /// The file that describes the system.
    pub(crate) system: Option<PathBuf>,
    /// Inputs of that file.
    pub(crate) system_inputs: Inputs,
    pub(crate) workers: u32,
    pub(crate) tags: &'a [String],
    pub(crate) network: &'a NetworkArgs,
    /// The fleet that generates the load, if it is not this process.
    pub(crate) fleet: Option<Box<FleetRun>>,
}

/// Why no load ran.
pub(crate) struct LoadFailure {
    pub(crate) error: anyhow::Error,
    /// An option is wrong, not the code.
    pub(crate) is_of_options: bool,
}

impl From<LoadFailure> for anyhow::Error {
    fn from(failure: LoadFailure) -> Self {
        failure.error
    }
}

/// A run of a k6 script that is ready to start.
pub(crate) struct PreparedK6 {
    pub(crate) test: Arc<K6Test>,
    pub(crate) session: Session,
    pub(crate) sender: LineSender,
    /// The script called `exec.test.abort()`.
    pub(crate) aborted: Arc<AtomicBool>,
}

impl K6Source<'_> {
    pub(crate) fn load(&self) -> Result<K6Test, LoadFailure> {
        let loaded = loadstone_k6::load(self.path, &self.inputs);
        let mut test = loaded.map_err(|LoadError { error, is_of_options }| LoadFailure { error: error.into(), is_of_options })?;
        self.network.apply(&mut test.network, test.plan.options.seed);
        // The source addresses of a fleet are those of its agents, which check them.
        let sources = if self.fleet.is_none() { test.network.sources.clone() } else { Vec::new() };
        check_network(&NetworkOptions { sources, ..test.network.clone() })
            .map_err(|error| LoadFailure { error: error.into(), is_of_options: true })?;
        Ok(test)
    }

    /// The file that describes the system, evaluated.
    pub(crate) fn load_system(&self) -> anyhow::Result<Option<Loaded>> {
        let load = |file: &PathBuf| loadstone_script::load_system(file, &self.system_inputs);
        Ok(self.system.as_ref().map(load).transpose()?)
    }

    /// The plan of the script and of the file that describes the system, and the digest of the script. Prints the script's notes.
    pub(crate) fn plan(&self) -> anyhow::Result<(TestPlan, String)> {
        let test = self.load()?;
        print_notes(&test)?;
        let digest = test.digest();
        let plan = match (&self.system, self.load_system()?) {
            (Some(file), Some(system)) => merged(test.plan, &system, file)?,
            _ => test.plan,
        };
        Ok((plan, digest))
    }

    /// A session with the observers and stubs of the system. `runs`: folder of run directories.
    pub(crate) fn prepare(&self, test: K6Test, runs: PathBuf) -> anyhow::Result<PreparedK6> {
        let printed = PrintedLines::new();
        let sender = printed.sender();
        let session = Session {
            observers: Vec::new(),
            stubs: None,
            plan: test.plan.clone(),
            network: test.network.clone(),
            file: Some(self.shown.to_owned()),
            script: Some(test.digest()),
            workers: self.workers,
            tags: self.tags.to_vec(),
            folder: runs,
            printed,
            finds_early: false,
        };
        let session = match &self.system {
            Some(file) => with_system(session, file, &self.system_inputs, &sender)?,
            None => session,
        };
        Ok(PreparedK6 { test: Arc::new(test), session, sender, aborted: Arc::default() })
    }
}

impl PreparedK6 {
    /// Runs it without the terminal and page of `loadstone run`.
    ///
    /// # Errors
    /// As for [`Session::run`].
    pub(crate) fn run(self, subscribers: &mut [&mut dyn Subscriber]) -> Result<FinishedRun, SessionError> {
        let Self { test, session, sender, aborted } = self;
        let users = |context: &WorkerContext| K6Users::new(&test, context, sinks(&sender, &aborted)).map_err(|error| error.render());
        session.run(users, subscribers)
    }
}

/// Prints which options of the script have no effect.
pub(crate) fn print_notes(test: &K6Test) -> std::io::Result<()> {
    test.notes.iter().try_for_each(|note| writeln!(std::io::stderr(), "note: {note}"))
}

/// Sends the output of a worker's VUs to the console, and their request to end the run.
pub(crate) fn sinks(sender: &LineSender, aborted: &Arc<AtomicBool>) -> K6Sinks {
    let (lines, failures, aborted) = (sender.clone(), sender.clone(), Arc::clone(aborted));
    K6Sinks {
        console: Some(Rc::new(move |line: &str| lines.line(line.to_owned()))),
        abort: Some(Rc::new(move |message: &str| {
            aborted.store(true, Ordering::Relaxed);
            failures.fail(abort_text(message));
        })),
        ..K6Sinks::default()
    }
}
