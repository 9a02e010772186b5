//! A run of a k6 script: `loadstone run script.js`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use clap::Args;
use loadstone_engine::WorkerContext;
use loadstone_k6::{K6Inputs, K6Sinks, K6Test, K6Users, options_of_environment, stages};
use loadstone_report::terminal::ColorChoice;
use loadstone_session::{LineSender, PrintedLines, Session};
use serde_json::{Map, Value};

use crate::command_run::{CommandRun, check_network};
use crate::exit::{Exit, UsageError};
use crate::flags::{NetworkArgs, OutputArgs};

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
}

impl K6Args {
    /// The first of these flags that is set.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        [
            (!self.variables.is_empty(), "--env"),
            (self.vus.is_some(), "--vus"),
            (self.iterations.is_some(), "--iterations"),
            (self.k6_duration.is_some(), "--duration"),
            (!self.stages.is_empty(), "--stage"),
        ]
        .into_iter()
        .find_map(|(given, flag)| given.then_some(flag))
    }

    /// The inputs of the script. `short_duration`: the value of `-d`.
    pub(crate) fn inputs(&self, short_duration: Option<&str>, seed: Option<u64>) -> Result<K6Inputs, UsageError> {
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
        let mut flags = Map::new();
        let duration = self.k6_duration.as_deref().or(short_duration);
        flags.extend(self.vus.map(|vus| ("vus".to_owned(), Value::from(vus))));
        flags.extend(self.iterations.map(|iterations| ("iterations".to_owned(), Value::from(iterations))));
        flags.extend(duration.map(|duration| ("duration".to_owned(), Value::from(duration))));
        if !self.stages.is_empty() {
            flags.insert("stages".to_owned(), stages(&self.stages).map_err(|problem| UsageError(format!("--stage: {problem}")))?);
        }
        Ok(K6Inputs { variables, tiers: vec![of_environment, flags], seed })
    }
}

pub(crate) struct K6Run<'a> {
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
        let test = Arc::new(self.load()?);
        for note in &test.notes {
            writeln!(std::io::stderr(), "note: {note}")?;
        }
        let printed = PrintedLines::new();
        let sender = printed.sender();
        let session = self.session(&test, printed, output.runs.clone());
        let session = Session { finds_early: output.live, ..session };
        let run = CommandRun { output, stops_with_stdin, color, summarize: None };
        run.perform(session, |context: &WorkerContext| K6Users::new(&test, context, sinks(&sender)).map_err(|error| error.render()))
    }

    fn load(&self) -> anyhow::Result<K6Test> {
        let mut test = loadstone_k6::load(self.path, &self.inputs)?;
        self.network.apply(&mut test.network, test.plan.options.seed);
        check_network(&test.network)?;
        Ok(test)
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

fn sinks(sender: &LineSender) -> K6Sinks {
    let (lines, failures) = (sender.clone(), sender.clone());
    K6Sinks {
        console: Some(Rc::new(move |line: &str| lines.line(line.to_owned()))),
        abort: Some(Rc::new(move |message: &str| failures.fail(format!("the script called exec.test.abort(): {message}")))),
    }
}
