//! The ticket lab: issuing by REST, validation by WebSocket, at the numbers of the case, and each of its faults.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use checkout::Workspace;
use clap::Args;

mod cases;
mod peers;

pub(super) use self::cases::NamesAndValues;
use self::cases::{CASES, ISSUING, TicketCase, VALIDATION};
use super::conclusion::{self, Concluded};
use super::figures;
use super::lab_case::{self, LabCase, LabTable};
use super::system::LabSystem;

#[derive(Args)]
pub(crate) struct TicketOptions {
    /// Only cases whose name contains this. May be repeated.
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
    /// The case's own lengths: ten minutes of validation.
    #[arg(long)]
    long: bool,
    /// Instead: what a connected validator takes of Loadstone, k6 and Gatling, as far as `cargo xtask bench --install` has installed them.
    #[arg(long)]
    peers: bool,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

pub(crate) fn tickets(workspace: &Workspace, options: &TicketOptions) -> Result<()> {
    let binary = lab_case::binary(workspace, options.binary.as_ref())?;
    if options.peers {
        return peers::compare(workspace, &binary);
    }
    let chosen = lab_case::chosen(CASES, &options.only)?;
    let runs = workspace.target.join("lab/tickets");
    let head = [
        "case",
        "count",
        "per s",
        "p50",
        "p99",
        "p99, 95 %",
        "max",
        "failed",
        "measurement",
        "thresholds",
        "generator",
        "expected",
        "first finding",
        "right",
        "run",
    ];
    let table = LabTable { binary: &binary, runs: &runs, head: &head };
    lab_case::judge(&chosen, 1, &table, |case| perform(workspace, &binary, &runs, case, options.long))
}

fn perform(workspace: &Workspace, binary: &Path, runs: &Path, case: &TicketCase, long: bool) -> Result<Concluded> {
    let system = LabSystem::start(workspace, "tickets", case.lab)?;
    let script = |name: &str| workspace.root.join(format!("labs/tickets/{name}.load.ts"));
    let address = |service: &str| Ok::<_, anyhow::Error>(("target", system.address(service)?.to_owned()));
    let mut parameters = vec![address(if case.script == ISSUING { "issuing" } else { "validation" })?];
    match case.script {
        ISSUING => parameters.push(("database", system.address("database")?.to_owned())),
        // The service knows only barcodes that were issued since it was started.
        VALIDATION => drop(conclusion::run(binary, &script("make-barcodes"), runs, &[address("issuing")?], None)?),
        _ => {}
    }
    let own = case.load.iter().chain(if long { case.long } else { &[] });
    parameters.extend(own.map(|(name, value)| (*name, (*value).to_owned())));
    for (_, value) in parameters.iter_mut().filter(|(name, _)| *name == "validators") {
        *value = as_many_as_fit(value.parse()?, case.workers.unwrap_or(1))?.to_string();
    }
    conclusion::run(binary, &script(case.script), runs, &parameters, case.workers)
}

/// Reduces the number of validators where the service's processes may not open that many connections.
fn as_many_as_fit(validators: u64, processes: u32) -> Result<u64> {
    /// Open files of a service in addition to its connections.
    const SPARE: u64 = 1000;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is valid for writes for the time of the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        bail!("reading the limit on open files: {}", std::io::Error::last_os_error());
    }
    let fit = limit.rlim_max.saturating_sub(SPARE).saturating_mul(processes.into());
    if fit < validators {
        eprintln!("  a process may open only {} files here (ulimit -Hn): {fit} validators instead of {validators}", limit.rlim_max);
    }
    Ok(validators.min(fit))
}

impl LabCase for TicketCase {
    fn name(&self) -> &str {
        self.name
    }

    fn is_named_by(&self, concluded: &Concluded) -> bool {
        match (self.expected, concluded.findings().next()) {
            (None, None) => true,
            (Some(wanted), Some((rule, _))) => rule == wanted,
            _ => false,
        }
    }

    fn row(&self, concluded: &Concluded, is_right: bool) -> Result<Vec<String>> {
        let request = concluded.row("requests", self.request)?;
        let times = &request["response"];
        let number = |value: &serde_json::Value| value.as_u64().unwrap_or_default().to_string();
        Ok(vec![
            self.name.to_owned(),
            number(&request["count"]),
            format!("{:.0}", request["rate"].as_f64().unwrap_or_default()),
            figures::percentile(times, 0.5),
            figures::percentile(times, 0.99),
            figures::interval(times, 0.99),
            times["max"].as_f64().map_or_else(|| "–".to_owned(), figures::seconds),
            number(&request["failed"]),
            concluded.grade().to_owned(),
            concluded.thresholds(),
            format!("{:.0} MB, {:.0} s CPU", concluded.used.memory_peak_bytes / 1e6, concluded.used.cpu_seconds()),
            self.expected.unwrap_or("nothing").to_owned(),
            concluded.findings().next().map_or_else(|| "–".to_owned(), |(rule, _)| rule.to_owned()),
            if is_right { "yes" } else { "NO" }.to_owned(),
            concluded.id().to_owned(),
        ])
    }
}
