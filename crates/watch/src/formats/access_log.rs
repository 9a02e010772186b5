//! Access logs of nginx, Apache, Envoy, HAProxy, ALB and CloudFront, in any format that has a time of day, a request time, a status and a path.

use loadstone_metrics::Outcome;
use loadstone_plan::LoadModel;
use loadstone_wire_formats::access_log::{LogFormat, RecordedTime, TimeReader, unescaped};

use super::request_name;
use crate::entry::{Entry, RecordTime, Timed, outcome_of};
use crate::error::WatchError;
use crate::record_format::{RecordFormat, RecordParts, RecordReader, UnreadableLine};

/// nginx's `combined` with the request time.
const EXAMPLE: &str =
    r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time"#;

/// Statuses of servers for connections on which no request arrived, or none that they could read: none, Bad Request, Request Timeout, nginx's "client
/// closed the connection", HTTP Version Not Supported.
const WITHOUT_REQUEST: [u16; 5] = [0, 400, 408, 499, 505];

pub(super) const FORMAT: RecordFormat = RecordFormat {
    name: "access-log",
    tool: "an access log",
    // $request_time and $msec have milliseconds. $time_local and %t have whole seconds.
    resolution_ns: 1_000_000,
    model: LoadModel::Arrivals,
    is_of_server: true,
    has_iterations: false,
    comes_at_end: false,
    parts: RecordParts::Lines,
    lacks: &[
        "the client's view: times begin when the server read the request, so waiting in its accept queue is missing",
        "requests that never reached the server",
        "users",
        "connection phases",
    ],
    make: |choices| {
        let format = parse(choices.log_format.unwrap_or(EXAMPLE))?;
        Ok(Box::new(AccessLogReader { format, times: TimeReader::default() }))
    },
};

struct AccessLogReader {
    format: LogFormat,
    times: TimeReader,
}

/// A format with all that a request needs.
fn parse(text: &str) -> Result<LogFormat, WatchError> {
    let problem = |problem: String| WatchError::LogFormat { problem, example: EXAMPLE };
    let format = LogFormat::parse(text).map_err(problem)?;
    if !format.has_duration() {
        return Err(problem("no time of the request: add $request_time (nginx) or %D (Apache)".to_owned()));
    }
    if !format.has_status() {
        return Err(problem("no status: add $status (nginx) or %>s (Apache)".to_owned()));
    }
    Ok(format)
}

impl RecordReader for AccessLogReader {
    fn line(&mut self, line: &[u8], take: &mut dyn FnMut(&Entry<'_>)) -> Result<(), UnreadableLine> {
        let text = String::from_utf8_lossy(line);
        if text.is_empty() || self.format.is_comment(&text) {
            return Ok(());
        }
        let logged = self.format.line(&text, &mut self.times).ok_or(UnreadableLine)?;
        let ended = logged.ended().and_then(|RecordedTime { ns, .. }| u64::try_from(ns).ok()).ok_or(UnreadableLine)?;
        let status = logged.status.ok_or(UnreadableLine)?;
        if !logged.is_request() && WITHOUT_REQUEST.contains(&status) {
            take(&Entry::NoRequest { at: RecordTime::Wall(ended), line });
            return Ok(());
        }
        // A request that the server has processed has a name.
        if logged.target.is_empty() {
            return Err(UnreadableLine);
        }
        let duration_ns = logged.duration().ok_or(UnreadableLine)?;
        take(&Entry::Request(Timed {
            status,
            outcome: if status == 0 { Outcome::Reset } else { outcome_of(status) },
            message: if status == 0 { "the connection ended before a response" } else { "" },
            // As the client sees them.
            bytes_received: logged.bytes_sent,
            bytes_sent: logged.bytes_received,
            ..Timed::new(&request_name::of_url(logged.method, &unescaped(logged.target)), RecordTime::Wall(ended), duration_ns)
        }));
        Ok(())
    }

    fn resolution_ns(&self) -> Option<u64> {
        self.format.has_whole_seconds().then_some(1_000_000_000)
    }

    fn comes_at_end(&self) -> bool {
        self.format.arrives_later()
    }
}
