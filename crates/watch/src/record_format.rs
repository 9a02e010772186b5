//! A format of records as one value: its name, what it shows and lacks, and its reader.

use loadstone_plan::LoadModel;

use crate::entry::Entry;
use crate::error::WatchError;

/// Reads the lines of one record. It keeps no more than a few lines.
pub(crate) trait RecordReader: Send {
    /// Reads a line without its end, and passes on its entries in order.
    ///
    /// # Errors
    /// The line is not one of this format.
    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine>;

    /// The smallest difference of times, if it depends on the format of the lines. Nanoseconds.
    fn resolution_ns(&self) -> Option<u64> {
        None
    }
}

/// A line that its reader does not understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnreadableLine;

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
    /// Whether it has iterations in addition to requests.
    pub(crate) has_iterations: bool,
    /// Whether the tool writes it only at its end.
    pub(crate) comes_at_end: bool,
    /// What it does not contain.
    pub(crate) lacks: &'static [&'static str],
    pub(crate) make: MakeReader,
}

/// Creates a reader. The argument is the value of `--log-format`.
type MakeReader = fn(Option<&str>) -> Result<Box<dyn RecordReader>, WatchError>;
