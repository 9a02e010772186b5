//! Selects a Node process and connects to its inspector, which is already open or is opened by SIGUSR1, as Node's own debugger does.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde_json::Value;

use super::error::NodeError;
use crate::http::{Address, get};
use crate::kinds::process::sockets::{TcpSocket, TcpState};
use crate::kinds::process::system::{self, catches, descriptors, program};
use crate::kinds::process::which::NoProcess;

/// The interval and the number of checks for an open inspector.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS_MAX: usize = 150;
/// Default ports of inspectors: the workers of a cluster use consecutive ports.
const INSPECTOR_PORTS: std::ops::RangeInclusive<u16> = 9229..=9260;
/// Listening ports of a process that are tested for an inspector.
const PORTS_MAX: usize = 8;
const PORT_LIMIT: Duration = Duration::from_millis(500);

/// The address of an inspector.
pub(super) struct Inspector {
    pub(super) address: SocketAddr,
    pub(super) path: String,
}

pub(super) fn is_node(pid: u32) -> bool {
    program(pid).is_some_and(|name| ["node", "nodejs"].contains(&name.as_str()))
}

/// The open inspector of a process. The service's own ports are not tested.
pub(super) async fn open_inspector(pid: u32) -> Option<Inspector> {
    let is_asked_for = asks_for_inspector(pid);
    let may_be = |port: &u16| is_asked_for || INSPECTOR_PORTS.contains(port);
    for port in listening_ports(pid).into_iter().filter(may_be).take(PORTS_MAX) {
        let asked = tokio::time::timeout(PORT_LIMIT, inspector_at(port)).await;
        if let Ok(Some(found)) = asked {
            return Some(found);
        }
    }
    None
}

/// Whether its command line or its environment opens an inspector, on any port.
fn asks_for_inspector(pid: u32) -> bool {
    ["cmdline", "environ"].iter().any(|file| std::fs::read(format!("/proc/{pid}/{file}")).is_ok_and(|bytes| contains(&bytes, b"--inspect")))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Makes a process open its inspector, and waits until it is open.
///
/// # Errors
/// When the signal would terminate the process, it belongs to another user, or it opens no inspector.
pub(super) async fn have_opened(pid: u32) -> Result<Inspector, NodeError> {
    // The signal terminates a process that does not handle it.
    if !catches(pid, rustix::process::Signal::USR1) {
        return Err(NodeError::NoSignal(pid));
    }
    let before: HashSet<u16> = listening_ports(pid).into_iter().collect();
    let target = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).ok_or(NodeError::Process(NoProcess::Rights(pid)))?;
    rustix::process::kill_process(target, rustix::process::Signal::USR1).map_err(|_| NodeError::Process(NoProcess::Rights(pid)))?;
    for _ in 0..LOOKS_MAX {
        tokio::time::sleep(LOOK).await;
        for port in listening_ports(pid).into_iter().filter(|port| !before.contains(port)) {
            if let Some(found) = inspector_at(port).await {
                return Ok(found);
            }
        }
    }
    Err(NodeError::NoInspector(pid))
}

fn listening_ports(pid: u32) -> Vec<u16> {
    let mut inodes = HashSet::new();
    descriptors(pid, &mut inodes);
    let listens = |socket: &TcpSocket| socket.state == TcpState::Listen && inodes.contains(&socket.inode);
    system::tcp().unwrap_or_default().into_iter().filter(listens).map(|socket| socket.local_port).collect()
}

/// The inspector at this address, if there is one. Its list of targets contains the address to connect to.
async fn inspector_at(port: u16) -> Option<Inspector> {
    let list = Address::parse(&format!("http://127.0.0.1:{port}/json/list")).ok()?;
    let targets: Value = serde_json::from_slice(&get(&list, "application/json").await.ok()?).ok()?;
    let url = targets.get(0)?.get("webSocketDebuggerUrl")?.as_str()?;
    let path = url.strip_prefix("ws://")?.split_once('/')?.1;
    Some(Inspector { address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)), path: format!("/{path}") })
}
