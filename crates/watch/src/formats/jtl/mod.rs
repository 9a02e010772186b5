//! JMeter (and Taurus): JTL files, as CSV or XML. The first line decides.

mod csv;
mod sample;
mod xml;

use loadstone_plan::LoadModel;

use crate::entry::Entry;
use crate::record_format::{RecordFormat, RecordParts, RecordReader, UnreadableLine};

pub(super) const FORMAT: RecordFormat = RecordFormat {
    name: "jtl",
    tool: "JMeter",
    resolution_ns: 1_000_000,
    model: LoadModel::Users,
    is_of_server: false,
    has_iterations: false,
    comes_at_end: false,
    parts: RecordParts::Lines,
    lacks: &["requests in flight when JMeter was killed", "TLS and name resolution times"],
    make: |_| Ok(Box::new(JtlReader::Unknown)),
};

enum JtlReader {
    /// Nothing was read.
    Unknown,
    Csv(Box<csv::CsvResults>),
    Xml(Box<xml::XmlResults>),
}

impl RecordReader for JtlReader {
    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        loop {
            match self {
                Self::Csv(results) => return results.line(line, take),
                Self::Xml(results) => return results.line(line, take),
                Self::Unknown => {
                    let is_xml = line.trim_ascii_start().starts_with(b"<");
                    *self = if is_xml { Self::Xml(Box::default()) } else { Self::Csv(Box::default()) };
                }
            }
        }
    }
}
