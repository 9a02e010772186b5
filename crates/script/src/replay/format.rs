//! How a record is written.

use std::path::Path;

use loadstone_plan::ReplayStage;

use loadstone_wire_formats::access_log::LogFormat;

use super::unpack::plain_name;

#[derive(Debug)]
pub(super) enum ReplayFormat {
    Lines(LogFormat),
    /// Requests as JSON, one per line: what a HAR becomes.
    Spooled,
    Gor,
}

impl ReplayFormat {
    /// The format that the test names, or else by the name of the file.
    ///
    /// # Errors
    /// A format string without a time or a request.
    pub(super) fn of(stage: &ReplayStage) -> Result<Self, String> {
        let ending = plain_name(Path::new(&stage.file)).extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match (stage.format.as_deref(), ending.as_deref()) {
            (Some("har"), _) | (None, Some("har")) => Ok(Self::Spooled),
            (Some("gor"), _) | (None, Some("gor")) => Ok(Self::Gor),
            (Some(format), _) => LogFormat::parse(format).map(Self::Lines),
            (None, _) => LogFormat::parse("combined").map(Self::Lines),
        }
    }
}
