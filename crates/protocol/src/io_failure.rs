//! Converts socket errors into failures.

use std::io;

use loadstone_metrics::Outcome;

use crate::failure::{Failure, FailureDetail};
use crate::tls_failure::complaint;

impl Failure {
    /// A connection that could not be opened.
    pub(crate) fn connecting(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ECONNREFUSED) => Self::new(Outcome::Refused, "connection refused"),
            Some(libc::EADDRNOTAVAIL) => Self::new(
                Outcome::PortsExhausted,
                "no local port is free for a new connection; widen net.ipv4.ip_local_port_range or connect from more source addresses",
            )
            .with(FailureDetail::ConnectErrno),
            Some(libc::EMFILE | libc::ENFILE) => no_descriptor("for a new connection").with(FailureDetail::ConnectErrno),
            Some(libc::ETIMEDOUT) => Self::timeout("connecting").with(FailureDetail::ConnectTimeout),
            Some(libc::EHOSTUNREACH) => Self::new(Outcome::Connect, "host unreachable").with(FailureDetail::ConnectErrno),
            Some(libc::ENETUNREACH) => Self::new(Outcome::Connect, "network unreachable").with(FailureDetail::ConnectErrno),
            Some(libc::ECONNRESET) => Self::new(Outcome::Reset, "connection reset while connecting").with(FailureDetail::ConnectionReset),
            _ => Self::new(Outcome::Connect, format!("cannot connect: {}", plain(error))).with(FailureDetail::ConnectErrno),
        }
    }

    /// A connection that broke during use.
    pub(crate) fn broken(error: &io::Error) -> Self {
        if let Some(failure) = complaint(error) {
            return failure;
        }
        if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) {
            return no_descriptor("to wait until the connection accepts more bytes").with(FailureDetail::SocketErrno);
        }
        match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
                Self::new(Outcome::Reset, "connection reset").with(FailureDetail::ConnectionReset)
            }
            io::ErrorKind::BrokenPipe => {
                Self::new(Outcome::Reset, "connection closed while the request was being sent").with(FailureDetail::BrokenPipe)
            }
            io::ErrorKind::TimedOut => Self::timeout("because the peer acknowledged nothing"),
            _ => Self::new(Outcome::Reset, format!("connection broke: {}", plain(error))).with(FailureDetail::SocketErrno),
        }
    }
}

fn no_descriptor(purpose: &str) -> Failure {
    let message = format!("no file descriptor is free {purpose}; raise the limit on open files (ulimit -n)");
    Failure::new(Outcome::DescriptorsExhausted, message)
}

/// The error's text without the "(os error 110)" that the standard library adds.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
