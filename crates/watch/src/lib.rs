//! Load of other tools as a run of Loadstone: starts the tool, reads its record while it is written, and produces the seconds that the engine produces for
//! its own load.
//!
//! Read [`Watch`] first, then `seconds`, which turns entries of a record into seconds. `tools` has the tools that Loadstone knows and their arguments,
//! `tool_scenarios` their scenarios and plans (`k6_options`: those of k6), `late_starts` how late a tool is against its plan,
//! `plugins` the files that it adds to some of them, `formats` the formats, `summaries` what the tools state about all their requests, `line_source` pipes
//! and files that grow, `proxy` Loadstone's own proxy, `record_source` all of these and messages that are sent, `wall_clock` the mapping of times,
//! `tool_cpu` how late a tool without a core reads, `whole_record` a record that is complete. Deliberately absent: findings and validity
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
mod whole_record;

pub use error::WatchError;
pub use record_format::ReaderChoices;
use record_format::RecordParts;
pub use seconds::HELD_SECONDS;
pub use tools::{OTLP_ADDRESS, WatchChoices};
pub use watch::{Watch, WatchEnd, WatchLimits};
pub use whole_record::{plan_of_record, read_all};

/// The names of all formats that have a text, for tests.
pub fn format_names() -> Vec<&'static str> {
    formats::FORMATS.iter().filter(|format| format.parts != RecordParts::Proxied).map(|format| format.name).collect()
}

/// The tool whose summary ends this output, and the percentiles that it states, `(quantile, nanoseconds)`. For tests.
pub fn printed_percentiles(output: &str) -> Option<(&'static str, Vec<(f64, u64)>)> {
    summaries::printed(output).map(|summary| (summary.tool, summary.percentiles))
}
