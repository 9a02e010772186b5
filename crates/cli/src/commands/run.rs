//! `loadstone run`: a script, or a URL with flags.

use std::io::Write;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use engine::WorkerContext;
use metrics::clock::Clock;
use protocol::{Network, NetworkOptions, WorkerPosition};
use report::terminal::ColorChoice;
use script::{Collected, ConsoleLine, Inputs, Loaded, ScriptError, ScriptUsers, Sinks, Stubs};

use crate::args::{OutputArgs, RunArgs, TlsArgs, UrlArgs};
use crate::console::{Console, Sink};
use crate::exit::{Exit, UsageError};
use crate::machine;
use crate::session::Session;
use crate::signals;
use crate::url_plan::{self, UrlRequest};
use crate::url_users::UrlUsers;

pub(crate) fn run(args: &RunArgs, color: ColorChoice) -> anyhow::Result<Exit> {
    if args.what.contains("://") { run_url(args, color) } else { run_script(args, color) }
}

fn run_url(args: &RunArgs, color: ColorChoice) -> anyhow::Result<Exit> {
    if let Some(param) = args.params.params.first() {
        return Err(UsageError(format!("-p {param}: parameters belong to scripts; a URL takes flags, see `loadstone run --help`")).into());
    }
    let request = UrlRequest::from_args(&args.what, &args.url)?;
    let plan = url_plan::plan(&request, &args.url, args.seed.unwrap_or(1))?;
    let mut network = NetworkOptions::default();
    args.tls.apply(&mut network, plan.options.seed);
    check_network(&network)?;
    let options = plan.options.clone();
    let session = Session {
        plan,
        network: network.clone(),
        observers: Vec::new(),
        stubs: None,
        file: None,
        workers: workers(args.workers),
        tags: args.tags.clone(),
        stops_with_stdin: args.stop_with_stdin,
        output: &args.output,
        color,
        console: Console::new(),
    };
    session.perform(|context: &WorkerContext| {
        let position = WorkerPosition { worker: context.index, workers: context.workers };
        let network =
            Network::new(context.clock.clone(), NetworkOptions { position, ..network.clone() }).map_err(|error| error.to_string())?;
        UrlUsers::new(context, network, &request, &options)
    })
}

fn run_script(args: &RunArgs, color: ColorChoice) -> anyhow::Result<Exit> {
    if let Some(flag) = url_flag(&args.url) {
        return Err(UsageError(format!(
            "{flag} is for a URL without a script; {} says its load itself: change it there, or give it parameters and set them with -p",
            args.what
        ))
        .into());
    }
    let mut inputs = Inputs::from_process(&args.params.params)?;
    inputs.seed = args.seed;
    inputs.check_observer = Some(signals::check_observer);
    ScriptRun {
        path: Path::new(&args.what),
        shown: &args.what,
        inputs,
        workers: workers(args.workers),
        tags: &args.tags,
        stops_with_stdin: args.stop_with_stdin,
        tls: &args.tls,
        output: &args.output,
        color,
    }
    .perform()
}

fn workers(asked: Option<u32>) -> u32 {
    asked.unwrap_or_else(machine::cores).max(1)
}

/// The first flag given that only a URL takes.
fn url_flag(args: &UrlArgs) -> Option<&'static str> {
    [
        (args.rate.is_some(), "--rate"),
        (args.users.is_some(), "--users"),
        (args.duration.is_some(), "--for"),
        (args.ramp.is_some(), "--ramp"),
        (args.method.is_some(), "--method"),
        (!args.headers.is_empty(), "--header"),
        (args.body.is_some(), "--body"),
        (args.timeout.is_some(), "--timeout"),
        (args.graceful_stop.is_some(), "--graceful-stop"),
        (args.expect_status.is_some(), "--expect-status"),
        (!args.thresholds.is_empty(), "--threshold"),
        (args.no_keep_alive, "--no-keep-alive"),
    ]
    .into_iter()
    .find_map(|(given, flag)| given.then_some(flag))
}

/// Finds what is wrong with the network's settings before any load: files that are missing or hold no certificate.
fn check_network(options: &NetworkOptions) -> Result<(), UsageError> {
    Network::new(Clock::virtual_time(), options.clone()).map(drop).map_err(|error| UsageError(error.to_string()))
}

/// A run of a script.
pub(crate) struct ScriptRun<'a> {
    pub(crate) path: &'a Path,
    /// The file as the run remembers it.
    pub(crate) shown: &'a str,
    pub(crate) inputs: Inputs,
    pub(crate) workers: u32,
    pub(crate) tags: &'a [String],
    pub(crate) stops_with_stdin: bool,
    pub(crate) tls: &'a TlsArgs,
    pub(crate) output: &'a OutputArgs,
    pub(crate) color: ColorChoice,
}

impl ScriptRun<'_> {
    pub(crate) fn perform(self) -> anyhow::Result<Exit> {
        let mut loaded = script::load(self.path, &self.inputs)?;
        self.tls.apply(&mut loaded.network, loaded.plan.options.seed);
        check_network(&loaded.network)?;
        let console = Console::new();
        let sink = console.sink();
        let observers = signals::observers(&loaded.plan)?;
        let loaded = Arc::new(loaded);
        let secrets = loaded.plan.all_secrets();
        let hiding = |error: ScriptError| error.hiding(&secrets);
        let stubs = start_stubs(&loaded, &sink).map_err(hiding)?;
        let session = Session {
            observers,
            stubs,
            plan: loaded.plan.clone(),
            network: loaded.network.clone(),
            file: Some(self.shown.to_owned()),
            workers: self.workers,
            tags: self.tags.to_vec(),
            stops_with_stdin: self.stops_with_stdin,
            output: self.output,
            color: self.color,
            console,
        };
        let exit =
            session.perform(|context: &WorkerContext| ScriptUsers::new(&loaded, context, sinks(&sink)).map_err(|error| error.render()))?;
        for Collected { path, rows } in loaded.finish_collections().map_err(hiding)? {
            writeln!(std::io::stderr(), "Collected  {} ({rows} rows)", secrets.hide(&path.display().to_string()))?;
        }
        Ok(exit)
    }
}

/// The stubs that a test declares; what their functions print goes to the console.
fn start_stubs(loaded: &Arc<Loaded>, sink: &Sink) -> Result<Option<Rc<Stubs>>, ScriptError> {
    if loaded.plan.stubs.is_empty() {
        return Ok(None);
    }
    let sink = sink.clone();
    let print = move |line: &ConsoleLine| sink.line(format!("[stub] {}", line.text));
    Stubs::start(loaded, Box::new(print)).map(|stubs| Some(Rc::new(stubs)))
}

/// Sends what a worker's scripts print to the console.
pub(crate) fn sinks(sink: &Sink) -> Sinks {
    let sink = sink.clone();
    Sinks { console: Some(Rc::new(move |line: &ConsoleLine| sink.line(console_text(line)))), ..Sinks::default() }
}

pub(crate) fn console_text(line: &ConsoleLine) -> String {
    match &line.user {
        Some((scenario, number)) => format!("[{scenario} {number}] {}", line.text),
        None => line.text.clone(),
    }
}
