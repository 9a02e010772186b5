//! `loadstone watch`: observes a system while another tool generates the load.

use std::cell::Cell;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use loadstone_metrics::CommandEnd;
use loadstone_plan::{LoadModel, TestPlan};
use loadstone_protocol::NetworkOptions;
use loadstone_script::{Loaded, ProxyRecordChoice};
use loadstone_secrets::{MASK, is_credential, is_password};
use loadstone_session::{PrintedLines, Session};
use loadstone_watch::{Watch, WatchChoices, WatchEnd, WatchLimits};

use crate::argument;
use crate::command_run::CommandRun;
use crate::context::CommandContext;
use crate::exit::{Exit, ProcessExit, UsageError};
use crate::flags::{LimitArgs, ObserverArgs, OutputArgs, ParameterArgs, observers_of};
use crate::objective;
use crate::system_file::with_loaded_system;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loadstone watch --process 8080 -- k6 run script.js
  loadstone watch shop.watch.ts -- jmeter -n -t plan.jmx
  loadstone watch --process 8080 --postgres postgres://app@127.0.0.1/shop -- locust --headless -u 50 -r 10 -t 2m --host http://127.0.0.1:8080
  loadstone watch --process 8080 --follow access.log --for 5m \\
    --log-format '$remote_addr [$time_local] \"$request\" $status $body_bytes_sent $request_time'
  loadstone watch --process 8080 --record otlp --for 5m
  loadstone watch --process 8080 --record proxy:18080=http://127.0.0.1:8080 -- wrk -d 30 http://127.0.0.1:18080/")]
pub(crate) struct WatchArgs {
    /// A file with observers, thresholds and perhaps a proxy as record: `export default watch({ record, observe, thresholds })`.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The command that generates the load.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Format of the record, such as jtl or access-log.  [default: by the command or the file]
    ///
    /// One of k6-json, jtl, locust, vegeta-csv, gatling, hey-csv, oha-csv, artillery, autocannon, access-log and otlp. Or `proxy:[ADDRESS:]PORT=URL`:
    /// Loadstone's own proxy, which forwards to the URL of the system and records each request. It listens on loopback unless ADDRESS is another one.
    #[arg(long, value_name = "FORMAT", help_heading = "Record")]
    record: Option<String>,
    /// Read the record from this file while it is written. A folder: Gatling's folder of results.
    #[arg(long, value_name = "FILE", help_heading = "Record")]
    follow: Option<PathBuf>,
    /// With --record otlp: receive server spans over HTTP and gRPC on this address.  [default: 127.0.0.1:4318]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = argument::listen, help_heading = "Record")]
    listen: Option<SocketAddr>,
    /// With --record proxy: accept TLS, by an authority whose certificate is written to this file for the tool to trust.
    #[arg(long, value_name = "FILE", help_heading = "Record")]
    proxy_ca: Option<PathBuf>,
    /// log_format of nginx, LogFormat of Apache, or a name such as `envoy`.
    ///
    /// Names: `common`, `combined`, `envoy`, `istio`, `haproxy`, `alb`, `cloudfront`. A pattern needs a time of day, a request time, a status and a path.
    #[arg(long, value_name = "PATTERN", help_heading = "Record")]
    log_format: Option<String>,
    /// Whether requests arrive regardless of responses, or users wait for responses.  [default: by the tool and its script]
    #[arg(long, value_name = "MODEL", help_heading = "Record")]
    load: Option<LoadArgument>,
    /// End after this time.
    #[arg(long = "for", value_name = "DURATION", value_parser = loadstone_units::duration::parse, help_heading = "Record")]
    duration_ns: Option<u64>,
    /// End with this process, and measure its CPU time.
    #[arg(long, value_name = "PID", help_heading = "Record")]
    pid: Option<u32>,
    /// Ctrl-C is the planned end: the run counts as complete.
    #[arg(long, help_heading = "Record")]
    until_signal: bool,
    /// How many names of requests, groups and checks, and sets of tags, are kept apart. Later ones count in the totals.  [default: 500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Record")]
    series_max: Option<u32>,
    #[command(flatten)]
    observers: ObserverArgs,
    /// Objective such as 'p99<50ms', 'p95 of Buy<200ms', 'failures<1%', 'rate>=500/s'. Can be repeated.
    #[arg(long = "threshold", value_name = "OBJECTIVE")]
    thresholds: Vec<String>,
    /// Name of the test in reports and of the run's folder.  [default: the tool]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Label the run. Can be repeated.
    #[arg(long = "tag", value_name = "TEXT")]
    tags: Vec<String>,
    #[command(flatten)]
    params: ParameterArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LoadArgument {
    Arrivals,
    Users,
}

impl WatchArgs {
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<ProcessExit> {
        let mut system = match &self.file {
            Some(file) => Some(loadstone_script::load_system(file, &self.params.inputs()?)?),
            None => None,
        };
        let choices = self.choices(system.as_mut().and_then(|system| system.record.take()))?;
        let watch = Watch::prepare(&choices, self.limits()?)?.with_quiet_stdout(self.output.json);
        if let Some(hint) = watch.hint().filter(|_| !self.output.quiet) {
            let _ = writeln!(std::io::stderr(), "{hint}");
        }
        let name = self.name.clone().unwrap_or_else(|| watch.tool());
        let mut plan = watch.plan(&name, self.shown_command());
        self.observers.apply(&mut plan);
        plan.options.series_max = self.series_max.unwrap_or(plan.options.series_max);
        for text in &self.thresholds {
            plan.thresholds.push(objective::parse("--threshold", text)?);
        }
        plan.validate().map_err(|error| UsageError(error.to_string()))?;
        let session = self.session(plan, system)?;
        let options = session.plan.options.clone();
        let end = Cell::new(WatchEnd::default());
        // The load is another tool's, so there is none to limit.
        let limits = LimitArgs::default();
        let run = CommandRun {
            output: &self.output,
            limits: &limits,
            stops_with_stdin: false,
            color: context.color,
            summarize: None,
            exit_codes: None,
        };
        let exit = run.perform_with(session, |session, subscribers| {
            let follow = |controls, on_event: &mut dyn FnMut(_) -> _| {
                let (ending, ended) = watch.run(&controls, &options, on_event);
                end.set(ended);
                ending
            };
            Ok(session.run_recorded(follow, subscribers))
        })?;
        Ok(with_command(exit, end.get()))
    }

    /// `proxy`: the record, as the file describes it.
    fn choices(&self, proxy: Option<ProxyRecordChoice>) -> Result<WatchChoices, UsageError> {
        let (mut record, mut proxy_ca) = (self.record.clone(), self.proxy_ca.clone());
        if let (Some(proxy), Some(file)) = (proxy, &self.file) {
            let flags = [("--record", record.is_some()), ("--follow", self.follow.is_some()), ("--proxy-ca", proxy_ca.is_some())];
            if let Some((flag, _)) = flags.into_iter().find(|(_, is_set)| *is_set) {
                return Err(UsageError(format!("the record comes from {} or from {flag}, not from both", file.display())));
            }
            record = Some(format!("proxy:{}={}", proxy.listen, proxy.to));
            proxy_ca = proxy.ca.map(|ca| file.parent().unwrap_or(Path::new("")).join(ca));
        }
        Ok(WatchChoices {
            command: self.command.clone(),
            record,
            follow: self.follow.clone(),
            listen: self.listen,
            proxy_ca,
            log_format: self.log_format.clone(),
            model: self.load.map(|load| match load {
                LoadArgument::Arrivals => LoadModel::Arrivals,
                LoadArgument::Users => LoadModel::Users,
            }),
        })
    }

    fn limits(&self) -> Result<WatchLimits, UsageError> {
        if self.pid.is_some() && !self.command.is_empty() {
            return Err(UsageError(
                "--pid is for a tool that already runs: leave it out, because COMMAND's own process is measured".to_owned(),
            ));
        }
        Ok(WatchLimits { duration_ns: self.duration_ns, pid: self.pid, until_signal: self.until_signal })
    }

    fn session(&self, plan: TestPlan, system: Option<Loaded>) -> anyhow::Result<Session> {
        let observers = observers_of(&plan)?;
        let printed = PrintedLines::new();
        let sender = printed.sender();
        let session = Session {
            plan,
            network: NetworkOptions::default(),
            observers,
            stubs: None,
            file: self.file.as_ref().map(|file| file.display().to_string()),
            script: None,
            workers: 1,
            tags: self.tags.clone(),
            folder: self.output.runs.clone(),
            printed,
            finds_early: self.output.live,
        };
        let (Some(file), Some(system)) = (&self.file, system) else { return Ok(session) };
        if self.observers.first_set().is_some() {
            return Err(UsageError(format!("observers come from {} or from flags, not from both", file.display())).into());
        }
        with_loaded_system(session, file, system, &sender)
    }

    /// The command, with the values of credentials masked.
    fn shown_command(&self) -> Vec<String> {
        let mut follows_credential = false;
        let shown = |word: &String| {
            let masks_whole = std::mem::replace(&mut follows_credential, is_secret_name(word.trim_start_matches('-')));
            match word.split_once('=') {
                _ if masks_whole => MASK.to_owned(),
                Some((name, _)) if is_secret_name(name.trim_start_matches('-')) => format!("{name}={MASK}"),
                _ => loadstone_secrets::exchange::url(word),
            }
        };
        self.command.iter().map(shown).collect()
    }
}

fn is_secret_name(name: &str) -> bool {
    is_credential(name) || is_password(name)
}

/// The command's code, if it did not succeed: the tool documents it. Otherwise Loadstone's.
fn with_command(exit: Exit, end: WatchEnd) -> ProcessExit {
    match end.command {
        Some(CommandEnd::Exited(code)) if code != 0 && exit != Exit::Interrupted => ProcessExit::OfCommand(code),
        Some(CommandEnd::Killed(signal)) => ProcessExit::OfCommand(128 + signal),
        _ => ProcessExit::Own(exit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_the_command_comes_first() {
        let end = |command| WatchEnd { command: Some(command) };
        assert_eq!(with_command(Exit::Passed, end(CommandEnd::Exited(0))), ProcessExit::Own(Exit::Passed));
        assert_eq!(with_command(Exit::ThresholdsFailed, end(CommandEnd::Exited(0))), ProcessExit::Own(Exit::ThresholdsFailed));
        assert_eq!(with_command(Exit::ThresholdsFailed, end(CommandEnd::Exited(99))), ProcessExit::OfCommand(99));
        assert_eq!(with_command(Exit::Broken, end(CommandEnd::Killed(9))), ProcessExit::OfCommand(137));
        assert_eq!(with_command(Exit::Interrupted, end(CommandEnd::Exited(105))), ProcessExit::Own(Exit::Interrupted));
        assert_eq!(with_command(Exit::Passed, WatchEnd::default()), ProcessExit::Own(Exit::Passed));
    }
}
