//! HAR: a JSON document. It is read once as a whole, and its requests are spooled to a temporary file, one per line.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use loadstone_wire_formats::access_log::{RecordedTime, TimeReader};
use serde::{Deserialize, Serialize};

use super::logged::LoggedRequest;

/// Largest document: it is in memory while it is read. Bytes.
const DOCUMENT_BYTES_MAX: u64 = 1 << 30;

#[derive(Deserialize)]
struct HarDocument {
    log: HarLog,
}

#[derive(Deserialize)]
struct HarLog {
    entries: Vec<HarEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarEntry {
    started_date_time: String,
    request: HarRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<HarHeader>,
    post_data: Option<HarPostData>,
}

#[derive(Deserialize)]
struct HarHeader {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct HarPostData {
    #[serde(default)]
    text: String,
    encoding: Option<String>,
}

/// A line of the spool.
#[derive(Serialize, Deserialize)]
pub(super) struct SpooledRequest {
    ns: i64,
    request: LoggedRequest,
}

/// Writes the requests to a temporary file that disappears with its descriptor.
pub(super) fn spool(document: File, bytes: u64) -> Result<File, String> {
    if bytes > DOCUMENT_BYTES_MAX {
        return Err("a HAR of more than 1 GiB is not read: split it, or replay an access log".to_owned());
    }
    let document: HarDocument = serde_json::from_reader(BufReader::new(document)).map_err(|problem| format!("is not a HAR: {problem}"))?;
    let write = || -> std::io::Result<File> {
        let mut spool = BufWriter::new(tempfile::tempfile()?);
        let mut times = TimeReader::default();
        for HarEntry { started_date_time, request } in document.log.entries {
            // Without a time or a path, a line has no request, and counts as unreadable.
            let time = times.read(&started_date_time);
            let line = time.zip(logged(&request)).map(|(time, request)| SpooledRequest { ns: time.ns, request });
            serde_json::to_writer(&mut spool, &line)?;
            spool.write_all(b"\n")?;
        }
        spool.into_inner().map_err(std::io::IntoInnerError::into_error)
    };
    write().map_err(|problem| format!("cannot write a temporary file: {problem}"))
}

#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn of_document(input: &[u8]) -> usize {
    let document: Option<HarDocument> = serde_json::from_slice(input).ok();
    document.map_or(0, |document| document.log.entries.iter().filter_map(|entry| logged(&entry.request)).count())
}

fn logged(request: &HarRequest) -> Option<LoggedRequest> {
    let mut logged = LoggedRequest::new(&request.method, &request.url)?;
    request.headers.iter().for_each(|header| logged.header(&header.name, &header.value));
    if let Some(data) = &request.post_data {
        let decoded = (data.encoding.as_deref() == Some("base64")).then(|| BASE64_STANDARD.decode(&data.text).ok()).flatten();
        logged.body = decoded.unwrap_or_else(|| data.text.clone().into_bytes());
    }
    Some(logged)
}

/// The instant and the method of a line of the spool.
pub(super) fn line(text: &str) -> Option<(RecordedTime, String)> {
    let spooled: Option<SpooledRequest> = serde_json::from_str(text).ok()?;
    spooled.map(|spooled| (RecordedTime { ns: spooled.ns, is_whole_second: false }, spooled.request.method))
}

/// The request of a line of the spool.
pub(super) fn request(line: &[u8]) -> Option<LoggedRequest> {
    serde_json::from_slice::<Option<SpooledRequest>>(line).ok()?.map(|spooled| spooled.request)
}
