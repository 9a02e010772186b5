//! A run of a day on virtual time, and the costs of running, storing, concluding and viewing it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::{machine, process};
use clap::Args;

use super::{paint, size_of};

use crate::usage;

#[derive(Args)]
pub(crate) struct DaysOptions {
    /// Virtual hours.
    #[arg(long, default_value_t = 24)]
    hours: u32,
    /// Iterations of 50 requests per virtual second.
    #[arg(long, default_value_t = 10)]
    rate: u64,
    /// Conclude with this binary instead of building the release one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Make the run with this program (the example `days` of crates/report) instead of building it.
    #[arg(long, value_name = "FILE")]
    maker: Option<PathBuf>,
    /// Make the run in this folder, and keep it.
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// A figure and its target.
struct Figure {
    what: &'static str,
    value: f64,
    unit: &'static str,
    most: f64,
}

#[expect(clippy::disallowed_methods, reason = "it measures the machine, and xtask uses none of the project's crates")]
pub(crate) fn days(workspace: &Workspace, options: &DaysOptions) -> Result<()> {
    let binary = machine::release_binary(workspace, options.binary.as_deref())?;
    let maker = match &options.maker {
        Some(maker) => fs::canonicalize(maker).with_context(|| format!("there is no {}", maker.display()))?,
        None => build(workspace)?,
    };
    let folder = options.keep.clone().unwrap_or_else(|| workspace.target.join("days"));
    let began = Instant::now();
    let output = process::output(Command::new(maker).arg(&folder).args([options.hours.to_string(), options.rate.to_string()]))?;
    println!("{} virtual hours of {} requests/s, generated in {:.0} s", options.hours, options.rate * 50, began.elapsed().as_secs_f64());
    let (memory, directory) = parse(&output)?;
    let figures = figures(&binary, &memory, &directory);
    if options.keep.is_none() {
        fs::remove_dir_all(&directory).with_context(|| format!("deleting {}", directory.display()))?;
    }
    table(&memory, &figures?)
}

fn build(workspace: &Workspace) -> Result<PathBuf> {
    process::run(workspace.command("cargo").args([
        "build",
        "--release",
        "--locked",
        "--package",
        "loadstone-report",
        "--example",
        "days",
    ]))?;
    Ok(workspace.target.join("release/examples/days"))
}

/// Resident memory by hour in bytes, and the run directory.
fn parse(output: &str) -> Result<(Vec<f64>, PathBuf)> {
    let hours = output.lines().filter_map(|line| line.strip_prefix("hour ")?.split_once(": ")?.1.parse().ok());
    let directory = output.lines().last().filter(|line| !line.starts_with("hour ")).context("the maker names no directory")?;
    Ok((hours.collect(), PathBuf::from(directory)))
}

fn figures(binary: &Path, memory: &[f64], directory: &Path) -> Result<Vec<Figure>> {
    let first = memory.first().context("less than an hour")?;
    let growth = memory.iter().map(|bytes| bytes - first).fold(0.0, f64::max);
    let bytes = size_of(directory)? as f64;
    let used = usage::run(Command::new(binary).arg("report").arg(directory), &[0])?;
    let page = directory.join("report.html");
    let mut figures = vec![
        Figure { what: "memory of the generator after the first hour: growth", value: growth / 1e6, unit: "MB", most: 5.0 },
        Figure { what: "run directory, without what is concluded", value: bytes / 1e6, unit: "MB", most: 400.0 },
        Figure { what: "report: CPU time", value: used.cpu_seconds(), unit: "s", most: 20.0 },
        Figure { what: "report: memory at most", value: used.memory_peak_bytes / 1e6, unit: "MB", most: 400.0 },
        Figure { what: "page", value: fs::metadata(&page)?.len() as f64 / 1e6, unit: "MB", most: 6.0 },
    ];
    match paint::measure(&page)? {
        Some(shown) => {
            figures.push(Figure { what: "page: first paint", value: shown.first_paint, unit: "s", most: 1.0 });
            println!("the page's first chart: {:.2} s", shown.first_chart);
        }
        None => process::pass_over("first paint (Chromium or web/node_modules is missing)")?,
    }
    Ok(figures)
}

fn table(memory: &[f64], figures: &[Figure]) -> Result<()> {
    println!("\n| hour | memory of the generator |\n|---|---|");
    for (hour, bytes) in memory.iter().enumerate() {
        println!("| {} | {:.1} MB |", hour + 1, bytes / 1e6);
    }
    println!("\n| figure | measured | target | |\n|---|---|---|---|");
    for figure in figures {
        println!("| {} | {:.2} {unit} | ≤ {} {unit} | {} |", figure.what, figure.value, figure.most, figure.verdict(), unit = figure.unit);
    }
    println!("\n{}", machine::facts()?);
    let missed = figures.iter().filter(|figure| !figure.is_met()).count();
    if missed > 0 {
        bail!("{missed} of {} targets were missed", figures.len());
    }
    Ok(())
}

impl Figure {
    fn is_met(&self) -> bool {
        self.value <= self.most
    }

    fn verdict(&self) -> &'static str {
        if self.is_met() { "met" } else { "MISSED" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_maker_says_is_understood() {
        let (memory, directory) = parse("hour 1: 1000\nhour 2: 1500\n/tmp/runs/a\n").unwrap();
        assert_eq!((memory, directory), (vec![1000.0, 1500.0], PathBuf::from("/tmp/runs/a")));
        assert!(parse("hour 1: 1000\n").is_err());
    }
}
