//! The requests of access logs.

use loadstone_wire_formats::access_log::{LogFormat, LogLine, TimeReader, unescaped};

use super::logged::LoggedRequest;

/// The request of a line. `None`: the line does not fit, or it is no HTTP request, such as the bytes of a port scan.
pub(super) fn request(format: &LogFormat, line: &[u8]) -> Option<LoggedRequest> {
    request_of(&format.line(std::str::from_utf8(line).ok()?, &mut TimeReader::default())?)
}

/// The same of a line whose fields are known.
pub(super) fn request_of(line: &LogLine<'_>) -> Option<LoggedRequest> {
    let mut request = LoggedRequest::new(line.method, &line.whole_target())?;
    line.headers.iter().for_each(|(name, value)| request.header(name, &unescaped(value)));
    Some(request)
}
