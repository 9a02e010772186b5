//! A run of a k6 script: `loadstone run script.js`.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::Args;
use loadstone_analysis::{Summary, ThresholdResult, ThresholdState};
use loadstone_engine::{Coordinator, LoadEnding, WorkerContext};
use loadstone_k6::{EndedRun, K6Inputs, K6Sinks, K6Test, K6Users, LoadError, SummaryFile, options_of_environment, stages, summary_export};
use loadstone_report::terminal::ColorChoice;
use loadstone_run_directory::Run;
use loadstone_script::{Inputs, RemoteModules};
use loadstone_session::{LineSender, PrintedLines, Session};
use loadstone_units::text;
use serde_json::{Map, Value};

use crate::argument;
use crate::command_run::{CommandRun, OwnOutput, check_network};
use crate::exit::{self, Exit, UsageError};
use crate::flags::{NetworkArgs, OutputArgs};
use crate::k6_codes::{self, ScriptActions};
use crate::remote_imports::RemoteImports;
use crate::script_run::start_stubs;

/// Flags of `k6 run`, for k6 scripts.
#[derive(Debug, Args)]
#[command(next_help_heading = "k6 scripts")]
pub(crate) struct K6Args {
    /// Set a variable of __ENV. Can be repeated. The environment's variables are set, too.
    #[arg(short = 'e', long = "env", value_name = "NAME=VALUE")]
    variables: Vec<String>,
    /// VUs; overrides the script's.
    #[arg(short = 'u', long, value_name = "N")]
    vus: Option<u64>,
    /// Iterations of all VUs together; replaces the script's load.
    #[arg(short = 'i', long, value_name = "N")]
    iterations: Option<u64>,
    /// Duration; replaces the script's load. `-d` works, too.
    #[arg(long = "duration", value_name = "DURATION")]
    k6_duration: Option<String>,
    /// A stage such as 30s:10; replaces the script's load. Can be repeated.
    #[arg(short = 's', long = "stage", value_name = "DURATION:TARGET")]
    stages: Vec<String>,
    /// Write k6's summary of metrics, checks and groups to this file as JSON.
    #[arg(long, value_name = "FILE")]
    summary_export: Option<PathBuf>,
    /// A TypeScript file with observers, thresholds and stubs: `export default { observe, thresholds, stubs }`. Parameters (-p) belong to it.
    #[arg(long = "with", value_name = "FILE")]
    system: Option<PathBuf>,
    /// Download modules that the script imports by URL. Their hashes are pinned in loadstone-imports.json next to the script.
    #[arg(long)]
    allow_remote_imports: bool,
    /// Use k6's exit codes: 99 a threshold failed, 104 wrong option, 105 interrupted, 107 the script threw, 108 exec.test.abort(), 110 exec.test.fail().
    /// As in k6, an invalid measurement or an unreachable target is no failure.
    #[arg(long)]
    k6_exit_codes: bool,
}

impl K6Args {
    /// Whether a file describes the system.
    pub(crate) fn has_system(&self) -> bool {
        self.system.is_some()
    }

    /// The first of these flags that is set.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        [
            (!self.variables.is_empty(), "--env"),
            (self.vus.is_some(), "--vus"),
            (self.iterations.is_some(), "--iterations"),
            (self.k6_duration.is_some(), "--duration"),
            (!self.stages.is_empty(), "--stage"),
            (self.summary_export.is_some(), "--summary-export"),
            (self.k6_exit_codes, "--k6-exit-codes"),
            (self.system.is_some(), "--with"),
            (self.allow_remote_imports, "--allow-remote-imports"),
        ]
        .into_iter()
        .find_map(|(given, flag)| given.then_some(flag))
    }

    /// Checks whether the requested file can be written.
    pub(crate) fn check_files(&self, runs: &Path) -> Result<(), UsageError> {
        argument::check_files(runs, &[("--summary-export", self.summary_export.as_deref())])
    }

    /// The inputs of the script at `path`. `short_duration`: the value of `-d`.
    pub(crate) fn inputs(&self, path: &Path, short_duration: Option<&str>, seed: Option<u64>) -> Result<K6Inputs, UsageError> {
        let mut variables: std::collections::BTreeMap<String, String> = std::env::vars().collect();
        let of_environment = options_of_environment(&variables).map_err(UsageError)?;
        for written in &self.variables {
            // As in k6, a name alone takes the value from the environment.
            let (name, value) = match written.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (written.as_str(), std::env::var(written).unwrap_or_default()),
            };
            if name.is_empty() {
                return Err(UsageError(format!("--env {written}: write NAME=VALUE")));
            }
            variables.insert(name.to_owned(), value);
        }
        let remote: Option<Arc<dyn RemoteModules + Send + Sync>> = match self.allow_remote_imports {
            true => Some(Arc::new(RemoteImports::of_script(path)?)),
            false => None,
        };
        let mut flags = Map::new();
        let duration = self.k6_duration.as_deref().or(short_duration);
        flags.extend(self.vus.map(|vus| ("vus".to_owned(), Value::from(vus))));
        flags.extend(self.iterations.map(|iterations| ("iterations".to_owned(), Value::from(iterations))));
        flags.extend(duration.map(|duration| ("duration".to_owned(), Value::from(duration))));
        if !self.stages.is_empty() {
            flags.insert("stages".to_owned(), stages(&self.stages).map_err(|problem| UsageError(format!("--stage: {problem}")))?);
        }
        let exports_summary = self.summary_export.is_some();
        Ok(K6Inputs { variables, tiers: vec![of_environment, flags], seed, exports_summary, remote, ..K6Inputs::default() })
    }
}

pub(crate) struct K6Run<'a> {
    pub(crate) k6: &'a K6Args,
    /// Inputs of the file of `--with`.
    pub(crate) system_inputs: Inputs,
    pub(crate) path: &'a Path,
    /// The file name that the run records.
    pub(crate) shown: &'a str,
    pub(crate) inputs: K6Inputs,
    pub(crate) workers: u32,
    pub(crate) tags: &'a [String],
    pub(crate) network: &'a NetworkArgs,
}

impl K6Run<'_> {
    pub(crate) fn perform(self, output: &OutputArgs, stops_with_stdin: bool, color: ColorChoice) -> anyhow::Result<Exit> {
        let test = match self.load() {
            Ok(test) => Arc::new(test),
            Err(LoadFailure { error, is_of_options }) if self.k6.k6_exit_codes => {
                exit::print(&error);
                return Ok(if is_of_options { Exit::K6InvalidConfig } else { Exit::K6ScriptException });
            }
            Err(failure) => return Err(failure.error),
        };
        for note in &test.notes {
            writeln!(std::io::stderr(), "note: {note}")?;
        }
        let printed = PrintedLines::new();
        let sender = printed.sender();
        let session = self.session(&test, printed, output.runs.clone());
        let session = Session { finds_early: output.live, ..session };
        let session = match &self.k6.system {
            Some(file) => with_system(session, file, &self.system_inputs, &sender)?,
            None => session,
        };
        self.network.limits.check_plan(&session.plan)?;
        let aborted = Arc::new(AtomicBool::new(false));
        let summarize = |run: &Run, summary: &Summary| self.summarize(&test, run, summary);
        let codes = |exit: Exit, ending: &LoadEnding, summary: &Summary| {
            let script = ScriptActions { aborted: aborted.load(Ordering::Relaxed), marked_failed: test.is_marked_failed() };
            match (self.k6.k6_exit_codes, exit) {
                (true, exit) => k6_codes::of_run(exit, ending, summary, script),
                (false, Exit::Passed) if script.marked_failed => Exit::ThresholdsFailed,
                (false, exit) => exit,
            }
        };
        let run = CommandRun {
            output,
            stops_with_stdin,
            color,
            summarize: Some(&summarize),
            exit_codes: Some(&codes),
            limits: &self.network.limits,
        };
        run.perform(session, |context: &WorkerContext| {
            K6Users::new(&test, context, sinks(&sender, &aborted)).map_err(|error| error.render())
        })
    }

    fn load(&self) -> Result<K6Test, LoadFailure> {
        let loaded = loadstone_k6::load(self.path, &self.inputs);
        let mut test = loaded.map_err(|LoadError { error, is_of_options }| LoadFailure { error: error.into(), is_of_options })?;
        self.network.apply(&mut test.network, test.plan.options.seed);
        check_network(&test.network).map_err(|error| LoadFailure { error: error.into(), is_of_options: true })?;
        Ok(test)
    }

    /// k6's summary: the file of `--summary-export`, and what `handleSummary` returns.
    fn summarize(&self, test: &Arc<K6Test>, run: &Run, summary: &Summary) -> anyhow::Result<OwnOutput> {
        let mut own = OwnOutput::default();
        if self.k6.summary_export.is_none() && !test.handles_summary() {
            return Ok(own);
        }
        let (began, ended) = (run.slices.first().map_or(0, |slice| slice.start), run.slices.last().map_or(0, |slice| slice.end));
        let result = |result: &'_ ThresholdResult| result.state == ThresholdState::Passed;
        let thresholds = &summary.verdict.thresholds;
        let data = test.summary_data(&EndedRun {
            slices: &run.slices,
            thresholds: thresholds.iter().map(|threshold| (threshold.threshold.label.as_str(), result(threshold))).collect(),
            duration_ns: ended.saturating_sub(began),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
        });
        let secrets = test.plan.all_secrets();
        let hidden = |content: Vec<u8>| match String::from_utf8(content) {
            Ok(text) => secrets.hide(&text).into_owned().into_bytes(),
            Err(binary) => binary.into_bytes(),
        };
        if let Some(path) = &self.k6.summary_export {
            let exported = serde_json::to_string_pretty(&summary_export(&data))?;
            own.files.push((path.display().to_string(), hidden(exported.into_bytes())));
        }
        if test.handles_summary() {
            let shown = secrets.clone();
            let plan = test.summary_plan(&data);
            let make = |context: &WorkerContext| {
                let shown = shown.clone();
                let print = move |line: &str| _ = writeln!(std::io::stderr(), "{}", text::printable(&shown.hide(line)));
                let sinks = K6Sinks { console: Some(Rc::new(print)), abort: None };
                K6Users::new(test, context, sinks).map_err(|error| error.render())
            };
            if let LoadEnding::Broke(problem) = Coordinator::new(plan, 1).run(make, |_| None) {
                anyhow::bail!("handleSummary: {problem}");
            }
            let files = test.summary_files().context("handleSummary failed, so its files are not written")?;
            for SummaryFile { destination, content } in files {
                match destination.as_str() {
                    "stdout" => own.stdout.extend(hidden(content)),
                    "stderr" => own.stderr.extend(hidden(content)),
                    _ => own.files.push((destination, hidden(content))),
                }
            }
        }
        Ok(own)
    }

    fn session(&self, test: &K6Test, printed: PrintedLines, runs: PathBuf) -> Session {
        Session {
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
        }
    }
}

/// Adds the observers, thresholds and stubs of the file of `--with`.
pub(crate) fn with_system(session: Session, file: &Path, inputs: &Inputs, sender: &LineSender) -> anyhow::Result<Session> {
    let system = Arc::new(loadstone_script::load_system(file, inputs)?);
    let secrets = system.plan.all_secrets();
    let observers = loadstone_session::observers(&system.plan);
    let observers = observers.map_err(|problem| UsageError(secrets.hide(&problem.to_string()).into_owned()))?;
    let stubs = start_stubs(&system, sender).map_err(|error| error.hiding(&secrets))?;
    let mut plan = session.plan;
    plan.secrets.extend_later(&secrets);
    plan.thresholds.extend(system.plan.thresholds.iter().cloned());
    plan.observers.clone_from(&system.plan.observers);
    plan.stubs.clone_from(&system.plan.stubs);
    plan.flows.clone_from(&system.plan.flows);
    plan.parameters.clone_from(&system.plan.parameters);
    plan.validate().map_err(|error| UsageError(format!("{}: {error}", file.display())))?;
    Ok(Session { plan, observers, stubs, ..session })
}

/// Why no load ran.
struct LoadFailure {
    error: anyhow::Error,
    is_of_options: bool,
}

fn sinks(sender: &LineSender, aborted: &Arc<AtomicBool>) -> K6Sinks {
    let (lines, failures, aborted) = (sender.clone(), sender.clone(), Arc::clone(aborted));
    K6Sinks {
        console: Some(Rc::new(move |line: &str| lines.line(line.to_owned()))),
        abort: Some(Rc::new(move |message: &str| {
            aborted.store(true, Ordering::Relaxed);
            failures.fail(format!("the script called exec.test.abort(): {message}"));
        })),
    }
}
