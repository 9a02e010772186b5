//! `cargo xtask scaling`: do two workers send twice as much as one?
//!
//! A server in a separate process would take its CPU time from the second worker. So [`responder`] answers each worker on the worker's own core, in
//! the time that its requests take anyway. Each core then holds one worker and its target, and the cores share only what Loadstone and the kernel
//! share. Three settings take turns: one worker alone on the machine, two processes of one worker each, and one process of two workers. The ratio of
//! the last two is what sharing a process costs; that of the first two is what the machine itself loses when both cores are busy. Read [`scaling`]
//! first. Deliberately absent: more than two workers, which need more cores (the tests of crates/engine simulate 64).

mod responder;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::machine;
use clap::Args;

use responder::{CORES, Responders, pin};

use crate::dated_result;
use crate::stillness::StillnessWatch;

/// Two workers must send at least this many times what two single ones send.
const TARGET: f64 = 0.95;
/// From the start of the generator to the measurement. Connections are then answered where their worker runs.
const SETTLING: Duration = Duration::from_secs(2);
/// The load goes on for longer than the measurement.
const MARGIN_S: u32 = 4;
/// Connections of each worker.
const USERS: u32 = 25;

#[derive(Args)]
pub(crate) struct ScalingOptions {
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 4)]
    seconds: u32,
    /// Turns of each setting.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Measure this binary instead of building the release one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Print the table without writing it to bench/results.
    #[arg(long)]
    dry: bool,
}

/// What generates the load.
#[derive(Clone, Copy)]
enum Kind {
    Url,
    Script,
}

/// Which workers there are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Setting {
    /// One worker on this core, and nothing on the other.
    Alone(usize),
    TwoProcesses,
    TwoWorkers,
}

const SETTINGS: [Setting; 4] = [Setting::Alone(CORES[0]), Setting::Alone(CORES[1]), Setting::TwoProcesses, Setting::TwoWorkers];

/// Requests per second, one column for each setting.
struct ScalingRound {
    rates: [f64; SETTINGS.len()],
    /// Of the two workers' requests: the smaller share of one core.
    evenness: f64,
    away: f64,
}

pub(crate) fn scaling(workspace: &Workspace, options: &ScalingOptions) -> Result<()> {
    if thread::available_parallelism()?.get() < CORES.len() {
        bail!("two cores are needed, one for each worker");
    }
    let binary = machine::release_binary(workspace, options.binary.as_deref())?;
    let script = workspace.root.join("bench/status.load.ts");
    let mut text = format!(
        "# Scaling, {}\n\n{}\n\nTwo workers on two cores. Each core also has a responder, which answers the worker that runs there and counts its \
         requests at the socket. {} rounds of {} s. Requests per second: medians, lowest and highest in brackets. Ratios within each round.\n\n",
        machine::today()?,
        machine::facts()?,
        options.rounds,
        options.seconds,
    );
    text += "| load | one worker alone, core 0 | core 1 | two processes of one worker | two workers | two workers ÷ two processes | two processes ÷ \
             both alone | away |\n|---|---|---|---|---|---|---|---|\n";
    for (name, kind) in [("a URL", Kind::Url), ("TypeScript, status", Kind::Script)] {
        let mut rounds = Vec::new();
        for round in 1..=options.rounds {
            let measured = measure(&binary, &script, kind, options.seconds)?;
            println!("{name}, round {round}: {:.0?} requests per second", measured.rates);
            rounds.push(measured);
        }
        text += &row(name, &rounds);
    }
    println!("\n{text}");
    if !options.dry {
        dated_result::write(workspace, Some("scaling"), &text)?;
    }
    Ok(())
}

fn measure(binary: &Path, script: &Path, kind: Kind, seconds: u32) -> Result<ScalingRound> {
    let watch = StillnessWatch::begin();
    let mut round = ScalingRound { rates: [0.0; SETTINGS.len()], evenness: 0.0, away: 0.0 };
    for (rate, setting) in round.rates.iter_mut().zip(SETTINGS) {
        let counted = turn(binary, script, kind, setting, seconds)?;
        *rate = counted.iter().sum();
        if setting == Setting::TwoWorkers {
            round.evenness = counted[0].min(counted[1]) / *rate;
        }
    }
    round.away = watch.end()?.away_share();
    if round.evenness < 0.35 {
        bail!("one core answered only {:.0} % of the requests: the workers were not on separate cores", round.evenness * 100.0);
    }
    Ok(round)
}

/// Requests per second on each core.
fn turn(binary: &Path, script: &Path, kind: Kind, setting: Setting, seconds: u32) -> Result<[f64; 2]> {
    let responders = Responders::start()?;
    let length_s = seconds + MARGIN_S;
    let start = |workers: u32, cores: &str| command(binary, script, kind, &responders.url, workers, length_s, cores).spawn();
    let mut generators: Vec<Child> = match setting {
        Setting::Alone(core) => vec![start(1, &core.to_string())?],
        Setting::TwoProcesses => CORES.iter().map(|core| start(1, &core.to_string())).collect::<std::io::Result<_>>()?,
        Setting::TwoWorkers => vec![start(2, &CORES.map(|core| core.to_string()).join(","))?],
    };
    thread::sleep(SETTLING / 2);
    let pinned = if setting == Setting::TwoWorkers { pin_workers(generators[0].id()) } else { Ok(()) };
    thread::sleep(SETTLING / 2);
    let (began, before) = (now(), responders.counts());
    thread::sleep(Duration::from_secs(seconds.into()));
    let (after, lasted_s) = (responders.counts(), began.elapsed().as_secs_f64());
    for generator in &mut generators {
        generator.wait()?;
    }
    pinned?;
    Ok([0, 1].map(|place| (after[place] - before[place]) as f64 / lasted_s))
}

#[expect(clippy::disallowed_methods, reason = "it measures the machine, and trials use none of the project's crates")]
fn now() -> Instant {
    Instant::now()
}

fn command(binary: &Path, script: &Path, kind: Kind, url: &str, workers: u32, length_s: u32, cores: &str) -> Command {
    let users = (workers * USERS).to_string();
    let mut command = Command::new("taskset");
    command.args(["-c", cores]).arg(binary).args(["run", "--no-save", "--quiet", "--workers", &workers.to_string()]);
    match kind {
        Kind::Url => command.args([url, "--users", &users, "--for", &format!("{length_s}s")]),
        Kind::Script => {
            command.arg(script).args(["-p", &format!("target={url}"), "-p", &format!("count={users}"), "-p", &format!("time={length_s}s")])
        }
    };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Each worker's thread to its own core.
fn pin_workers(process: u32) -> Result<()> {
    let mut pinned = 0;
    for entry in fs::read_dir(format!("/proc/{process}/task"))? {
        let task = entry?;
        let name = fs::read_to_string(task.path().join("comm"))?;
        let Some(index) = name.trim().strip_prefix("worker-").and_then(|index| index.parse::<usize>().ok()) else { continue };
        let thread = task.file_name().to_string_lossy().parse()?;
        pin(thread, *CORES.get(index).context("a worker has no core")?)?;
        pinned += 1;
    }
    if pinned == CORES.len() { Ok(()) } else { bail!("{pinned} worker threads were found instead of {}", CORES.len()) }
}

fn row(name: &str, rounds: &[ScalingRound]) -> String {
    let column = |index: usize| spread(rounds.iter().map(|round| round.rates[index]).collect(), 0);
    let shared: Vec<f64> = rounds.iter().map(|round| round.rates[3] / round.rates[2]).collect();
    let machine: Vec<f64> = rounds.iter().map(|round| round.rates[2] / (round.rates[0] + round.rates[1])).collect();
    let away = rounds.iter().map(|round| round.away).fold(0.0, f64::max) * 100.0;
    let mut middle = shared.clone();
    middle.sort_by(f64::total_cmp);
    let met = if middle.get(middle.len() / 2).is_some_and(|ratio| *ratio >= TARGET) { "" } else { " (target missed)" };
    format!(
        "| {name} | {} | {} | {} | {} | {}{met} | {} | {away:.2} % |\n",
        column(0),
        column(1),
        column(2),
        column(3),
        spread(shared, 3),
        spread(machine, 3)
    )
}

/// `1.00 (0.97–1.03)`
fn spread(mut values: Vec<f64>, digits: usize) -> String {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.first().copied().unwrap_or(f64::NAN), values.last().copied().unwrap_or(f64::NAN));
    let median = values.get(values.len() / 2).copied().unwrap_or(f64::NAN);
    format!("{median:.digits$} ({low:.digits$}–{high:.digits$})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_rounds() {
        let round = |rates| ScalingRound { rates, evenness: 0.5, away: 0.001 };
        let text = row("a URL", &[round([50.0, 50.0, 100.0, 90.0]), round([40.0, 60.0, 50.0, 50.0]), round([50.0, 50.0, 100.0, 98.0])]);
        assert!(text.contains("| 0.980 (0.900–1.000) | 1.000 (0.500–1.000) | 0.10 % |"), "{text}");
        assert!(row("slow", &[round([50.0, 50.0, 100.0, 90.0])]).contains("0.900 (0.900–0.900) (target missed)"));
    }
}
