//! The generators that are compared, in groups, each as the command that its own users would type.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use checkout::Workspace;
use checkout::machine::{self, GENERATOR_CORE, SERVER_CORE};
use checkout::process;

use super::measured::run_and_measure;
use super::nginx::{BenchUrls, Nginx};
use super::options::BenchOptions;
use crate::usage::ResourceUsage;

pub(super) struct Contender {
    pub(super) name: &'static str,
    /// Of those that do the same; the first of them is the measure of the others.
    pub(super) group: usize,
    program: PathBuf,
    /// With `{users}`, `{seconds}` and the fields of [`BenchUrls`] to be filled in.
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

/// Generators that do the same. The others are measured by the first.
const GROUPS: &[&[ContenderRow]] =
    &[KEPT_CONNECTIONS, TLS, LARGE_BODIES, NEW_CONNECTIONS, HTTP2_ONE_STREAM, HTTP2_STREAMS, GRPC, GRPC_STREAMS];

const TLS: &[ContenderRow] = &[
    ("wrk, TLS", "wrk", &["-t1", "-c{users}", "-d{seconds}s", "{tls}"], &["-v"]),
    ("loadstone run URL, TLS", "", &["run", "{tls}", "--users", "{users}", "--for", "{seconds}s", "--insecure"], &["--version"]),
];

const LARGE_BODIES: &[ContenderRow] = &[
    ("wrk, bodies of 100 KB", "wrk", &["-t1", "-c{users}", "-d{seconds}s", "{large}"], &["-v"]),
    ("loadstone run URL, bodies of 100 KB", "", &["run", "{large}", "--users", "{users}", "--for", "{seconds}s"], &["--version"]),
];

/// ab speaks HTTP/1.0 and closes each connection. Without a number of requests it would end after 50,000.
const NEW_CONNECTIONS: &[ContenderRow] = &[
    ("wrk, a new connection each", "wrk", &["-t1", "-c{users}", "-d{seconds}s", "-H", "Connection: close", "{url}"], &["-v"]),
    ("ab, a new connection each", "ab", &["-q", "-c{users}", "-t{seconds}", "-n2000000", "{url}"], &["-V"]),
    (
        "loadstone run URL, a new connection each",
        "",
        &["run", "{url}", "--users", "{users}", "--for", "{seconds}s", "--no-keep-alive"],
        &["--version"],
    ),
];

const HTTP2_ONE_STREAM: &[ContenderRow] = &[
    ("h2load, 1 stream", "h2load", &["-t1", "-c{users}", "-m1", "-D{seconds}", "{http2}"], &["--version"]),
    (
        "loadstone run URL, HTTP/2, 1 stream",
        "",
        &["run", "{http2}", "--users", "{users}", "--for", "{seconds}s", "--http2=only"],
        &["--version"],
    ),
];

/// A URL's users have one request each under way, so this takes a script.
const HTTP2_STREAMS: &[ContenderRow] = &[
    ("h2load, 32 streams", "h2load", &["-t1", "-c{users}", "-m32", "-D{seconds}", "{http2}"], &["--version"]),
    (
        "loadstone, TypeScript, HTTP/2, 32 streams",
        "",
        &["run", "streams.load.ts", "-p", "target={http2}", "-p", "count={users}", "-p", "time={seconds}s"],
        &["--version"],
    ),
];

/// What a call of gRPC is on the wire, from somebody who knows nothing of messages and statuses; so many under way on each connection.
macro_rules! grpc_frames {
    ($streams:literal) => {
        &[
            "-t1",
            "-c{users}",
            $streams,
            "-D{seconds}",
            "-H",
            "content-type: application/grpc",
            "-H",
            "te: trailers",
            "-d",
            "{grpc_call}",
            "http://{grpc}/bench.v1.Bench/Get",
        ]
    };
}

const GRPC: &[ContenderRow] = &[
    ("h2load, frames of gRPC", "h2load", grpc_frames!("-m1"), &["--version"]),
    (
        "loadstone, TypeScript, gRPC",
        "",
        &["run", "grpc.load.ts", "-p", "target=http://{grpc}", "-p", "count={users}", "-p", "time={seconds}s"],
        &["--version"],
    ),
    (
        "ghz",
        "ghz",
        &[
            "--insecure",
            "--proto",
            "call.proto",
            "--call",
            "bench.v1.Bench.Get",
            "-d",
            "{\"id\":4711}",
            "-c",
            "{users}",
            "--connections",
            "{users}",
            "-z",
            "{seconds}s",
            "{grpc}",
        ],
        &["--version"],
    ),
];

const GRPC_STREAMS: &[ContenderRow] = &[
    ("h2load, frames of gRPC, 32 streams", "h2load", grpc_frames!("-m32"), &["--version"]),
    (
        "loadstone, TypeScript, gRPC, 32 calls",
        "",
        &["run", "grpc-streams.load.ts", "-p", "target=http://{grpc}", "-p", "count={users}", "-p", "time={seconds}s"],
        &["--version"],
    ),
];

const KEPT_CONNECTIONS: &[ContenderRow] = &[
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
        "JMeter, status",
        "jmeter",
        &["-n", "-j", "jmeter.log", "-t", "jmeter/status.jmx", "-Jurl={url}", "-Jusers={users}", "-Jseconds={seconds}"],
        &[],
    ),
    (
        "Locust, FastHttpUser",
        "locust",
        &["-f", "locustfile.py", "--headless", "--only-summary", "-u", "{users}", "-r", "{users}", "-t", "{seconds}s", "-H", "{url}"],
        &["--version"],
    ),
];

/// The generators on this machine whose names were asked for, each group with its measure first, and wrk before all.
pub(super) fn installed(workspace: &Workspace, binary: &Path, only: &[String]) -> Result<Vec<Contender>> {
    let wanted = |name: &str| only.is_empty() || only.iter().any(|part| name.contains(part.as_str()));
    let mut contenders = Vec::new();
    for (group, rows) in GROUPS.iter().enumerate() {
        if group > 0 && !rows.iter().any(|(name, ..)| wanted(name)) {
            continue;
        }
        for (index, (name, program, arguments, version)) in rows.iter().enumerate().filter(|(index, row)| *index == 0 || wanted(row.0)) {
            let found = if program.is_empty() { Some(binary.to_path_buf()) } else { machine::generator(workspace, program) };
            match found {
                Some(program) => {
                    contenders.push(Contender { name, group, program, arguments, version, folder: workspace.root.join("bench") });
                }
                None if *name == "wrk" => {
                    bail!("wrk is the measure of the others and is not installed (Debian, Ubuntu: apt-get install wrk)")
                }
                None if index == 0 => {
                    process::pass_over(&format!("{name}, which is not installed, and what it is the measure of"))?;
                    break;
                }
                None => process::pass_over(&format!("{name}, which is not installed"))?,
            }
        }
    }
    Ok(contenders)
}

impl Contender {
    pub(super) fn run(&self, server: &Nginx, users: u32, seconds: u32) -> Result<ResourceUsage> {
        let scratch = std::env::temp_dir().join("loadstone-bench");
        std::fs::create_dir_all(&scratch)?;
        let cores = if ON_BOTH_CORES.contains(&self.name) { format!("{GENERATOR_CORE},{SERVER_CORE}") } else { GENERATOR_CORE.to_string() };
        let mut command = Command::new("taskset");
        command.arg("-c").arg(cores).arg(&self.program).args(self.filled(&server.urls, users, seconds, &self.folder));
        // Run directories and other leavings stay out of the checkout.
        command.current_dir(&scratch);
        run_and_measure(&mut command)
    }

    /// A generator that is neither under test nor the measure.
    pub(super) fn is_peer(&self) -> bool {
        !self.name.starts_with("wrk") && !self.name.starts_with("loadstone")
    }

    /// The command as a person would type it in `bench/`.
    pub(super) fn shown(&self, options: &BenchOptions) -> String {
        let program = self.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let arguments = self.filled(&BenchUrls::words(), options.users, options.seconds, Path::new(""));
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

    fn filled(&self, urls: &BenchUrls, users: u32, seconds: u32, folder: &Path) -> Vec<String> {
        let fill = |argument: &&str| {
            let file = [".ts", ".js", ".py", ".proto", ".jmx"].iter().any(|ending| argument.ends_with(ending));
            let filled = argument
                .replace("{url}", &urls.plain)
                .replace("{http2}", &urls.http2)
                .replace("{grpc}", &urls.grpc)
                .replace("{grpc_call}", &urls.grpc_call)
                .replace("{tls}", &urls.tls)
                .replace("{large}", &urls.large)
                .replace("{users}", &users.to_string())
                .replace("{seconds}", &seconds.to_string());
            if file { folder.join(filled).to_string_lossy().into_owned() } else { filled }
        };
        self.arguments.iter().map(fill).collect()
    }
}
