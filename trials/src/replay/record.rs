//! A case as a run directory: requests of the front end as `loadstone watch --record otlp` reads them, spans as `observe.traces` assembles them, and signals
//! with the roles that observers give them. `loadstone report DIRECTORY` opens it like any run.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jiff::Timestamp;
use loadstone_metrics::{Role, Signal, SignalKind, SignalPoint};
use loadstone_run_directory::{RunEnd, RunInfo, SignalSeries, Writer};
use loadstone_watch::ReaderChoices;
use prost::bytes::Bytes;

use super::case::{Measured, ReplayCase, ServiceSignal};
use super::otlp;

const FORMAT: &str = "otlp";

/// Writes the case below `folder`. Returns its directory.
pub(super) fn write(case: &ReplayCase, folder: &Path) -> Result<PathBuf> {
    let plan = loadstone_watch::plan_of_record(FORMAT, &case.name)?;
    let scenario = plan.scenarios.first().map(|scenario| scenario.name.clone()).unwrap_or_default();
    let model = loadstone_plan::LoadModel::Arrivals;
    let record = otlp::requests(&case.spans, case.zero_wall_ns);
    let seconds = loadstone_watch::read_all(FORMAT, ReaderChoices::default(), model, case.zero_wall_ns, &record)?;
    let started = Timestamp::from_nanosecond(i128::from(case.zero_wall_ns)).context("the time of a case")?.to_string();
    let info = RunInfo { loadstone: env!("CARGO_PKG_VERSION").to_owned(), started, workers: 1, ..RunInfo::default() };
    let mut writer = Writer::create(folder, info, &plan)?;
    for second in &seconds {
        writer.snapshot(second)?;
    }
    let signals: Vec<SignalSeries> = case.signals.iter().map(series).collect();
    writer.signals(&signals)?;
    if case.has_traces {
        let messages: Vec<Bytes> = otlp::messages(&case.spans, case.zero_wall_ns).into_iter().map(Bytes::from).collect();
        let batch = loadstone_observe::recorded_traces(&messages, &scenario, case.zero_wall_ns).context("the spans of a case")?;
        writer.traces(&batch)?;
    }
    Ok(writer.finish(&RunEnd::Completed)?)
}

fn series(of: &ServiceSignal) -> SignalSeries {
    let role = match of.measured {
        Measured::Cores => Some(Role::ProcessCpu),
        Measured::CoresMax => Some(Role::ProcessCpuMax),
        Measured::Memory => Some(Role::ProcessMemory),
        Measured::Calls => Some(Role::Calls),
        Measured::Answered => Some(Role::CallsAnswered),
        Measured::CallTime => Some(Role::CallHold),
        Measured::Other => None,
    };
    let signal = Signal::new(&of.service, &of.metric, SignalKind::Gauge, of.unit).role(role);
    let points = of.readings.iter().map(|(at, value)| SignalPoint { at: (at * 1e9) as u64, value: *value }).collect();
    SignalSeries { signal, points }
}
