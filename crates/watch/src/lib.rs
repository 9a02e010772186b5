//! Load of other tools as a run of Loadstone: starts the tool, reads its record while it is written, and produces the seconds that the engine produces for
//! its own load.
//!
//! Read [`Watch`] first, then `seconds`, which turns entries of a record into seconds. `tools` has the tools that Loadstone knows and their arguments,
//! `tool_scenarios` their scenarios and plans (`k6_options`: those of k6), `late_starts` how late a tool is against its plan,
//! `plugins` the files that it adds to some of them, `formats` the formats, `summaries` what the tools state about all their requests, `line_source` pipes
//! and files that grow, `proxy` Loadstone's own proxy, `record_source` all of these and messages that are sent, `wall_clock` the mapping of times,
//! `tool_cpu` how late a tool without a core reads. Deliberately absent: findings and validity
//! (`analysis`, which reads what `metrics::RecordSlice` and `plan::RecordedLoad` say about the record), and the observed system.

mod entry;
mod error;
mod formats;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod k6_options;
mod late_starts;
mod line_source;
mod proxy;
mod reading;
mod record_format;
mod record_source;
mod seconds;
mod series_names;
mod summaries;
mod tool_cpu;
mod tool_process;
mod tool_scenarios;
mod tools;
mod wall_clock;
mod watch;

use loadstone_metrics::Snapshot;
use loadstone_plan::LoadModel;

pub use error::WatchError;
pub use record_format::ReaderChoices;
use record_format::RecordParts;
pub use seconds::HELD_SECONDS;
pub use tools::{OTLP_ADDRESS, WatchChoices};
pub use watch::{Watch, WatchEnd, WatchLimits};

/// The names of all formats that have a text, for tests.
pub fn format_names() -> Vec<&'static str> {
    formats::FORMATS.iter().filter(|format| format.parts != RecordParts::Proxied).map(|format| format.name).collect()
}

/// The tool whose summary ends this output, and the percentiles that it states, `(quantile, nanoseconds)`. For tests.
pub fn printed_percentiles(output: &str) -> Option<(&'static str, Vec<(f64, u64)>)> {
    summaries::printed(output).map(|summary| (summary.tool, summary.percentiles))
}

/// The instant at which [`read_all`] reads: entries after the first day of a run lie in the future, and a time beyond all measure opens no seconds up to it.
const READ_AT_NS: u64 = 24 * 3_600 * 1_000_000_000;

/// Reads a whole record as the run of its tool would, for tests: `started_wall_ns` is the wall time at which the run begins.
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
