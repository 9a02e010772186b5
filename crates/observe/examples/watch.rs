//! Prints what observers read: `cargo run -p loadstone-observe --example watch -- 10 '{"kind": "process", "port": 8080}' '{"kind": "host"}'`
//!
//! The first argument is the time to watch, in seconds; counters are shown as their rate over that time.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{SignalKind, SignalPoint};
use loadstone_observe::{Observation, Observer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().ok_or("say for how many seconds to watch")?.parse()?;
    let observers = arguments.map(|text| Ok(Observer::from_description(&serde_json::from_str(&text)?)?));
    let observers = observers.collect::<Result<Vec<Observer>, Box<dyn std::error::Error>>>()?;
    let clock = Monotonic::start();
    let observation = Observation::start(observers, clock)?;
    let mut out = std::io::stdout().lock();
    let mut seen = BTreeMap::<String, (SignalKind, String, SignalPoint, SignalPoint)>::new();
    while clock.now() < seconds * 1_000_000_000 {
        let Some(batch) = observation.next(Duration::from_millis(200)) else { continue };
        for notice in &batch.notices {
            writeln!(out, "{:>8.3} s  {}", notice.at as f64 / 1e9, notice.message)?;
        }
        for (signal, point) in batch.points {
            seen.entry(signal.name.clone()).or_insert_with(|| (signal.kind, signal.unit.clone(), point, point)).3 = point;
        }
    }
    for (name, (kind, unit, first, last)) in seen {
        let elapsed = last.at.saturating_sub(first.at) as f64 / 1e9;
        match kind {
            SignalKind::Counter if elapsed > 0.0 => writeln!(out, "{name} = {:.6} {unit}/s", (last.value - first.value) / elapsed)?,
            SignalKind::Counter | SignalKind::Gauge => writeln!(out, "{name} = {:.6} {unit}", last.value)?,
        }
    }
    Ok(())
}
