//! What looking into a runtime costs the service: the healthy shops of `labs/diagnose` under an even load, with the runtime observed and without, in turn.
//!
//! Both observe the process, whose CPU time is what is compared. A round is without, with, with, without: a drift cancels, and its two runs without
//! say what the machine itself does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::process;
use clap::Args;
use serde_json::{Value, json};

use super::system::LabSystem;
use super::{conclusion, figures, lab_case};
use crate::long_run::student_t;

const STACKS: [&str; 4] = ["node", "jvm", "go", "python"];

#[derive(Args)]
pub(crate) struct RuntimeOptions {
    /// Only this stack: `node`, `jvm`, `go`, `python`. May be repeated.
    #[arg(long = "stack", value_name = "STACK")]
    stacks: Vec<String>,
    /// Rounds of four runs each.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(4..))]
    rounds: u32,
    /// How long each run's load lasts, in seconds.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(12..))]
    seconds: u64,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// What one run measured of the service.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ServiceCost {
    /// Mean cores in use by the service's processes.
    cores: f64,
    /// Geometric mean of the requests' medians, seconds: no request is hidden by a slower one.
    p50: f64,
    /// Response time of all requests together, seconds.
    p99: f64,
}

/// Without, with, with, without.
type CostRound = [ServiceCost; 4];

pub(crate) fn runtimes(workspace: &Workspace, options: &RuntimeOptions) -> Result<()> {
    let binary = lab_case::binary(workspace, options.binary.as_ref())?;
    let stacks: Vec<&str> =
        STACKS.into_iter().filter(|stack| options.stacks.is_empty() || options.stacks.iter().any(|of| of == stack)).collect();
    if stacks.is_empty() {
        bail!("no runtime of these is observed; there are: {}", STACKS.join(", "));
    }
    let runs = workspace.target.join("lab/runtimes");
    fs::create_dir_all(&runs)?;
    let mut lab = LabSystem::serve(workspace, "diagnose")?;
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    for stack in stacks {
        lab.switch(&json!({ "stack": stack, "fault": {} }).to_string())?;
        let measure = |inside: bool| measured(workspace, &lab, (&binary, &runs), (stack, inside, options.seconds));
        // What is compiled, filled or opened on first use belongs to neither.
        measure(true)?;
        let mut rounds = Vec::new();
        for round in 1..=options.rounds {
            let of: CostRound = [measure(false)?, measure(true)?, measure(true)?, measure(false)?];
            eprintln!("{round}. {stack}: {of:?}");
            rounds.push(of);
        }
        rows.extend(lines(stack, &rounds));
    }
    println!("{}\nruns are in {}", figures::table(&rows), runs.display());
    Ok(())
}

fn measured(
    workspace: &Workspace,
    lab: &LabSystem,
    (binary, runs): (&Path, &Path),
    (stack, inside, seconds): (&str, bool, u64),
) -> Result<ServiceCost> {
    let mut parameters = vec![
        ("target", lab.address("shop")?.to_owned()),
        ("load", "constant".to_owned()),
        ("visits", "20".to_owned()),
        ("watch", "process".to_owned()),
        ("length", format!("{seconds}s")),
    ];
    if inside {
        parameters.push(("inside", stack.to_owned()));
    }
    let concluded = conclusion::run(binary, &workspace.root.join("labs/diagnose/shop.load.ts"), runs, &parameters, None)?;
    let readings = process::output(Command::new(binary).args(["export", "--table", "signals", concluded.id(), "--runs"]).arg(runs))?;
    if inside && !readings.contains(",runtime/") {
        bail!("{}: the runtime was not looked into; `loadstone show` says why", concluded.id());
    }
    let percentile = |times: &Value, quantile: f64| {
        let row = times["percentiles"].as_array().into_iter().flatten().find(|row| row["quantile"].as_f64() == Some(quantile));
        row.and_then(|row| row["value"].as_f64()).with_context(|| format!("{}: no percentile {quantile}", concluded.id()))
    };
    let requests = concluded.summary["requests"].as_array().context("a summary has its requests")?;
    let medians: Vec<f64> = requests.iter().map(|request| percentile(&request["response"], 0.5)).collect::<Result<_>>()?;
    let p50 = (medians.iter().map(|median| median.ln()).sum::<f64>() / medians.len() as f64).exp();
    Ok(ServiceCost { cores: mean_cores(&readings, seconds)?, p50, p99: percentile(&concluded.summary["response"], 0.99)? })
}

/// Mean cores in use while there was load, from a table of signals: `shop/cpu` counts CPU seconds.
fn mean_cores(table: &str, seconds: u64) -> Result<f64> {
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| head.iter().position(|of| *of == name).with_context(|| format!("the table of signals has no column {name}"));
    let (at, signal, value) = (column("at_s")?, column("signal")?, column("value")?);
    let reading = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |place: usize| cells.get(place).and_then(|cell| cell.parse::<f64>().ok());
        (cells.get(signal) == Some(&"shop/cpu")).then_some((number(at)?, number(value)?))
    };
    // The first reading is of before the load.
    let counted: Vec<(f64, f64)> = lines.filter_map(reading).filter(|(at, _)| (1.0..=seconds as f64).contains(at)).collect();
    let ([first, .., last], true) = (&counted[..], counted.len() >= 5) else { bail!("the process of the shop was hardly observed") };
    Ok((last.1 - first.1) / (last.0 - first.0))
}

const HEAD: [&str; 6] = ["stack", "of the service", "without", "with", "change, 95 % interval", "without against itself"];

/// A number of a run, and how it is shown.
struct CostNumber {
    name: &'static str,
    of: fn(&ServiceCost) -> f64,
    shown: fn(f64) -> String,
}

const NUMBERS: [CostNumber; 3] = [
    CostNumber { name: "CPU", of: |run| run.cores, shown: |cores| format!("{:.2} % of a core", 100.0 * cores) },
    CostNumber { name: "p50", of: |run| run.p50, shown: figures::seconds },
    CostNumber { name: "p99", of: |run| run.p99, shown: figures::seconds },
];

/// One line for each number of a stack.
fn lines(stack: &str, rounds: &[CostRound]) -> Vec<Vec<String>> {
    let line = |CostNumber { name, of, shown }: &CostNumber| {
        let mean = |at: [usize; 2]| rounds.iter().flat_map(|round| at.map(|at| of(&round[at]))).sum::<f64>() / (2 * rounds.len()) as f64;
        let changes: Vec<f64> =
            rounds.iter().map(|round| (of(&round[1]) * of(&round[2]) / of(&round[0]) / of(&round[3])).ln() / 2.0).collect();
        let itself: Vec<f64> = rounds.iter().map(|round| (of(&round[3]) / of(&round[0])).ln()).collect();
        vec![stack.to_owned(), (*name).to_owned(), shown(mean([0, 3])), shown(mean([1, 2])), interval(&changes), interval(&itself)]
    };
    NUMBERS.iter().map(line).collect()
}

/// The mean of logarithms of ratios as a change, with its interval by Student's t: `+3.1 % (+1.0 to +5.2)`.
fn interval(logarithms: &[f64]) -> String {
    let n = logarithms.len() as f64;
    let mean = logarithms.iter().sum::<f64>() / n;
    let variance = logarithms.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = student_t(n - 1.0) * (variance / n).sqrt();
    let percent = |logarithm: f64| 100.0 * logarithm.exp_m1();
    format!("{:+.1} % ({:+.1} to {:+.1})", percent(mean), percent(mean - half), percent(mean + half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reported_cost_is_the_ratio_of_with_to_without() {
        let of = |cores: f64| ServiceCost { cores, p50: 0.001, p99: 0.004 };
        let rounds = [[of(0.10), of(0.11), of(0.11), of(0.10)], [of(0.20), of(0.22), of(0.22), of(0.20)]];
        let rows = lines("go", &rounds);
        assert_eq!(rows[0], ["go", "CPU", "15.00 % of a core", "16.50 % of a core", "+10.0 % (+10.0 to +10.0)", "+0.0 % (+0.0 to +0.0)"]);
        assert_eq!(rows[2][1..4], ["p99", "4.00 ms", "4.00 ms"]);
    }

    #[test]
    fn a_table_of_signals_is_read_while_there_was_load() {
        let readings = [(0.5, 9.0), (2.0, 10.0), (3.0, 10.2), (4.0, 10.4), (5.0, 10.6), (6.0, 10.8), (30.0, 19.0)];
        let line = |(at, cpu): (f64, f64)| format!("{at},t,shop/cpu,s,{cpu}\n{at},t,shop/threads,1,7\n");
        let table = format!("at_s,time,signal,unit,value\n{}", readings.map(line).concat());
        assert!((mean_cores(&table, 20).unwrap() - 0.2).abs() < 1e-9);
        assert!(mean_cores("at_s,time,signal,unit,value\n", 20).is_err());
    }
}
