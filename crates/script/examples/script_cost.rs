//! Runs a test file on one worker and prints the cost of a request: the script path alone, without a run directory or report.
//!
//! `cargo run --release -p loadstone-script --example script_cost -- FILE [name=value …]`

use std::path::Path;
use std::sync::Arc;

use loadstone_engine::{Coordinator, LoadEvent};
use loadstone_metrics::{SeriesKind, Snapshot};
use loadstone_script::{Inputs, ScriptUsers, Sinks};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: script_cost FILE [name=value …]")?;
    let inputs = Inputs::from_process(&arguments.collect::<Vec<_>>()).map_err(|error| error.render())?;
    let loaded = Arc::new(loadstone_script::load(Path::new(&file), &inputs).map_err(|error| error.render())?);
    let coordinator = Coordinator::new(Arc::new(loaded.plan.clone()), 1);
    let mut total = Snapshot::default();
    let before = cpu_seconds();
    let ending = coordinator.run(
        |context| ScriptUsers::new(&loaded, context, Sinks::default()).map_err(|error| error.render()),
        |event| {
            if let LoadEvent::Snapshot(slice) | LoadEvent::LastSnapshot(slice) = event {
                total.merge(*slice);
            }
            None
        },
    );
    let (user, system) = cpu_seconds();
    let (user, system) = (user - before.0, system - before.1);
    let count = |kind| total.series.iter().filter(|series| series.key.kind == kind).map(|series| series.count).sum::<u64>();
    let (requests, iterations) = (count(SeriesKind::Request), count(SeriesKind::Iteration));
    let per = 1e6 / requests.max(1) as f64;
    let (mut stalls, mut collections) = (0, 0);
    for part in &total.generator {
        stalls += part.stalls.count();
        collections += part.collections.count();
    }
    write(&format!(
        "{ending:?}: {iterations} iterations, {requests} requests, {:.2} µs CPU each ({:.2} user, {:.2} system), \
         {stalls} stalls, {collections} collections, {} errors",
        (user + system) * per,
        user * per,
        system * per,
        total.errors.iter().map(|error| error.count).sum::<u64>(),
    ));
    for error in total.errors.iter().take(5) {
        write(&format!("  {} × {}", error.count, error.message));
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn write(line: &str) {
    println!("{line}");
}

/// User and system time of this process so far.
fn cpu_seconds() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks: Vec<f64> = stat.rsplit(") ").next().unwrap_or("").split(' ').filter_map(|field| field.parse().ok()).collect();
    // Fields 14 and 15 of proc(5), in hundredths of a second. They are counted from the third field because the second may contain spaces.
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0.0) / 100.0;
    (at(10), at(11))
}
