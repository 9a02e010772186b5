//! A format of records as one value: its name, what it shows and lacks, and its reader.

use loadstone_metrics::Nanos;
use loadstone_plan::LoadModel;

use crate::entry::Entry;
use crate::error::WatchError;

/// Reads the lines of one record. It keeps no more than a few lines.
pub(crate) trait RecordReader: Send {
    /// Reads a line without its end, or the next bytes of a stream, and passes on its entries in order.
    ///
    /// # Errors
    /// The line is not one of this format.
    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine>;

    /// The time of the run's clock, several times a second. Passes on entries that have waited long enough.
    fn pass_time(&mut self, _now: Nanos, _take: &mut dyn FnMut(&Entry<'_>)) {}

    /// The record has ended. Passes on entries that waited for more.
    fn end(&mut self, _take: &mut dyn FnMut(&Entry<'_>)) {}

    /// Whether it knows when each request was due.
    fn knows_schedule(&self) -> bool {
        false
    }

    /// Whether the record arrives at its end, if it depends on the format of the lines.
    fn comes_at_end(&self) -> bool {
        false
    }

    /// The smallest difference of times, if it depends on the format of the lines. Nanoseconds.
    fn resolution_ns(&self) -> Option<u64> {
        None
    }
}

/// A line that its reader does not understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnreadableLine;

/// A line, a message or some bytes of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordPart<'a> {
    /// Or why it cannot be read.
    pub(crate) content: Result<&'a [u8], &'a str>,
    /// Its number in the file or pipe, from 1. `None`: unknown, or there are no lines.
    pub(crate) line: Option<u64>,
}

/// What a reader takes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordParts {
    Lines,
    /// Bytes as they come: the record has no lines.
    Stream,
    /// Messages that are sent to Loadstone.
    Messages,
    /// Requests through Loadstone's proxy.
    Proxied,
}

/// One format.
pub(crate) struct RecordFormat {
    /// The value of `--record`.
    pub(crate) name: &'static str,
    /// The tool, as users name it.
    pub(crate) tool: &'static str,
    /// The smallest difference of times that it can show. Nanoseconds.
    pub(crate) resolution_ns: u64,
    /// How its load depends on the system, unless the user says otherwise.
    pub(crate) model: LoadModel,
    /// Whether the server writes it, so that it has no delay of the tool.
    pub(crate) is_of_server: bool,
    /// Whether it has iterations in addition to requests.
    pub(crate) has_iterations: bool,
    /// Whether the tool writes it only at its end.
    pub(crate) comes_at_end: bool,
    pub(crate) parts: RecordParts,
    /// What it does not contain, apart from the schedule: [`RecordReader::knows_schedule`].
    pub(crate) lacks: &'static [&'static str],
    pub(crate) make: MakeReader,
}

/// What a reader needs to know besides the record.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReaderChoices<'a> {
    /// The value of `--log-format`.
    pub log_format: Option<&'a str>,
    /// The constant rate at which the tool is to send, by its arguments. Requests per second.
    pub rate: Option<f64>,
    /// What `k6 inspect` prints, in place of running it. For tests.
    pub k6_options: Option<&'a str>,
}

/// Creates a reader.
type MakeReader = fn(ReaderChoices<'_>) -> Result<Box<dyn RecordReader>, WatchError>;
