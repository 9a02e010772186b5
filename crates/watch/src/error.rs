//! Why a tool or a record cannot be watched.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// How a proxy is named.
pub(crate) const EXAMPLE: &str = "proxy:18080=http://127.0.0.1:8080";

/// Found before anything is started, unless a message says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("--record {name}: there is no such format{hint}; known are: {known}")]
    UnknownFormat { name: String, hint: String, known: String },
    #[error(
        "cannot tell which record `{program}` writes: name its format with --record and its file with --follow, such as \
         --record jtl --follow result.jtl"
    )]
    UnknownTool { program: String },
    #[error(
        "{program} writes no record of its requests: put Loadstone's proxy in between with --record {EXAMPLE} and send its requests to that port, follow \
         the access log of the server with --follow access.log and --log-format, or receive its spans with --record otlp"
    )]
    NoRecord { program: String },
    #[error("nothing to watch: add `-- COMMAND`, or follow a record with --follow FILE")]
    Nothing,
    #[error("--log-format: {problem}\nwrite the log_format of nginx or the LogFormat of Apache, such as '{example}'")]
    LogFormat { problem: String, example: &'static str },
    #[error("{what}: {problem}")]
    Command { what: String, problem: String },
    #[error("there is no program {program} on the PATH: install it, or give the path of its file")]
    NotOnPath { program: String },
    #[error("there is no program {}: check its path", path.display())]
    NoProgram { path: PathBuf },
    #[error("cannot start {program}: {problem}")]
    Start { program: String, problem: io::Error },
    #[error(
        "--record otlp: cannot listen on {address}: {problem}; another program listens there, or `observe.traces()`: give a free port with --listen"
    )]
    Listen { address: SocketAddr, problem: io::Error },
    #[error("--record proxy: cannot listen on {address}: {problem}; give the proxy a free port")]
    Proxy { address: SocketAddr, problem: io::Error },
    #[error("cannot read {}: {problem}", path.display())]
    Read { path: PathBuf, problem: io::Error },
    #[error("cannot prepare the record of the tool: {0}")]
    Prepare(io::Error),
}
