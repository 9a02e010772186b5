//! The generators that are compared, each as the command that its own users would type.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::measured::run_and_measure;
use super::options::BenchOptions;
use crate::machine::{self, GENERATOR_CORE, SERVER_CORE};
use crate::process;
use crate::usage::ResourceUsage;
use crate::workspace::Workspace;

pub(super) struct Contender {
    pub(super) name: &'static str,
    program: PathBuf,
    /// With `{url}`, `{users}` and `{seconds}` to be filled in.
    arguments: &'static [&'static str],
    /// Arguments that print a version; the first line is shown.
    version: &'static [&'static str],
    folder: PathBuf,
}

/// Name, program (empty: the binary under test), arguments, arguments that print the version.
type ContenderRow = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

/// What a second worker costs shows in the CPU time per request, though the server is in its way.
const TWO_WORKERS: &str = "loadstone run URL, two workers on both cores";
/// With one core it has one thread for its actors, and they wait for each other.
const GATLING: &str = "Gatling, status, on both cores";
/// Not pinned to the generator's core alone.
const ON_BOTH_CORES: [&str; 2] = [TWO_WORKERS, GATLING];

/// wrk comes first: the others are measured by it.
const CONTENDERS: &[ContenderRow] = &[
    ("wrk", "wrk", &["-t1", "-c{users}", "-d{seconds}s", "{url}"], &["-v"]),
    ("loadstone run URL", "", &["run", "{url}", "--users", "{users}", "--for", "{seconds}s"], &["--version"]),
    (TWO_WORKERS, "", &["run", "{url}", "--users", "{users}", "--for", "{seconds}s", "--workers", "2"], &["--version"]),
    (
        "loadstone, TypeScript, status",
        "",
        &["run", "status.load.ts", "-p", "target={url}", "-p", "count={users}", "-p", "time={seconds}s"],
        &["--version"],
    ),
    (
        "loadstone, TypeScript, JSON value",
        "",
        &["run", "json.load.ts", "-p", "target={url}", "-p", "count={users}", "-p", "time={seconds}s"],
        &["--version"],
    ),
    ("hey", "hey", &["-c", "{users}", "-z", "{seconds}s", "{url}"], &[]),
    ("oha", "oha", &["--no-tui", "-c", "{users}", "-z", "{seconds}s", "{url}"], &["--version"]),
    ("k6, status", "k6", &["run", "--quiet", "--vus", "{users}", "--duration", "{seconds}s", "-e", "URL={url}", "k6.js"], &["version"]),
    (
        GATLING,
        "gatling",
        &[
            "-Durl={url}",
            "-Dusers={users}",
            "-Dseconds={seconds}",
            "io.gatling.app.Gatling",
            "-s",
            "Status",
            "-nr",
            "-rf",
            "gatling-results",
        ],
        &[],
    ),
    (
        "Locust, FastHttpUser",
        "locust",
        &["-f", "locustfile.py", "--headless", "--only-summary", "-u", "{users}", "-r", "{users}", "-t", "{seconds}s", "-H", "{url}"],
        &["--version"],
    ),
];

/// The generators on this machine whose names were asked for, wrk first.
pub(super) fn installed(workspace: &Workspace, binary: &Path, only: &[String]) -> Result<Vec<Contender>> {
    let wanted = |name: &str| only.is_empty() || name == "wrk" || only.iter().any(|part| name.contains(part.as_str()));
    let mut contenders = Vec::new();
    for (name, program, arguments, version) in CONTENDERS.iter().filter(|(name, ..)| wanted(name)) {
        let found = if program.is_empty() { Some(binary.to_path_buf()) } else { machine::generator(workspace, program) };
        match found {
            Some(program) => contenders.push(Contender { name, program, arguments, version, folder: workspace.root.join("bench") }),
            None if *name == "wrk" => bail!("wrk is the measure of the others and is not installed (Debian, Ubuntu: apt-get install wrk)"),
            None => process::pass_over(&format!("{name}, which is not installed"))?,
        }
    }
    Ok(contenders)
}

impl Contender {
    pub(super) fn run(&self, url: &str, users: u32, seconds: u32) -> Result<ResourceUsage> {
        let scratch = std::env::temp_dir().join("loadstone-bench");
        std::fs::create_dir_all(&scratch)?;
        let cores = if ON_BOTH_CORES.contains(&self.name) { format!("{GENERATOR_CORE},{SERVER_CORE}") } else { GENERATOR_CORE.to_string() };
        let mut command = Command::new("taskset");
        command.arg("-c").arg(cores).arg(&self.program).args(self.filled(url, users, seconds, &self.folder));
        // Run directories and other leavings stay out of the checkout.
        command.current_dir(&scratch);
        run_and_measure(&mut command)
    }

    /// A generator that is neither under test nor the measure.
    pub(super) fn is_peer(&self) -> bool {
        self.name != "wrk" && !self.name.starts_with("loadstone")
    }

    /// The command as a person would type it in `bench/`.
    pub(super) fn shown(&self, url: &str, options: &BenchOptions) -> String {
        let program = self.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let arguments = self.filled(url, options.users, options.seconds, Path::new(""));
        std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
    }

    /// Name and version.
    pub(super) fn label(&self) -> String {
        if self.version.is_empty() {
            return self.name.to_owned();
        }
        // wrk prints its version and ends with 1.
        let printed = Command::new(&self.program).args(self.version).output().map(|output| output.stdout).unwrap_or_default();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        // `oha 1.4.5`, `wrk debian/4.1.0-3 [epoll] …`, `k6 v1.8.0 (…)`
        let mut words = printed.split(|letter: char| letter.is_whitespace() || letter == '/');
        let number = words.find(|word| word.trim_start_matches('v').starts_with(|letter: char| letter.is_ascii_digit()));
        number.map_or_else(|| self.name.to_owned(), |number| format!("{} ({})", self.name, number.trim_matches(['v', ','])))
    }

    fn filled(&self, url: &str, users: u32, seconds: u32, folder: &Path) -> Vec<String> {
        let fill = |argument: &&str| {
            let file = argument.ends_with(".ts") || argument.ends_with(".js") || argument.ends_with(".py");
            let filled = argument.replace("{url}", url).replace("{users}", &users.to_string()).replace("{seconds}", &seconds.to_string());
            if file { folder.join(filled).to_string_lossy().into_owned() } else { filled }
        };
        self.arguments.iter().map(fill).collect()
    }
}
