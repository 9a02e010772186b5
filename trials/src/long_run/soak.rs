//! Hours of real load: does the generator's memory stay flat, do its descriptors, does its lag?

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::{machine, process};
use clap::Args;

use super::slope::slope;

const BETWEEN: Duration = Duration::from_secs(10);
/// Rows of the table, and what the slope is taken of. Seconds.
const ROW_S: f64 = 600.0;
const POINT_S: f64 = 300.0;
/// What comes before is warm-up: realms, connections and histograms grow to what the load needs.
const WARM_UP_S: f64 = 600.0;
/// The same for a k6 script, whose VUs exist from the start, and which runs for minutes.
const K6_WARM_UP_S: f64 = 60.0;
const K6_BETWEEN: Duration = Duration::from_secs(2);
const K6_POINT_S: f64 = 30.0;
/// Growth in ten minutes that is called flat.
const K6_FLAT_MB: f64 = 5.0;
const K6_FLAT_DESCRIPTORS: f64 = 20.0;
/// Growth in an hour that is called flat.
const FLAT_MB: f64 = 5.0;
const FLAT_DESCRIPTORS: f64 = 20.0;

#[derive(Args)]
pub(crate) struct SoakOptions {
    #[arg(long, default_value_t = 120)]
    minutes: u32,
    /// Requests per second.
    #[arg(long, default_value_t = 5000)]
    rate: u32,
    /// Run the k6 script instead: VUs that are interrupted, iterations that throw, cookies. 12 minutes are enough.
    #[arg(long)]
    k6: bool,
    /// VUs of the k6 script, in addition to those of its other scenarios.
    #[arg(long, default_value_t = 300)]
    vus: u32,
    /// Use this binary instead of building the release one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// The generator's process at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reading {
    seconds: f64,
    memory_mb: f64,
    descriptors: f64,
}

pub(crate) fn soak(workspace: &Workspace, options: &SoakOptions) -> Result<()> {
    let binary = machine::release_binary(workspace, options.binary.as_deref())?;
    let runs = workspace.target.join("soak");
    let stub = Stub::start(&binary)?;
    if options.k6 {
        return soak_k6(workspace, options, &binary, &stub.url);
    }
    let (readings, directory) = watch(&mut own_script(workspace, options, &binary, &stub.url, &runs), BETWEEN, &runs)?;
    let lags = lags(&binary, &directory)?;
    println!("| minutes | memory | descriptors | schedule lag p99 (median of the seconds) |\n|---|---|---|---|");
    for row in 0..(f64::from(options.minutes) * 60.0 / ROW_S).ceil() as u32 {
        let (from, to) = (f64::from(row) * ROW_S, f64::from(row + 1) * ROW_S);
        let inside = || readings.iter().filter(|reading| (from..to).contains(&reading.seconds));
        let lag = median(lags.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, lag)| *lag).collect());
        let (memory, descriptors) = (mean(inside().map(|reading| reading.memory_mb)), mean(inside().map(|reading| reading.descriptors)));
        println!("| {:.0}–{:.0} | {memory:.1} MB | {descriptors:.0} | {:.0} µs |", from / 60.0, to / 60.0, lag * 1e6);
    }
    println!("\n{}", machine::facts()?);
    let verdicts = [
        verdict("memory", ("MB", "hour"), FLAT_MB, &points(&readings, |reading| reading.memory_mb))?,
        verdict("descriptors", ("descriptors", "hour"), FLAT_DESCRIPTORS, &points(&readings, |reading| reading.descriptors))?,
    ];
    println!("run: {}", directory.display());
    if verdicts.contains(&false) {
        bail!("not flat");
    }
    Ok(())
}

/// Whether the VUs of a k6 script grow after the first minute.
fn soak_k6(workspace: &Workspace, options: &SoakOptions, binary: &Path, url: &str) -> Result<()> {
    let runs = workspace.target.join("soak-k6");
    let mut command = Command::new(binary);
    command.current_dir(&workspace.root).args(["run", "--quiet", "--runs"]).arg(&runs).arg("bench/soak/soak.k6.js");
    for variable in [format!("URL={url}"), format!("VUS={}", options.vus), format!("SECONDS={}", options.minutes * 60)] {
        command.args(["-e", &variable]);
    }
    let (mut readings, directory) = watch(&mut command, K6_BETWEEN, &runs)?;
    // After the load, the run is concluded.
    readings.retain(|reading| reading.seconds < f64::from(options.minutes) * 60.0);
    println!("| minute | memory | descriptors |\n|---|---|---|");
    for minute in 0..options.minutes {
        let inside = || readings.iter().filter(|reading| (reading.seconds / 60.0) as u32 == minute);
        let (memory, descriptors) = (mean(inside().map(|reading| reading.memory_mb)), mean(inside().map(|reading| reading.descriptors)));
        println!("| {} | {memory:.1} MB | {descriptors:.0} |", minute + 1);
    }
    println!("\n{}", machine::facts()?);
    let points = |of: fn(&Reading) -> f64| means(&readings, of, (K6_WARM_UP_S, K6_POINT_S, 600.0));
    let verdicts = [
        verdict("memory", ("MB", "ten minutes"), K6_FLAT_MB, &points(|reading| reading.memory_mb))?,
        verdict("descriptors", ("descriptors", "ten minutes"), K6_FLAT_DESCRIPTORS, &points(|reading| reading.descriptors))?,
    ];
    println!("run: {}", directory.display());
    if verdicts.contains(&false) {
        bail!("not flat");
    }
    Ok(())
}

fn own_script(workspace: &Workspace, options: &SoakOptions, binary: &Path, url: &str, runs: &Path) -> Command {
    let mut command = workspace.command("sh");
    // The script observes its own process: the shell becomes it, under the number that it names.
    command.args(["-c", r#"exec "$@" -p generator=$$"#, "sh"]).arg(binary).args(["run", "--quiet", "--runs"]).arg(runs);
    command.arg("bench/soak/soak.load.ts");
    for parameter in [format!("target={url}"), format!("rate={}", options.rate), format!("runTime={}m", options.minutes)] {
        command.args(["-p", &parameter]);
    }
    command
}

/// Runs the load to its end. What was read meanwhile, and the run directory.
#[expect(clippy::disallowed_methods, reason = "it measures the machine, and xtask uses none of the project's crates")]
fn watch(command: &mut Command, between: Duration, runs: &Path) -> Result<(Vec<Reading>, PathBuf)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().context("starting loadstone")?;
    let (began, mut readings) = (Instant::now(), Vec::new());
    while child.try_wait()?.is_none() {
        // It may end between two looks.
        readings.extend(read(child.id(), began.elapsed().as_secs_f64()).ok());
        thread::sleep(between);
    }
    let mut names: Vec<PathBuf> = fs::read_dir(runs)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    names.sort();
    Ok((readings, names.pop().context("loadstone left no run")?))
}

fn read(pid: u32, seconds: f64) -> Result<Reading> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"))?.count() as f64;
    Ok(Reading { seconds, memory_mb: kilobytes * 1024.0 / 1e6, descriptors })
}

/// Second, and p99 of the schedule lag of the first request of each iteration, in seconds.
fn lags(binary: &Path, directory: &Path) -> Result<Vec<(f64, f64)>> {
    let table = process::output(Command::new(binary).args(["export", "--table", "seconds", "--format", "jsonl"]).arg(directory))?;
    let lag = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).ok()?;
        (row["name"] == "Page").then(|| Some((row["second"].as_f64()?, row["lag_p99_s"].as_f64()?)))?
    };
    Ok(table.lines().filter_map(lag).collect())
}

/// Means of stretches after the warm-up, by the hour.
fn points(readings: &[Reading], of: fn(&Reading) -> f64) -> Vec<(f64, f64)> {
    means(readings, of, (WARM_UP_S, POINT_S, 3600.0))
}

/// Means of stretches after the warm-up. `unit_s`: the unit of their times. All in seconds.
fn means(readings: &[Reading], of: fn(&Reading) -> f64, (warm_up_s, stretch_s, unit_s): (f64, f64, f64)) -> Vec<(f64, f64)> {
    let steady: Vec<&Reading> = readings.iter().filter(|reading| reading.seconds >= warm_up_s).collect();
    let stretches = steady.chunk_by(|a, b| (a.seconds / stretch_s) as u64 == (b.seconds / stretch_s) as u64);
    stretches
        .map(|part| (mean(part.iter().map(|reading| reading.seconds)) / unit_s, mean(part.iter().map(|reading| of(reading)))))
        .collect()
}

/// Prints whether it is flat.
fn verdict(what: &str, (unit, time): (&str, &str), flat: f64, points: &[(f64, f64)]) -> Result<bool> {
    let Some((slope, half)) = slope(points) else {
        println!("{what}: too short to see a slope (35 minutes are needed, or 4 for a k6 script)");
        return Ok(true);
    };
    let is_flat = slope - half <= flat;
    let word = match (is_flat, slope + half <= flat) {
        (true, true) => "flat",
        (true, false) => "cannot tell",
        (false, _) => "GROWS",
    };
    println!("{what}: {word}, {slope:+.2} {unit} per {time} (95 % interval {:+.2} to {:+.2})", slope - half, slope + half);
    Ok(is_flat)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    sum / f64::max(count, 1.0)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The target. Dropping it ends it.
struct Stub {
    url: String,
    child: Child,
}

impl Stub {
    fn start(binary: &Path) -> Result<Self> {
        let mut command = Command::new(binary);
        command.args(["stub", "--delay", "uniform(1ms, 5ms)", "--fault", "0.5%=503", "--fault", "0.01%=reset"]);
        command.args(["--json-body", r#"{"products":[1,2,3,4,5,6,7,8],"total":8}"#]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().context("starting the stub")?;
        let mut says = BufReader::new(child.stderr.take().context("its standard error was asked for")?);
        let mut line = String::new();
        says.read_line(&mut line)?;
        // It goes on to say what it did, every ten seconds.
        thread::spawn(move || says.lines().for_each(drop));
        let url = line.split_whitespace().find_map(|word| word.starts_with("http://").then(|| word.trim_end_matches('.').to_owned()));
        Ok(Self { url: url.with_context(|| format!("the stub says `{line}`"))?, child })
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        // One that has ended already cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warm_up_is_no_point_and_the_rest_is_averaged() {
        let reading = |n: u32| Reading { seconds: f64::from(n) * 10.0, memory_mb: f64::from(n), descriptors: 7.0 };
        let readings: Vec<Reading> = (0..180).map(reading).collect();
        let points = points(&readings, |reading| reading.memory_mb);
        assert_eq!(points.len(), 4);
        assert!((points[0].1 - 74.5).abs() < 1e-9);
        assert!(!verdict("memory", ("MB", "hour"), 5.0, &(0..10).map(|n| (f64::from(n), 6.0 * f64::from(n))).collect::<Vec<_>>()).unwrap());
    }
}
