//! Selection of processes: by a port that they listen on, by number, or by name.

use std::fmt;

use super::find::ProcessTable;
use super::sockets::TcpSocket;
use super::system::{self, program};
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::option::{ObserverOption, OptionValue};

pub(crate) const PORT: ObserverOption = ObserverOption {
    name: "port",
    takes: OptionValue::WholeNumber { max: u16::MAX as u32, default: None },
    help: "the TCP port that it listens on",
};
pub(crate) const PID: ObserverOption = ObserverOption {
    name: "pid",
    takes: OptionValue::WholeNumber { max: i32::MAX as u32, default: None },
    help: "its number; without `port` and `pid`, `name` is the name of its command",
};

/// Which processes: all that match, and their descendants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Which {
    /// Listening on this TCP port.
    Port(u16),
    Pid(u32),
    /// Whose command is called so.
    Name(String),
}

/// Reasons why there is no process to read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoProcess {
    #[error("no process that can be inspected listens on TCP port {0}")]
    Listening(u16),
    #[error("there is no process {0}")]
    Numbered(u32),
    #[error("there is no process called \"{0}\"")]
    Named(String),
    #[error("process {0} belongs to another user: run Loadstone as that user or as root")]
    Rights(u32),
    #[error(
        "process {pid} is not {runtime} (it runs {program}): name the process that is, by its own port or `pid`; `observe.native` samples compiled programs"
    )]
    Other { pid: u32, runtime: &'static str, program: String },
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Which::Port(port) => write!(f, "{port}"),
            Which::Pid(pid) => write!(f, "{pid}"),
            Which::Name(name) => f.write_str(name),
        }
    }
}

impl Which {
    pub(crate) fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        match (description.whole_number("port"), description.whole_number("pid"), description.text("name")) {
            (Some(port), None, _) => Ok(Which::Port(port as u16)),
            (None, Some(pid), _) => Ok(Which::Pid(pid)),
            (None, None, Some(name)) => Ok(Which::Name(name.to_owned())),
            (None, None, None) => Err(description.problem("give one of port, pid or name")),
            (Some(_), Some(_), _) => Err(description.problem("give only one of port and pid")),
        }
    }

    /// The observer's name. The name of a command selects the process as well as naming the signals.
    pub(crate) fn default_name(&self, kind: &str, given: Option<&str>) -> Option<String> {
        (matches!(self, Which::Name(_)) || given.is_none()).then(|| format!("{kind}:{self}"))
    }

    /// The matching processes and their descendants.
    ///
    /// # Errors
    /// When no process matches.
    pub(crate) fn pids(&self, table: &ProcessTable, sockets: &[TcpSocket]) -> Result<Vec<u32>, NoProcess> {
        let roots = match self {
            Which::Pid(pid) => table.with_pid(*pid),
            Which::Name(name) => table.with_name(name),
            Which::Port(port) => table.listening_on(*port, sockets),
        };
        let pids = table.with_descendants(&roots);
        if pids.is_empty() { Err(self.nobody()) } else { Ok(pids) }
    }

    /// The busiest of the processes with this runtime, and their number.
    ///
    /// # Errors
    /// When no process matches, access is denied, or no matching process runs this runtime.
    pub(crate) fn runtime(&self, runtime: &'static str, runs_it: impl Fn(u32) -> bool) -> Result<(u32, usize), NoProcess> {
        let table = ProcessTable::read();
        let pids = self.pids(&table, &system::tcp().unwrap_or_default())?;
        let found: Vec<u32> = pids.iter().copied().filter(|pid| runs_it(*pid)).collect();
        let seconds = |pid: &u32| {
            let usage = table.entry(*pid).and_then(|entry| entry.usage);
            usage.map_or(0.0, |usage| usage.user_seconds + usage.system_seconds)
        };
        match (found.iter().copied().max_by(|a, b| seconds(a).total_cmp(&seconds(b))), program(pids[0])) {
            (Some(pid), _) => Ok((pid, found.len())),
            (None, None) => Err(NoProcess::Rights(pids[0])),
            (None, Some(program)) => Err(NoProcess::Other { pid: pids[0], runtime, program }),
        }
    }

    pub(crate) fn nobody(&self) -> NoProcess {
        match self {
            Which::Port(port) => NoProcess::Listening(*port),
            Which::Pid(pid) => NoProcess::Numbered(*pid),
            Which::Name(name) => NoProcess::Named(name.clone()),
        }
    }
}
