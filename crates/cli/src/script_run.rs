//! A run of a script: loads it, starts its stubs and proxies, and creates its users.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use loadstone_analysis::Summary;
use loadstone_engine::WorkerContext;
use loadstone_protocol::NetworkOptions;
use loadstone_report::terminal::ColorChoice;
use loadstone_run_directory::Run;
use loadstone_script::{Collected, ConsoleLine, Inputs, Loaded, ScriptError, ScriptUsers, Sinks, Stubs};
use loadstone_secrets::Secrets;
use loadstone_session::{FinishedRun, LineSender, PrintedLines, Session, SessionError, Subscriber};
use loadstone_stub::TcpProxy;

use crate::command_run::{CommandRun, OwnOutput, check_network};
use crate::exit::{Exit, UsageError};
use crate::flags::{NetworkArgs, OutputArgs, observers_of};
use crate::fleet::{FleetRun, LedTest};

#[derive(Clone)]
pub(crate) struct ScriptRun<'a> {
    pub(crate) path: &'a Path,
    /// The file name that the run records.
    pub(crate) shown: &'a str,
    pub(crate) inputs: Inputs,
    pub(crate) workers: u32,
    pub(crate) tags: &'a [String],
    pub(crate) network: &'a NetworkArgs,
    /// The fleet that generates the load, if it is not this process.
    pub(crate) fleet: Option<Box<FleetRun>>,
}

impl ScriptRun<'_> {
    pub(crate) fn perform(self, output: &OutputArgs, stops_with_stdin: bool, color: ColorChoice) -> anyhow::Result<Exit> {
        let loaded = self.load()?;
        if let Some(fleet) = &self.fleet {
            fleet.check(&loaded)?;
        }
        let _proxies = start_proxies(&loaded)?;
        let (fleet, inputs) = (self.fleet.clone(), self.inputs.clone());
        let PreparedRun { loaded, mut session, sender, secrets } = self.prepare(loaded, output.runs.clone())?;
        session.finds_early = output.live;
        let own = |_: &Run, summary: &Summary| {
            let files = loaded.summarize(&loadstone_report::summary_json(summary)).map_err(|error| error.hiding(&secrets))?;
            let files = files.into_iter().map(|(file, text)| (file, secrets.hide(&text).into_owned().into_bytes())).collect();
            Ok(OwnOutput { files, ..OwnOutput::default() })
        };
        let run = CommandRun { output, stops_with_stdin, color, summarize: Some(&own), exit_codes: None, limits: &self.network.limits };
        let exit = match fleet {
            Some(fleet) => {
                let test = LedTest::of(&loaded, &inputs, sender)?;
                run.perform_with(session, |session, subscribers| fleet.perform(test, session, subscribers))?
            }
            None => run.perform(session, |context: &WorkerContext| {
                ScriptUsers::new(&loaded, context, sinks(&sender)).map_err(|error| error.render())
            })?,
        };
        finish_collections(&loaded, &secrets)?;
        Ok(exit)
    }

    pub(crate) fn load(&self) -> anyhow::Result<Loaded> {
        let mut loaded = loadstone_script::load(self.path, &self.inputs)?;
        self.network.apply(&mut loaded.network, loaded.plan.options.seed);
        // The source addresses of a fleet are those of its agents, which check them.
        let sources = if self.fleet.is_none() { loaded.network.sources.clone() } else { Vec::new() };
        check_network(&NetworkOptions { sources, ..loaded.network.clone() })?;
        Ok(loaded)
    }

    /// Starts the stubs. `runs`: folder of run directories.
    pub(crate) fn prepare(&self, loaded: Loaded, runs: PathBuf) -> anyhow::Result<PreparedRun> {
        let secrets = loaded.plan.all_secrets();
        self.network.limits.check(&loaded)?;
        let observers = observers_of(&loaded.plan)?;
        let printed = PrintedLines::new();
        let sender = printed.sender();
        let loaded = Arc::new(loaded);
        let stubs = start_stubs(&loaded, &sender).map_err(|error| error.hiding(&secrets))?;
        let session = Session {
            observers,
            stubs,
            plan: loaded.plan.clone(),
            network: loaded.network.clone(),
            file: Some(self.shown.to_owned()),
            script: Some(loaded.digest()),
            workers: self.workers,
            tags: self.tags.to_vec(),
            folder: runs,
            printed,
            finds_early: false,
        };
        Ok(PreparedRun { loaded, session, sender, secrets })
    }
}

/// A script run that is ready to start.
pub(crate) struct PreparedRun {
    loaded: Arc<Loaded>,
    session: Session,
    sender: LineSender,
    secrets: Secrets,
}

impl PreparedRun {
    /// Runs it without the terminal and page of `loadstone run`.
    ///
    /// # Errors
    /// As for [`Session::run`].
    pub(crate) fn run(self, subscribers: &mut [&mut dyn Subscriber]) -> Result<FinishedRun, SessionError> {
        let Self { loaded, session, sender, .. } = self;
        session
            .run(|context: &WorkerContext| ScriptUsers::new(&loaded, context, sinks(&sender)).map_err(|error| error.render()), subscribers)
    }
}

fn finish_collections(loaded: &Loaded, secrets: &Secrets) -> anyhow::Result<()> {
    for Collected { path, rows } in loaded.finish_collections().map_err(|error| error.hiding(secrets))? {
        writeln!(std::io::stderr(), "Collected  {} ({rows} rows)", secrets.hide(&path.display().to_string()))?;
    }
    Ok(())
}

/// The proxies that a test declares. They serve until they are dropped.
pub(crate) fn start_proxies(loaded: &Loaded) -> Result<Vec<TcpProxy>, UsageError> {
    let start = |spec| TcpProxy::start(spec).map_err(|problem| UsageError(format!("proxy.tcp(…): {problem}")));
    loaded.proxies.iter().map(start).collect()
}

/// The stubs that a test declares. Output of their functions goes to the console.
pub(crate) fn start_stubs(loaded: &Arc<Loaded>, sender: &LineSender) -> Result<Option<Rc<Stubs>>, ScriptError> {
    if !loaded.has_stubs() {
        return Ok(None);
    }
    let sender = sender.clone();
    let print = move |line: &ConsoleLine| sender.line(format!("[stub] {}", line.text));
    Stubs::start(loaded, Box::new(print)).map(|stubs| Some(Rc::new(stubs)))
}

/// Sends the output of a worker's scripts to the console.
fn sinks(sender: &LineSender) -> Sinks {
    let (lines, failures) = (sender.clone(), sender.clone());
    Sinks {
        console: Some(Rc::new(move |line: &ConsoleLine| lines.line(console_text(line)))),
        misuse: Some(Rc::new(move |error: &ScriptError| failures.fail(error.render()))),
        ..Sinks::default()
    }
}

/// A console line: its source and its content.
pub(crate) fn console_text(line: &ConsoleLine) -> String {
    match &line.user {
        Some((scenario, number)) => format!("[{scenario} {number}] {}", line.text),
        None => line.text.clone(),
    }
}
