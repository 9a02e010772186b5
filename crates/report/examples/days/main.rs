//! Generates a run of hours on virtual time, with the parts of a session: recorder, judgement, view of the live page, run directory. `cargo xtask
//! days` reads its output: `hour N: BYTES` of resident memory after each hour, then the directory.
//!
//! `days FOLDER HOURS ITERATIONS_PER_SECOND` (of 50 requests each)
#![expect(clippy::print_stdout, reason = "its output is its result")]

mod synthetic;

use std::error::Error;
use std::path::Path;

use loadstone_analysis::LiveAnalysis;
use loadstone_report::ViewBuilder;
use loadstone_run_directory::{RunEnd, Writer};
use synthetic::{FlowLoad, SyntheticRun};

/// The allocator of the program, because its reserved memory counts as well.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HOUR_S: u32 = 3600;
/// Within the first hour, the book has as many open and as many remembered ended journeys as its limits allow (`loadstone_metrics::FlowLimits`).
const FLOW: FlowLoad = FlowLoad { backlog: 1_000_000, within_s: 1800, per_second: 300 };

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, hours, per_second] = &arguments[..] else { return Err("days FOLDER HOURS ITERATIONS_PER_SECOND".into()) };
    let (hours, per_second): (u32, u64) = (hours.parse()?, per_second.parse()?);
    let plan = synthetic::plan(f64::from(hours), per_second);
    let mut writer = Writer::create(Path::new(folder), synthetic::info(), &plan)?;
    let mut live = LiveAnalysis::new(&plan, &writer.info().host);
    let mut view = ViewBuilder::new(writer.info(), &plan);
    let mut run = SyntheticRun::new(per_second, FLOW);
    for second in 0..hours * HOUR_S {
        let (readings, snapshot) = run.second(second);
        live.push_signals(&readings);
        live.push(&snapshot);
        for series in &readings {
            series.points.iter().for_each(|point| view.push_signal(&series.signal, point));
        }
        view.push(&snapshot);
        writer.signals(&readings)?;
        writer.snapshot(&snapshot)?;
        if (second + 1) % HOUR_S == 0 {
            println!("hour {}: {}", (second + 1) / HOUR_S, resident_bytes()?);
        }
    }
    println!("{}", writer.finish(&RunEnd::Completed)?.display());
    Ok(())
}

/// VmRSS of this process (proc_pid_status(5)).
fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
