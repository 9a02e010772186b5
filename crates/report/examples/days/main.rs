//! Makes a run of hours on virtual time, as a session would: recorder, judgement, view of the live page, run directory. `cargo xtask days` reads
//! what it prints: `hour N: BYTES` of resident memory after each hour, then the directory.
//!
//! `days FOLDER HOURS ITERATIONS_PER_SECOND` (of 50 requests each)
#![expect(clippy::print_stdout, reason = "its output is its result")]

mod made;

use std::error::Error;
use std::path::Path;

use loadstone_analysis::LiveAnalysis;
use loadstone_report::ViewBuilder;
use loadstone_run_directory::{RunEnd, Writer};
use made::{FlowLoad, MadeRun};

/// The one of the program, since what it keeps to itself is memory as well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HOUR_S: u32 = 3600;
/// Within the first hour, as many are open and as many remembered that are over as a book holds of those (`loadstone_metrics::FlowLimits`).
const FLOW: FlowLoad = FlowLoad { backlog: 1_000_000, within_s: 1800, per_second: 300 };

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, hours, per_second] = &arguments[..] else { return Err("days FOLDER HOURS ITERATIONS_PER_SECOND".into()) };
    let (hours, per_second): (u32, u64) = (hours.parse()?, per_second.parse()?);
    let plan = made::plan(f64::from(hours), per_second);
    let mut writer = Writer::create(Path::new(folder), made::info(), &plan)?;
    let mut live = LiveAnalysis::new(&plan, &writer.info().host);
    let mut view = ViewBuilder::new(writer.info(), &plan);
    let mut run = MadeRun::new(per_second, FLOW);
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
