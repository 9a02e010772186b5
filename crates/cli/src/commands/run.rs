//! `loadstone run`: a script, or a URL with flags.

mod url_load;

use std::path::Path;

use clap::Args;
use loadstone_report::terminal::ColorChoice;
use loadstone_session::Session;

use crate::argument;
use crate::command_run::{CommandRun, check_network};
use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};
use crate::flags::{NetworkArgs, ObserverArgs, OutputArgs, ParameterArgs};
use crate::fleet::FleetArgs;
use crate::k6_run::{K6Args, K6Run};
use crate::k6_source::K6Source;
use crate::script_run::ScriptRun;
use crate::url_run::UrlRun;
pub(crate) use url_load::UrlArgs;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loadstone run shop.load.ts -p usersPerSecond=20
  loadstone run script.js -e BASE_URL=http://127.0.0.1:8080 -u 10 -d 30s    # a k6 script
  loadstone run http://127.0.0.1:8080/ --rate 500 --for 30s
  loadstone run http://127.0.0.1:8080/ --users 50 --for 10s --threshold 'p99<50ms'
  loadstone run http://127.0.0.1:8080/ --rate 500 --process 8080 --postgres postgres://app@127.0.0.1/shop    # observes the system, too")]
pub(crate) struct RunArgs {
    /// A test (*.load.ts), a k6 script or a URL.
    #[arg(value_name = "FILE|URL")]
    what: String,
    #[command(flatten)]
    params: ParameterArgs,
    #[command(flatten)]
    url: UrlArgs,
    #[command(flatten)]
    observers: ObserverArgs,
    #[command(flatten)]
    k6: K6Args,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    fleet: FleetArgs,
    /// Threads that generate the load. Each can open as many connections as the open-files limit allows.  [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    workers: Option<u32>,
    /// Seed of all random draws; overrides the test's.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Stop, as on Ctrl-C, when standard input closes. For programs that start runs, so that no run outlives them.
    #[arg(long)]
    stop_with_stdin: bool,
    /// Label the run. Can be repeated. For a k6 script, NAME=VALUE is also a tag of its values, as in k6.
    #[arg(long = "tag", value_name = "TEXT")]
    tags: Vec<String>,
}

impl RunArgs {
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        if self.what.contains("://") { self.run_url(context) } else { self.run_script(context) }
    }

    fn run_url(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        if let Some(param) = self.params.params.first() {
            let problem = format!("-p {param}: parameters belong to scripts; a URL takes flags, see `loadstone run --help`");
            return Err(UsageError(problem).into());
        }
        if let Some(flag) = self.params.permissions.first_set() {
            return Err(UsageError(format!("{flag} is for scripts; a URL runs no code")).into());
        }
        if self.fleet.resolve(self.workers)?.is_some() {
            return Err(UsageError("--fleet runs scripts only: put the request in a test (`loadstone init` creates one)".to_owned()).into());
        }
        if let Some(flag) = self.k6.first_set() {
            return Err(UsageError(format!("{flag} is for k6 scripts; a URL takes --users, --rate and --for")).into());
        }
        let request = self.url.request(&self.what)?;
        let mut plan = self.url.plan(&request, self.seed.unwrap_or(1))?;
        self.observers.apply(&mut plan);
        let url = UrlRun { request, plan, workers: self.workers(), network: &self.network };
        let network = url.network_options(&url.plan);
        check_network(&network)?;
        self.network.limits.check_plan(&url.plan)?;
        let session = url.session(url.plan.clone(), &network, &self.tags, self.output.runs.clone())?;
        let session = Session { finds_early: self.output.live, ..session };
        let run = CommandRun {
            output: &self.output,
            stops_with_stdin: self.stop_with_stdin,
            color: context.color,
            summarize: None,
            exit_codes: None,
            limits: &self.network.limits,
        };
        run.perform(session, url.users(&network, &url.plan.options))
    }

    fn run_script(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        argument::check_test(Path::new(&self.what))?;
        if loadstone_k6::is_k6_script(Path::new(&self.what)) {
            return self.run_k6(context);
        }
        if let Some(flag) = self.k6.first_set() {
            return Err(UsageError(format!("{flag} is for k6 scripts, and {} is none", self.what)).into());
        }
        if let Some(flag) = self.url.first_set() {
            return Err(UsageError(format!(
                "{flag} is for a URL without a script; {} defines its own load: change it there, or give it parameters and set them with -p",
                self.what
            ))
            .into());
        }
        if let Some(flag) = self.observers.first_set() {
            return Err(
                UsageError(format!("{flag} is for a URL without a script; {} names its observers in `observe: [ … ]`", self.what)).into()
            );
        }
        let fleet = self.fleet.resolve(self.workers)?.map(Box::new);
        if let Some(flag) = self.network.first_set().filter(|_| fleet.is_some()) {
            return Err(UsageError(format!("{flag} is not sent to the agents of a fleet: set it in the test (docs/protocols.md)")).into());
        }
        let mut inputs = self.params.inputs()?;
        inputs.seed = self.seed;
        let path = Path::new(&self.what);
        ScriptRun { path, shown: &self.what, inputs, workers: self.workers(), tags: &self.tags, network: &self.network, fleet }.perform(
            &self.output,
            self.stop_with_stdin,
            context.color,
        )
    }

    fn run_k6(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        let wrong = |problem: String| Err(UsageError(problem).into());
        if let Some(flag) = self.url.first_set_except_body() {
            return wrong(format!("{flag} is for a URL without a script; a k6 script takes the flags of k6: -u, -d, -i, -s, -e"));
        }
        if let Some(flag) = self.observers.first_set() {
            let file = Path::new(&self.what).with_extension("system.ts");
            return wrong(format!(
                "{flag} is for a URL without a script; observe the system of a k6 script by a file {}: \
                 `export default {{ observe: [ … ] }}`, or run `loadstone watch {flag} … -- k6 run {}`",
                file.display(),
                self.what
            ));
        }
        let fleet = self.fleet.resolve(self.workers)?.map(Box::new);
        if let Some(flag) = self.network.first_set().filter(|_| fleet.is_some()) {
            return wrong(format!("{flag} is not sent to the agents of a fleet: set it in the script's options"));
        }
        self.k6.check_files(&self.output.runs)?;
        let path = Path::new(&self.what);
        let source = K6Source {
            inputs: self.k6.inputs(path, &self.params, self.url.body(), self.seed, &self.tags)?,
            system: self.k6.script.system_of(path),
            system_inputs: self.params.inputs()?,
            path,
            shown: &self.what,
            workers: self.workers(),
            tags: &self.tags,
            network: &self.network,
            fleet,
        };
        let color = if self.k6.options.no_color { ColorChoice::Never } else { context.color };
        K6Run { k6: &self.k6, source }.perform(&self.output, self.stop_with_stdin, color)
    }

    fn workers(&self) -> u32 {
        self.workers.unwrap_or_else(loadstone_session::cores).max(1)
    }
}
