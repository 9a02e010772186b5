//! k6's `error_code` of a request without a response. Source: `lib/netext/httpext/error_codes.go` of k6 1.4.

use loadstone_metrics::Outcome;
use loadstone_protocol::{Failure, FailureDetail};

/// The last error code of RFC 9113, section 7. Later ones have no code of k6.
const HTTP2_CODE_MAX: u32 = 13;

pub(super) fn error_code(failure: &Failure) -> u32 {
    let of_http2 = |base: u32, code: u32| if code > HTTP2_CODE_MAX { base } else { base + 1 + code };
    if let Some(detail) = failure.detail {
        return match detail {
            FailureDetail::UnknownHost => 1101,
            FailureDetail::BlockedAddress => 1110,
            FailureDetail::BlockedHost => 1111,
            FailureDetail::SocketErrno => 1200,
            FailureDetail::BrokenPipe => 1201,
            FailureDetail::ConnectTimeout => 1211,
            FailureDetail::ConnectErrno => 1213,
            FailureDetail::ConnectionReset => 1220,
            // Go's error of an alert names no network, so k6 counts it as none of TCP.
            FailureDetail::TlsAlert => 1010,
            FailureDetail::NotTls => 1301,
            FailureDetail::UnknownIssuer => 1310,
            FailureDetail::OtherHostName => 1311,
            FailureDetail::Http2Goaway(code) => of_http2(1610, code),
            FailureDetail::Http2Stream(code) => of_http2(1630, code),
            FailureDetail::Http2Connection(code) => of_http2(1650, code),
            FailureDetail::ContentCoding => 1701,
        };
    }
    match failure.outcome {
        Outcome::Timeout => 1050,
        Outcome::Dns => 1100,
        Outcome::Connect => 1210,
        Outcome::Refused => 1212,
        // Also a connection that ended early, and most failures of TLS.
        _ => 1000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http2s_codes_follow_their_base() {
        let code = |detail| error_code(&Failure { detail: Some(detail), ..Failure::new(Outcome::Reset, "") });
        assert_eq!(code(FailureDetail::Http2Goaway(0)), 1611);
        assert_eq!(code(FailureDetail::Http2Stream(13)), 1644);
        assert_eq!(code(FailureDetail::Http2Stream(14)), 1630);
        assert_eq!(code(FailureDetail::Http2Connection(1)), 1652);
        assert_eq!(error_code(&Failure::new(Outcome::Reset, "")), 1000);
    }
}
