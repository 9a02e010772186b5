//! `loadstone mcp`: the tests and runs of a folder as tools for an agent.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::argument;
use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};
use crate::flags::{LimitArgs, LimitDefaults, PermissionArgs, RunsFolderArgs};
use crate::mcp::{self, Workbench};

/// Enough to diagnose a service on the developer's own machine. The target of another machine needs a flag.
const DEFAULTS: LimitDefaults =
    LimitDefaults { rate: 1000.0, users: 200, duration_ns: 600_000_000_000, hosts: &["127.0.0.1", "localhost", "::1"] };

#[derive(Debug, Args)]
#[command(after_help = "\
Limits that are not set: --limit-rate 1000 --limit-users 200 --limit-duration 10m --limit-net 127.0.0.1,localhost,::1.
Only these flags can widen them. No tool can.

Examples:
  claude mcp add loadstone -- loadstone mcp /srv/shop/load
  loadstone mcp load --limit-net staging.shop.example:443 --limit-rate 50
  loadstone mcp load --http 127.0.0.1:7581")]
pub(crate) struct McpArgs {
    /// Folder with the tests (*.load.ts) and k6 scripts, at any depth.
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    #[command(flatten)]
    runs: RunsFolderArgs,
    /// Serve streamable HTTP on this loopback address instead of standard input and output. Clients need the token in the terminal.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = argument::listen)]
    http: Option<SocketAddr>,
    #[command(flatten)]
    permissions: PermissionArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Allow knobs that run commands, write files or change processes. Without this flag, an experiment may change URLs and the test's proxies only.
    #[arg(long, conflicts_with = "limit_knobs", help_heading = "Limits")]
    allow_knobs: bool,
    /// Stop a call, such as an experiment of many blocks, that generates load for longer.
    #[arg(long, value_name = "DURATION", default_value = "30m", help_heading = "Limits")]
    limit_call: String,
}

impl McpArgs {
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        if !self.folder.is_dir() {
            let shown = self.folder.display();
            return Err(UsageError(format!("{shown}: there is no such folder; give the one that holds the tests (*.load.ts)")).into());
        }
        let call_ns =
            loadstone_units::duration::parse(&self.limit_call).map_err(|problem| UsageError(format!("--limit-call: {problem}")))?;
        let limits = self.limits.clone().or_default(&DEFAULTS, self.allow_knobs);
        let bench = Workbench::new(&self.folder, &self.runs.runs, &self.permissions, limits, Duration::from_nanos(call_ns))?;
        mcp::serve(bench, self.http)
    }
}
