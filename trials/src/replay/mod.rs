//! `cargo xtask replay-cases`: published root-cause cases as runs of Loadstone, and where their answers are among its findings.
//!
//! The data sets are those of Nezha and PetShop, from a folder that the user names; nothing of them is part of this repository. Each case becomes a run
//! directory, which the product's own code writes, reads and concludes from. Read [`case`] first, then [`nezha`] and [`petshop`] (what is converted to what),
//! [`record`] (the run directory), [`named`] (which services findings name) and [`score`]. Deliberately absent: any use of the answer or of the instant of the
//! fault before the findings exist, and any choice of rules or limits by data set.

mod case;
mod floor;
mod named;
mod nezha;
mod otlp;
mod petshop;
mod record;
mod score;
#[cfg(test)]
mod synthetic;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use clap::Args;
use loadstone_analysis::{Finding, Summary};
use loadstone_run_directory::{Reader, Run};

use self::case::ReplayCase;
use self::floor::Floor;
use self::named::NamedService;
use self::score::ReplayResult;

/// Services of a floor that are stored.
const FLOOR_MAX: usize = 3;

#[derive(Args)]
pub(crate) struct ReplayCasesOptions {
    /// Folder of a checkout of IntelligentDDS/Nezha.
    #[arg(long, value_name = "FOLDER")]
    nezha: Option<PathBuf>,
    /// Folder of a checkout of amazon-science/petshop-root-cause-analysis.
    #[arg(long, value_name = "FOLDER")]
    petshop: Option<PathBuf>,
    /// Only cases whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Longest conclusion from one case. A case that takes longer counts as one without a finding.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    seconds_max: u64,
    /// Convert and conclude nothing; print the tables of the results that are there.
    #[arg(long)]
    judge: bool,
    /// Folder for results and runs; `target/replay-cases` by default.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

pub(crate) fn replay_cases(workspace: &Workspace, options: &ReplayCasesOptions) -> Result<()> {
    let folder = options.folder.clone().unwrap_or_else(|| workspace.target.join("replay-cases"));
    let results = folder.join("results.jsonl");
    if !options.judge {
        let runs = folder.join("runs");
        if runs.exists() {
            bail!("{} has the runs of an earlier replay: choose another --folder, or remove it", runs.display());
        }
        fs::create_dir_all(&runs).with_context(|| format!("creating {}", runs.display()))?;
        replay(options, &runs, &results)?;
    }
    let text = fs::read_to_string(&results).with_context(|| format!("reading {}", results.display()))?;
    let all: Vec<ReplayResult> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    println!("{}\nResults: {}", score::tables(&all), results.display());
    Ok(())
}

fn replay(options: &ReplayCasesOptions, runs: &Path, results: &Path) -> Result<()> {
    let is_wanted = |name: &str| options.only.as_deref().is_none_or(|text| name.contains(text));
    let mut file = fs::File::create(results).with_context(|| format!("creating {}", results.display()))?;
    let mut done = 0;
    let mut take = |case: ReplayCase| -> Result<()> {
        done += 1;
        eprintln!("{done}: {}", case.name);
        let result = one(&case, runs, Duration::from_secs(options.seconds_max))?;
        Ok(writeln!(file, "{}", serde_json::to_string(&result)?)?)
    };
    if let Some(folder) = &options.nezha {
        nezha::cases(folder, &is_wanted, &mut take)?;
    }
    if let Some(folder) = &options.petshop {
        petshop::cases(folder, &is_wanted, &mut take)?;
    }
    if done == 0 {
        bail!("there is no case: name a data set with --nezha or --petshop");
    }
    Ok(())
}

/// Records one case, concludes, and only then reads the answer.
fn one(case: &ReplayCase, runs: &Path, time_max: Duration) -> Result<ReplayResult> {
    let mut result = ReplayResult {
        case: case.name.clone(),
        system: case.system.to_owned(),
        missing: case.missing.clone(),
        is_evaluated: case.covers_fault,
        candidates: case.services.len(),
        ..ReplayResult::default()
    };
    if case.has_requests() {
        let directory = record::write(case, runs)?;
        result.run = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match concluded(&directory, time_max)? {
            Some((summary, run)) => {
                conclude(&mut result, case, &summary, &run);
                let known = case.known_onset.as_ref().filter(|_| case.has_traces);
                let ranked = known.map(|known| floor::ranked_by_spans(&run.traces, known.at));
                result.spans = ranked.into_iter().flatten().take(FLOOR_MAX).collect();
            }
            None => result.remark = format!("no conclusion within {} s", time_max.as_secs()),
        }
    }
    if let Some(answer) = &case.answer {
        result.answer.clone_from(&answer.service);
        result.fault.clone_from(&answer.fault);
    }
    if let Some(known) = &case.known_onset {
        let first = |floor| floor::ranked(known, floor).into_iter().take(FLOOR_MAX).collect();
        (result.alerts, result.baro) = (first(Floor::Alerts), first(Floor::Baro));
    }
    Ok(result)
}

/// The summary that `loadstone report` would show. `None`: it took too long.
fn concluded(directory: &Path, time_max: Duration) -> Result<Option<(Summary, Run)>> {
    let run = Reader::open(directory)?.run()?;
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let summary = loadstone_analysis::conclude(&run);
        // Nobody waits any longer for a late one.
        let _ = sender.send((summary, run));
    });
    match receiver.recv_timeout(time_max) {
        Ok(found) => Ok(Some(found)),
        Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
        Err(mpsc::RecvTimeoutError::Disconnected) => bail!("the analysis of {} panicked", directory.display()),
    }
}

fn conclude(result: &mut ReplayResult, case: &ReplayCase, summary: &Summary, run: &Run) {
    let findings = &summary.verdict.findings;
    let named = named::services(&findings.findings, run);
    let first: Option<&NamedService> = named.first();
    let finding: Option<&Finding> = findings.findings.get(first.map_or(0, |first| first.finding));
    if let Some(finding) = finding {
        result.rule = finding.rule.to_string();
        result.claim.clone_from(&finding.claim);
        result.confidence = format!("{:?}", finding.confidence).to_lowercase();
    }
    result.is_of_pair = first.is_some_and(|first| first.is_of_pair);
    let kind = case.answer.as_ref().map(|answer| answer.kind);
    result.is_kind_right = first.is_some_and(|first| Some(first.kind) == kind);
    result.remark.clone_from(&findings.remark.summary);
    result.named = named.into_iter().map(|named| named.service).collect();
}
