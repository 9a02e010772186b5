//! The tools: how each sends the visits of the shop, and what `loadstone watch` needs to know about it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::{machine, process};

use super::nginx_proxy::NginxProxy;

/// Loadstone's own test.
pub(super) const SCRIPT: &str = "labs/diagnose/shop.load.ts";
/// Length of the load.
pub(super) const SECONDS: u64 = 24;
/// Visits a second of the constant load, which is more than the faults let through and less than a healthy shop carries.
pub(super) const VISITS: u64 = 24;
const FOLDER: &str = "labs/diagnose/tools";
/// Requests of a visit.
const REQUESTS: u64 = 5;
const USERS: u64 = 40;

/// One tool.
pub(super) struct WatchedTool {
    pub(super) name: &'static str,
    /// The load of shop.load.ts that it generates.
    pub(super) load: &'static str,
    /// Where it is installed.
    pub(super) find: fn(&Workspace) -> Option<PathBuf>,
    pub(super) start: fn(&ToolUse<'_>) -> Result<ToolCommand>,
}

pub(super) const TOOLS: &[WatchedTool] = &[
    WatchedTool { name: "k6", load: "ramp", find: |workspace| machine::generator(workspace, "k6"), start: k6 },
    WatchedTool { name: "Gatling", load: "ramp", find: gatling_libraries, start: gatling },
    WatchedTool { name: "nginx", load: "ramp", find: |_| NginxProxy::program(), start: nginx },
    WatchedTool { name: "JMeter", load: "closed", find: |workspace| machine::generator(workspace, "jmeter"), start: jmeter },
    WatchedTool { name: "Locust", load: "closed", find: |workspace| machine::generator(workspace, "locust"), start: locust },
    WatchedTool { name: "vegeta", load: "constant", find: |workspace| machine::generator(workspace, "vegeta"), start: vegeta },
];

/// What a tool is started with.
pub(super) struct ToolUse<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) loadstone: &'a Path,
    pub(super) program: &'a Path,
    pub(super) target: &'a str,
    /// A folder for this run.
    pub(super) scratch: &'a Path,
}

/// A command and the flags of `loadstone watch` for it.
#[derive(Default)]
pub(super) struct ToolCommand {
    pub(super) flags: Vec<OsString>,
    pub(super) command: Vec<OsString>,
    /// Ends with this value.
    _proxy: Option<NginxProxy>,
}

impl ToolUse<'_> {
    fn file(&self, name: &str) -> PathBuf {
        self.workspace.root.join(FOLDER).join(name)
    }

    /// `127.0.0.1` and the port.
    fn host_and_port(&self) -> Result<(&str, &str)> {
        self.target.trim_start_matches("http://").trim_end_matches('/').split_once(':').context("the shop's address has no port")
    }

    fn command<I: Into<OsString>>(&self, arguments: impl IntoIterator<Item = I>) -> ToolCommand {
        let program = OsString::from(self.program);
        ToolCommand { command: [program].into_iter().chain(arguments.into_iter().map(Into::into)).collect(), ..ToolCommand::default() }
    }
}

fn k6(tool: &ToolUse<'_>) -> Result<ToolCommand> {
    let (target, seconds) = (format!("TARGET={}", tool.target), format!("SECONDS={SECONDS}"));
    let mut command = tool.command(["run", "--quiet", "-e", &target, "-e", &seconds]);
    command.command.push(tool.file("shop.k6.js").into());
    Ok(command)
}

fn jmeter(tool: &ToolUse<'_>) -> Result<ToolCommand> {
    let (host, port) = tool.host_and_port()?;
    let plan = tool.file("shop.jmx").display().to_string();
    Ok(tool.command(["-n", "-t", &plan, &format!("-Jhost={host}"), &format!("-Jport={port}"), &format!("-Jseconds={SECONDS}")]))
}

fn locust(tool: &ToolUse<'_>) -> Result<ToolCommand> {
    let file = tool.file("locustfile.py").display().to_string();
    let (users, rate, length) = (USERS.to_string(), format!("{:.2}", USERS as f64 / SECONDS as f64), format!("{SECONDS}s"));
    Ok(tool.command(["--headless", "--only-summary", "-f", &file, "--host", tool.target, "-u", &users, "-r", &rate, "-t", &length]))
}

/// vegeta has neither visits nor ramps: the same requests in turn, at a constant rate.
fn vegeta(tool: &ToolUse<'_>) -> Result<ToolCommand> {
    let targets = tool.scratch.join("targets.txt");
    let requests = [("GET", "/list"), ("GET", "/item?code=P7"), ("POST", "/login"), ("POST", "/buy"), ("GET", "/report")];
    fs::write(&targets, requests.map(|(method, path)| format!("{method} {}{path}\n", tool.target)).concat())?;
    let (rate, length) = ((VISITS * REQUESTS).to_string(), format!("{SECONDS}s"));
    let mut command = tool.command(["attack", "-rate", &rate, "-duration", &length, "-targets"]);
    command.command.push(targets.into());
    Ok(command)
}

/// Gatling's libraries, as `cargo xtask bench --install` fetches them.
fn gatling_libraries(workspace: &Workspace) -> Option<PathBuf> {
    let libraries = workspace.tools().join("bench/gatling/lib");
    (libraries.is_dir() && process::find("javac").is_some()).then_some(libraries)
}

fn gatling(tool: &ToolUse<'_>) -> Result<ToolCommand> {
    let (classes, results) = (tool.scratch.join("classes"), tool.scratch.join("gatling"));
    let jars = format!("{}/*", tool.program.display());
    process::run(Command::new("javac").args(["-cp", &jars, "-d"]).arg(&classes).arg(tool.file("ShopVisits.java")))?;
    fs::copy(tool.workspace.root.join("bench/gatling/logback.xml"), classes.join("logback.xml"))?;
    let class_path = format!("{jars}:{}", classes.display());
    let (target, seconds) = (format!("-Dtarget={}", tool.target), format!("-Dseconds={SECONDS}"));
    let opened = "--add-opens=java.base/java.lang=ALL-UNNAMED";
    let mut command: Vec<OsString> =
        ["java", opened, "-cp", &class_path, &target, &seconds, "io.gatling.app.Gatling", "-s", "ShopVisits", "-nr", "-rf"]
            .map(Into::into)
            .into();
    command.push(results.clone().into());
    Ok(ToolCommand { flags: vec!["--record".into(), "gatling".into(), "--follow".into(), results.into()], command, _proxy: None })
}

/// Loadstone sends the requests, and the record is the log of an nginx in between.
fn nginx(tool: &ToolUse<'_>) -> Result<ToolCommand> {
    let proxy = NginxProxy::start(tool.program, tool.target, tool.scratch)?;
    let mut command: Vec<OsString> = vec![tool.loadstone.into(), "run".into(), tool.workspace.root.join(SCRIPT).into()];
    for parameter in [format!("target={}", proxy.address), "load=ramp".to_owned(), "watch=nothing".to_owned(), format!("length={SECONDS}s")]
    {
        command.extend(["-p".into(), parameter.into()]);
    }
    command.extend(["--quiet".into(), "--no-save".into()]);
    let flags = ["--follow".into(), proxy.log.clone().into(), "--log-format".into(), NginxProxy::LOG_FORMAT.into()];
    Ok(ToolCommand { flags: flags.into(), command, _proxy: Some(proxy) })
}
