//! The command line as typed. What it means is settled in `commands`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use protocol::http::{HttpOptions, TraceSeed, Versions};
use protocol::{NetworkOptions, NetworkRoute, Proxy, SourceRange};
use run_directory::export::{self, TableFormat};

use crate::exit::Exit;

/// Load tests that tell you why.
#[derive(Debug, Parser)]
#[command(name = "loadstone", version, propagate_version = true, after_help = Exit::TABLE, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to colour the output.
    #[arg(long, global = true, value_enum, default_value_t = ColorFlag::Auto)]
    pub(crate) color: ColorFlag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorFlag {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a test: a script, or a URL with a rate or a number of users.
    Run(Box<RunArgs>),
    /// Run each scenario once and show every request and response. Nothing is recorded.
    Try(TryArgs),
    /// Write a first test with types for your editor.
    Init(InitArgs),
    /// Show the resolved plan and parameters of a test as JSON. No load.
    Inspect(InspectArgs),
    /// Watch a load test find the planted limit of a built-in shop.
    Demo(DemoArgs),
    /// Start tests from forms, watch them, and look through the runs, in a browser.
    Ui(UiArgs),
    /// Serve a simulated HTTP endpoint with delays, faults and limits.
    Stub(Box<StubArgs>),
    /// List the runs in a folder.
    Runs(RunsArgs),
    /// Show the summary of a run again.
    Show(ShowArgs),
    /// Write the report of a run again, also of one that was cut short.
    Report(ReportArgs),
    /// Write a run's measurements as CSV, JSON lines or Parquet.
    Export(ExportArgs),
    /// Print a completion script for your shell.
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

/// Parameters of a script, for every command that takes one.
#[derive(Debug, Args)]
pub(crate) struct ParameterArgs {
    /// Set a parameter of the test. Also: LOADSTONE_NAME in the environment.
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE")]
    pub(crate) params: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loadstone run shop.load.ts -p usersPerSecond=20
  loadstone run http://127.0.0.1:8080/ --rate 500 --for 30s
  loadstone run http://127.0.0.1:8080/ --users 50 --for 10s --threshold 'p99<50ms'")]
pub(crate) struct RunArgs {
    /// A test (*.load.ts) or a URL.
    #[arg(value_name = "FILE|URL")]
    pub(crate) what: String,
    #[command(flatten)]
    pub(crate) params: ParameterArgs,
    #[command(flatten)]
    pub(crate) url: UrlArgs,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Threads that make the load, each with room for as many connections as the limit on open files allows.  [default: one per core]
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<u32>,
    /// Seed of all random draws; overrides the test's.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Stop as at Ctrl-C when standard input ends: for programs that start runs, so that no run outlives them.
    #[arg(long)]
    pub(crate) stop_with_stdin: bool,
    /// Label the run; may be given several times.
    #[arg(long = "tag", value_name = "TEXT")]
    pub(crate) tags: Vec<String>,
}

/// Load on one URL, without a script.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load on a URL (no script)")]
pub(crate) struct UrlArgs {
    /// Arrivals per second, or "90/m": open load.
    #[arg(long, value_name = "RATE", conflicts_with = "users")]
    pub(crate) rate: Option<String>,
    /// Arrivals at random (Poisson) instead of even moments.
    #[arg(long, requires = "rate")]
    pub(crate) poisson: bool,
    /// Users that repeat the request: closed load.  [default: 10, when there is no rate]
    #[arg(long, value_name = "N")]
    pub(crate) users: Option<u64>,
    /// How long.  [default: 10s]
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) duration: Option<String>,
    /// Reach the rate or the users in this time, on top of --for.
    #[arg(long, value_name = "DURATION")]
    pub(crate) ramp: Option<String>,
    /// Most concurrent users of open load; arrivals beyond it wait, on record.
    #[arg(long, value_name = "N", requires = "rate")]
    pub(crate) max_users: Option<u64>,
    /// Request method.  [default: GET, or POST with a body]
    #[arg(short = 'X', long)]
    pub(crate) method: Option<String>,
    /// Header line; may be given several times.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// Request body; @FILE reads it from a file.
    #[arg(short = 'd', long = "body", value_name = "TEXT|@FILE")]
    pub(crate) body: Option<String>,
    /// Time limit of one request.  [default: 30s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
    /// How long requests may go on after the load has ended.  [default: 30s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) graceful_stop: Option<String>,
    /// Status that counts as passed.  [default: any below 400]
    #[arg(long, value_name = "STATUS")]
    pub(crate) expect_status: Option<u16>,
    /// Objective such as 'p99<50ms', 'failures<1%', 'rate>=500/s'; may be given several times.
    #[arg(long = "threshold", value_name = "OBJECTIVE")]
    pub(crate) thresholds: Vec<String>,
    /// Open a new connection for every request.
    #[arg(long)]
    pub(crate) no_keep_alive: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Http2 {
    Off,
    Auto,
    Only,
}

fn connection_rate(text: &str) -> Result<f64, String> {
    let rate = units::rate::parse(text).map_err(|error| error.to_string())?;
    if rate > 0.0 { Ok(rate) } else { Err("must be above 0".to_owned()) }
}

/// How the network is reached; added to what a script says itself.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct TlsArgs {
    /// Accept any TLS certificate.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// PEM file of a certificate authority to trust; may be given several times.
    #[arg(long = "root", value_name = "FILE")]
    pub(crate) roots: Vec<PathBuf>,
    /// PEM file of a client certificate, with its chain; --key has its key.
    #[arg(long = "cert", value_name = "FILE", requires = "key")]
    pub(crate) certificate: Option<PathBuf>,
    /// PEM file of the client certificate's private key.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) key: Option<PathBuf>,
    /// Name that TLS asks for (SNI) and certificates must carry, in place of the URL's host.
    #[arg(long, value_name = "NAME")]
    pub(crate) server_name: Option<String>,
    /// Make a full TLS handshake for every connection instead of resuming sessions.
    #[arg(long)]
    pub(crate) no_tls_resumption: bool,
    /// Local address, range (127.0.0.1-127.0.0.20) or block (10.0.0.0/28) to connect from; may be given several times, all are taken in turn.
    #[arg(long = "source", value_name = "ADDRESSES")]
    pub(crate) sources: Vec<SourceRange>,
    /// Speak HTTP/2 where TLS agrees on it (auto), or always, also without TLS (only).
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub(crate) http2: Option<Http2>,
    /// HTTP proxy, as http://user:password@host:port. The environment's proxy is never used.
    #[arg(long, value_name = "URL", value_parser = Proxy::parse)]
    pub(crate) proxy: Option<Proxy>,
    /// Unix socket that stands for every host.
    #[arg(long, value_name = "PATH", conflicts_with = "proxy")]
    pub(crate) unix: Option<PathBuf>,
    /// Most new connections per second, such as 200 or "90/m"; requests that need one beyond it wait.
    #[arg(long, value_name = "RATE", value_parser = connection_rate)]
    pub(crate) connect_rate: Option<f64>,
    /// Send a traceparent header with every request, so that traces join; slow and failed requests show their trace id.
    #[arg(long)]
    pub(crate) traceparent: bool,
}

impl TlsArgs {
    /// Adds what the flags say; they win over a script. `seed` is that of the run's random draws.
    pub(crate) fn apply(&self, network: &mut NetworkOptions, seed: u64) {
        network.insecure |= self.insecure;
        network.roots.extend(self.roots.iter().cloned());
        if let (Some(certificate), Some(key)) = (&self.certificate, &self.key) {
            network.identity = Some((certificate.clone(), key.clone()));
        }
        network.server_name = self.server_name.clone().or_else(|| network.server_name.take());
        network.full_handshakes |= self.no_tls_resumption;
        network.sources.extend(self.sources.iter().flat_map(|range| &range.0));
        network.protocols.edit(|http: &mut HttpOptions| {
            match self.http2 {
                Some(Http2::Off) => http.versions = Versions::Http1,
                Some(Http2::Auto) => http.versions = Versions::Http2,
                Some(Http2::Only) => http.versions = Versions::Http2Always,
                None => {}
            }
            if self.traceparent {
                http.traces.get_or_insert_with(|| TraceSeed::new(seed));
            }
        });
        if let Some(proxy) = &self.proxy {
            network.route = NetworkRoute::Proxy(proxy.clone());
        }
        if let Some(path) = &self.unix {
            network.route = NetworkRoute::Unix(path.clone());
        }
        network.connections_per_second = self.connect_rate.or(network.connections_per_second);
    }
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Folder of run directories.
    #[arg(long, value_name = "FOLDER", default_value = "runs", env = "LOADSTONE_RUNS")]
    pub(crate) runs: PathBuf,
    /// Write nothing to disk.
    #[arg(long)]
    pub(crate) no_save: bool,
    /// Serve a page on loopback that shows the run while it goes on, and can pause, stop and scale it.
    #[arg(long)]
    pub(crate) live: bool,
    /// Also send the numbers of every second here; may be given several times. KIND is prometheus, prometheus-native (both remote
    /// write), otlp, influx, statsd or dogstatsd. See docs/outputs.md.
    #[arg(long, value_name = "KIND=ADDRESS", env = "LOADSTONE_OUT", value_delimiter = ' ')]
    pub(crate) out: Vec<String>,
    /// Header for outputs over HTTP, such as an authorization; may be given several times, or one on each line of the variable.
    #[arg(long = "out-header", value_name = "NAME: VALUE", env = "LOADSTONE_OUT_HEADERS", hide_env_values = true, value_delimiter = '\n')]
    pub(crate) out_headers: Vec<String>,
    /// Serve /metrics here for Prometheus to scrape, as long as the run goes on.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics_listen: Option<std::net::SocketAddr>,
    /// No progress; only the summary.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Also write JUnit XML here (the run directory always has one).
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Also write the HTML report here (the run directory always has one).
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also write the Markdown summary here. GITHUB_STEP_SUMMARY is honoured.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Print the summary as JSON (summary.json) instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TryArgs {
    /// A test (*.load.ts).
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Only this scenario.
    #[arg(long, value_name = "NAME")]
    pub(crate) scenario: Option<String>,
    #[command(flatten)]
    pub(crate) params: ParameterArgs,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Folder to write to.
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// URL that the first test asks.
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A test (*.load.ts).
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) params: ParameterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// How long the load lasts.
    #[arg(long = "for", value_name = "DURATION", default_value = "30s")]
    pub(crate) duration: String,
    /// Only serve the shop, for tests of your own, until Ctrl-C.  [default address: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8080")]
    pub(crate) serve: Option<std::net::SocketAddr>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UiArgs {
    /// Folder with the tests (*.load.ts), at any depth.
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) runs: FolderArgs,
    /// Address to serve the page on; port 0 is any free one. Who can reach it can look; changes need the token of the address shown.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7580")]
    pub(crate) listen: std::net::SocketAddr,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  loadstone stub --listen 127.0.0.1:9099 --delay 'loguniform(100ms, 2s)' --limit 360/s
  loadstone stub --status 202 --fault 1%=503 --fault 0.1%=reset
  loadstone stub shop.json

The file holds JSON with the names of `stub.http({…})`, and `routes`:
  { \"listen\": \"127.0.0.1:9099\", \"delay\": \"50ms\", \"routes\": [{ \"route\": \"GET /accounts/:id\", \"json\": { \"open\": true } }] }")]
pub(crate) struct StubArgs {
    /// A description (JSON); flags go before what it says.
    #[arg(value_name = "FILE")]
    pub(crate) spec: Option<PathBuf>,
    /// Address and port.  [default: 127.0.0.1 and any free port]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Time until the answer: "100ms", "loguniform(100ms, 2s)", "exponential(50ms)", …
    #[arg(long, value_name = "DELAY")]
    pub(crate) delay: Option<String>,
    /// File of measured delays to draw from, in milliseconds, one per line.
    #[arg(long, value_name = "FILE", conflicts_with = "delay")]
    pub(crate) delays_from: Option<String>,
    /// Status of the answer.  [default: 200]
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<u16>,
    /// Header line; may be given several times.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// Body of the answer, as text.
    #[arg(short = 'd', long, value_name = "TEXT")]
    pub(crate) body: Option<String>,
    /// Body of the answer, as JSON.
    #[arg(long = "json-body", value_name = "JSON")]
    pub(crate) body_json: Option<String>,
    /// Body of the answer with holes such as {{json.id}}.
    #[arg(long, value_name = "TEXT")]
    pub(crate) template: Option<String>,
    /// Body of so many bytes.
    #[arg(long, value_name = "BYTES")]
    pub(crate) size: Option<usize>,
    /// Answer with the request's body.
    #[arg(long)]
    pub(crate) echo: bool,
    /// What goes wrong with a share of the calls: 1%=503, 0.1%=reset, 1%=silence; may be given several times.
    #[arg(long = "fault", value_name = "SHARE=FAULT")]
    pub(crate) faults: Vec<String>,
    /// Calls per second ("360/s", "90/m"); more are rejected with 429 and Retry-After.
    #[arg(long, value_name = "RATE")]
    pub(crate) limit: Option<String>,
    /// Calls that may come at once after a pause.  [default: 1]
    #[arg(long, value_name = "N", requires = "limit")]
    pub(crate) burst: Option<f64>,
    /// What Retry-After says.  [default: the time until there is room again]
    #[arg(long, value_name = "DURATION", requires = "limit")]
    pub(crate) retry_after: Option<String>,
    /// Calls served at once; the rest wait in line.
    #[arg(long, value_name = "N")]
    pub(crate) concurrent: Option<usize>,
    /// Calls that may wait in line; more are rejected with 503.  [default: any number]
    #[arg(long, value_name = "N", requires = "concurrent")]
    pub(crate) queue: Option<usize>,
    /// Status of the rejected, in place of 429 and 503.
    #[arg(long, value_name = "STATUS")]
    pub(crate) reject: Option<u16>,
    /// Bytes per second that all answers share.
    #[arg(long, value_name = "BYTES")]
    pub(crate) bandwidth: Option<u64>,
    /// Speak TLS, with a certificate made for the occasion.
    #[arg(long)]
    pub(crate) tls: bool,
    /// Seed of its draws.  [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FolderArgs {
    /// Folder of run directories.
    #[arg(long, value_name = "FOLDER", default_value = "runs", env = "LOADSTONE_RUNS")]
    pub(crate) runs: PathBuf,
}

/// Which run: an id, the start of one, `latest`, `latest~1`, or a path.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// An id or its beginning, `latest`, `latest~1`, or a run directory.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
    /// As JSON (summary.json).
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// An id or its beginning, `latest`, `latest~1`, or a run directory.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
    /// Write the HTML report here instead of into the run directory.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// An id or its beginning, `latest`, `latest~1`, or a run directory.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
    #[arg(long, value_parser = table_format(), default_value = "csv")]
    pub(crate) format: TableFormat,
    /// What to write.
    #[arg(long, value_enum, default_value_t = ExportTable::Seconds)]
    pub(crate) table: ExportTable,
    /// File to write; `-` is standard output (not for Parquet).
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportTable {
    /// A row per second and series.
    Seconds,
    /// A row per series.
    Totals,
    /// A row per second and flow.
    Flows,
    /// A row per reading of an observer's signal.
    Signals,
}

fn table_format() -> impl TypedValueParser<Value = TableFormat> {
    PossibleValuesParser::new(export::FORMATS.iter().map(|format| format.extension))
        .try_map(|name| export::format(&name).ok_or_else(|| format!("there is no format {name}")))
}
