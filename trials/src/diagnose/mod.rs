//! `cargo xtask diagnose`: how often are findings right? Real stacks with planted faults, their healthy twins, and the findings about them.
//!
//! Each [`Cell`] is a stack, a fault, its severity, a load and what is watched. Results are lines of JSON with the conclusions; judging is
//! done anew each time, by the expectations in `labs/diagnose/faults.json`. Read [`diagnose`] first, then `judging`. Deliberately absent: any
//! knowledge of the faults in the load test or the binary; they see what a user's would.

mod again;
mod corpus;
mod document;
mod judging;
mod quiet;
mod results;
mod sample;
mod score;
mod trial;
mod watched;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::machine;
use checkout::process;
use clap::Args;

use self::judging::{Catalogue, Cell, CellConclusion, Rating};
pub(crate) use self::score::wilson;
pub(crate) use self::watched::{WatchFindingsOptions, watch_findings};
use crate::lab::system::LabSystem;

#[derive(Args, Default)]
pub(crate) struct DiagnoseOptions {
    /// Only this stack. May be repeated, as all that follow.
    #[arg(long = "stack", value_name = "STACK")]
    stacks: Vec<String>,
    /// Only this fault, or `healthy` for all systems without one.
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<String>,
    /// Only this severity: `plain`, `gross`, `slight`.
    #[arg(long = "severity", value_name = "SEVERITY")]
    severities: Vec<String>,
    /// Only this load: `constant`, `ramp`, `closed`, `users`.
    #[arg(long = "load", value_name = "LOAD")]
    loads: Vec<String>,
    /// Only watched this way: `nothing`, `process`, `all`.
    #[arg(long = "observe", value_name = "WHAT")]
    observe: Vec<String>,
    /// Observe the runtime, too (Node, the JVM, Go, Python), where all is observed. Keep its results apart with `--folder`.
    #[arg(long)]
    inside: bool,
    /// Only cells whose name contains this.
    #[arg(long = "only", value_name = "TEXT")]
    only: Vec<String>,
    /// How often each cell is run.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Go on where an earlier benchmark ended: cells that have a result are not run again.
    #[arg(long)]
    resume: bool,
    /// Run for so long: a balanced random choice of the cells, a third of them healthy.
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,
    /// Make the load of each cell this long. For healthy systems alone, where nothing needs time to show.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(12..))]
    seconds: Option<u64>,
    /// Decides the choice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The few cells that CI runs; an error if one is wrong or denied.
    #[arg(long, conflicts_with = "minutes")]
    slice: bool,
    /// Put the kept runs of these cells into the corpus that the rules are judged by.
    #[arg(long)]
    record: bool,
    /// Only say which cells there are.
    #[arg(long)]
    list: bool,
    /// Run nothing; judge the results that are there.
    #[arg(long)]
    judge: bool,
    /// Run nothing; let the binary conclude again from the runs that were kept, and say what changes. The results stay as they were; those of now are kept
    /// next to them.
    #[arg(long, conflicts_with_all = ["write", "record"])]
    again: bool,
    /// Put the tables into bench/results/diagnosis.md.
    #[arg(long)]
    write: bool,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "FILE")]
    loadstone: Option<PathBuf>,
    /// Where results and runs are kept; `target/diagnose` by default.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// About how long a cell takes in addition to its load: set-up, the last responses, the conclusion.
const SET_UP: Duration = Duration::from_secs(6);

pub(crate) fn diagnose(workspace: &Workspace, options: &DiagnoseOptions) -> Result<()> {
    let catalogue = Catalogue::read(&workspace.root)?;
    let cells = chosen(&catalogue, options)?;
    if options.list {
        cells.iter().for_each(|cell| println!("{}", cell.name()));
        return Ok(());
    }
    let folder = options.folder.clone().unwrap_or_else(|| workspace.target.join("diagnose"));
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let folder = fs::canonicalize(&folder)?;
    let (results, runs) = (folder.join(if options.slice { "slice.jsonl" } else { "results.jsonl" }), folder.join("runs"));
    if options.record {
        return corpus::record(workspace, &cells, &results::read(&results)?, &runs);
    }
    if options.again {
        return again::conclude((&binary(workspace, options)?, &commit(workspace)?), &catalogue, &cells, (&results, &runs));
    }
    let mut failures = 0;
    if !options.judge {
        failures = run_all(workspace, options, &runs, &results, &catalogue, &cells)?;
    }
    let mut all = results::read(&results)?;
    all.retain(|conclusion| cells.iter().any(|cell| cell.name() == conclusion.cell));
    let judged = score::judged(&catalogue, &all);
    let text = score::tables(&judged) + &score::misses(&judged);
    println!("{}\n\n{text}", machine::facts()?);
    if options.write {
        document::write(workspace, &text)?;
    }
    println!("Results: {}; runs: {}.", results.display(), runs.display());
    if failures > 0 {
        bail!("{failures} cells did not run");
    }
    // On a shared machine an undecided cell is no mistake.
    let mistakes = judged.iter().filter(|one| matches!(one.rating, Rating::Wrong | Rating::Denied)).count();
    if options.slice && mistakes > 0 {
        bail!("{mistakes} of {} cells of the slice were wrong or denied", judged.len());
    }
    Ok(())
}

/// The cells that the options leave; an error if a word of theirs means none.
fn chosen(catalogue: &Catalogue, options: &DiagnoseOptions) -> Result<Vec<Cell>> {
    if options.slice {
        return catalogue.slice.iter().map(|name| Cell::parse(name)).collect();
    }
    let among = |wanted: &[String], value: &str| wanted.is_empty() || wanted.iter().any(|one| one == value);
    let mut cells = judging::all(catalogue, options.repeat);
    cells.retain(|cell| {
        among(&options.stacks, &cell.stack)
            && (among(&options.faults, &cell.fault) || (cell.is_healthy() && among(&options.faults, judging::HEALTHY)))
            && among(&options.severities, &cell.severity)
            && among(&options.loads, &cell.load)
            && among(&options.observe, &cell.observe)
            && (options.only.is_empty() || options.only.iter().any(|text| cell.name().contains(text.as_str())))
    });
    if options.seconds.is_some() && cells.iter().any(|cell| !cell.is_healthy()) {
        bail!("--seconds is for healthy systems: a fault needs its time to show. Add --fault healthy");
    }
    if cells.is_empty() {
        let faults: Vec<&str> = catalogue.faults.iter().map(|fault| fault.name.as_str()).collect();
        bail!("no cell is left; stacks: {}; faults: {}", catalogue.stacks.join(", "), faults.join(", "));
    }
    Ok(cells)
}

/// How many did not run.
fn run_all(
    workspace: &Workspace,
    options: &DiagnoseOptions,
    runs: &Path,
    results: &Path,
    catalogue: &Catalogue,
    cells: &[Cell],
) -> Result<usize> {
    let binary = binary(workspace, options)?;
    if !options.resume && results.is_file() {
        // An hour of runs is not thrown away for a flag that was forgotten.
        fs::rename(results, results.with_extension("jsonl.before"))?;
    }
    let mut done: Vec<Cell> = results::read(results)?.iter().filter_map(|conclusion| Cell::parse(&conclusion.cell).ok()).collect();
    let (date, commit, command) = (machine::today()?, commit(workspace)?, command_line());
    let (begun, mut lab, mut failures) = (SystemTime::now(), None, 0);
    while let Some(cell) = next(cells, &done, options) {
        let seconds = options.seconds.or_else(|| Some(catalogue.fault(&cell.fault)?.seconds)).unwrap_or_default();
        let length = Duration::from_secs(seconds);
        if options.minutes.is_some_and(|minutes| begun.elapsed().unwrap_or_default() + length + SET_UP > Duration::from_secs(minutes * 60))
        {
            break;
        }
        eprintln!("{} of {}: {}", done.len() + 1, cells.len(), cell.name());
        done.push(cell.clone());
        let busy = quiet::busy_share()?;
        let system = match &mut lab {
            Some(system) => system,
            None => lab.insert(LabSystem::serve(workspace, "diagnose")?),
        };
        match trial::carry_out(workspace, system, &binary, runs, catalogue, (cell, seconds, options.inside)) {
            Ok(summary) => {
                let conclusion =
                    CellConclusion { busy, command: command.clone(), ..CellConclusion::of(&cell.name(), &summary, &date, &commit) };
                let judged = score::judged(catalogue, std::slice::from_ref(&conclusion));
                eprintln!("  {}: {}", judged.first().map_or("?", |one| one.rating.name()), conclusion.first());
                results::append(results, &conclusion)?;
            }
            // One failed cell does not lose the results of the others; --resume tries it again.
            Err(error) => {
                eprintln!("  did not run: {error:#}");
                failures += 1;
                lab = None;
            }
        }
    }
    Ok(failures)
}

/// All in their order, or a choice of them where the time is limited.
fn next<'a>(cells: &'a [Cell], done: &[Cell], options: &DiagnoseOptions) -> Option<&'a Cell> {
    match options.minutes {
        Some(_) => sample::next(cells, done, options.seed),
        None => cells.iter().find(|cell| !done.contains(cell)),
    }
}

/// What was typed, without where this machine keeps things.
fn command_line() -> String {
    let mut words = vec!["cargo".to_owned(), "xtask".to_owned()];
    let mut typed = std::env::args().skip(1);
    while let Some(word) = typed.next() {
        match word.as_str() {
            "--loadstone" | "--folder" => drop(typed.next()),
            "--resume" | "--write" => {}
            _ => words.push(word),
        }
    }
    words.join(" ")
}

fn binary(workspace: &Workspace, options: &DiagnoseOptions) -> Result<PathBuf> {
    match &options.loadstone {
        Some(binary) => fs::canonicalize(binary).with_context(|| format!("there is no {}", binary.display())),
        None => machine::development_binary(workspace),
    }
}

/// The state of the sources that concluded it.
fn commit(workspace: &Workspace) -> Result<String> {
    Ok(process::output(workspace.command("git").args(["describe", "--always", "--dirty"]))?.trim().to_owned())
}
