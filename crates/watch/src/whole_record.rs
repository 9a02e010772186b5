//! A record that is complete: read at once, without its tool.

use loadstone_metrics::Snapshot;
use loadstone_plan::{Load, LoadModel, RecordedLoad, TestPlan};

use crate::error::WatchError;
use crate::record_format::{ReaderChoices, RecordParts};
use crate::{formats, k6_options, seconds, tool_scenarios, wall_clock, watch};

/// The instant at which [`read_all`] reads: entries after the first day of a run lie in the future, and a time beyond all measure opens no seconds up to it.
const READ_AT_NS: u64 = 24 * 3_600 * 1_000_000_000;

/// Reads a whole record as the run of its tool would: `started_wall_ns` is the wall time at which the run begins.
///
/// # Errors
/// There is no such format, or its pattern is wrong.
pub fn read_all(
    format: &str,
    choices: ReaderChoices<'_>,
    model: LoadModel,
    started_wall_ns: u64,
    record: &[u8],
) -> Result<Vec<Snapshot>, WatchError> {
    let format = formats::find(format)?;
    let mut reader = (format.make)(choices)?;
    let unplanned = || vec![tool_scenarios::ToolScenario::unplanned(format.tool, model)];
    let counting = seconds::Counting {
        tool: format.tool.into(),
        scenarios: choices.k6_options.and_then(|text| k6_options::of_inspection(text, false)).unwrap_or_else(unplanned),
        has_iterations: format.has_iterations,
        users: None,
        series_max: loadstone_plan::RunOptions::default().series_max,
        resolution_ns: reader.resolution_ns().unwrap_or(format.resolution_ns),
    };
    let mut open = seconds::RecordedSeconds::new(counting, wall_clock::WallClock::new((0, started_wall_ns)), 0);
    let mut complete: Vec<Snapshot> = Vec::new();
    let parts: Vec<&[u8]> = match format.parts {
        RecordParts::Lines => record.split(|byte| *byte == b'\n').collect(),
        // Parts of a stream end anywhere.
        RecordParts::Stream => record.chunks(97).collect(),
        RecordParts::Messages | RecordParts::Proxied => vec![record],
    };
    for (part, line) in parts.into_iter().zip(1..).filter(|(part, _)| !part.is_empty()) {
        let read = reader.line(part, &mut |entry| open.take(entry, READ_AT_NS, &mut |snapshot| complete.push(snapshot)));
        if read.is_err() {
            open.unreadable(part, || format!("line {line}"));
        }
    }
    reader.end(&mut |entry| open.take(entry, READ_AT_NS, &mut |snapshot| complete.push(snapshot)));
    let last = open.finish(0, &mut |snapshot| complete.push(snapshot));
    complete.push(last);
    Ok(complete)
}

/// The plan of a run whose load is a record of this format: what it lacks, and one scenario with the tool's name.
///
/// # Errors
/// There is no such format, or it needs a pattern.
pub fn plan_of_record(format: &str, name: &str) -> Result<TestPlan, WatchError> {
    let format = formats::find(format)?;
    let reader = (format.make)(ReaderChoices::default())?;
    let scenario = tool_scenarios::ToolScenario::unplanned(format.tool, format.model);
    let load: Load = watch::leaf(&scenario, 0);
    let recorded = RecordedLoad {
        tool: format.tool.to_owned(),
        format: format.name.to_owned(),
        command: Vec::new(),
        resolution_ns: reader.resolution_ns().unwrap_or(format.resolution_ns),
        knows_schedule: reader.knows_schedule(),
        planned_requests: None,
        lacks: format.lacks.iter().map(|&lack| lack.to_owned()).collect(),
    };
    Ok(TestPlan { recorded: Some(recorded), ..TestPlan::new(name, [format.tool], load) })
}
