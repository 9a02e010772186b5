//! Checks before the load whether the target is reachable. It opens one connection, so that a run against an unreachable target ends immediately with an
//! error.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use loadstone_plan::TestPlan;
use loadstone_protocol::{NetworkOptions, NetworkRoute};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The target could not be reached: the reason and the remedy. May contain secrets of the plan.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    #[error("{}: the Unix socket cannot be opened: {source}: is the target running?", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error("{whom}: the name \"{host}\" does not resolve: check the spelling, or the resolver of this machine")]
    Name { whom: String, host: String },
    #[error("{whom}: the name \"{host}\" has no address")]
    NoAddress { whom: String, host: String },
    #[error("{whom}: nothing listens on {address} (connection refused): is the target running?")]
    Refused { whom: String, address: SocketAddr },
    #[error("{whom}: {address} cannot be reached: {source}")]
    Connect { whom: String, address: SocketAddr, source: io::Error },
}

/// Tries to connect to the plan's target, if it has one.
///
/// # Errors
/// [`Unreachable`]
pub fn reach(plan: &TestPlan, network: &NetworkOptions) -> Result<(), Unreachable> {
    match &network.route {
        // Only the test's own name servers may know the name.
        NetworkRoute::Direct if !network.name_servers.is_empty() => Ok(()),
        NetworkRoute::Direct => direct(plan),
        NetworkRoute::Unix(path) => {
            UnixStream::connect(path).map(drop).map_err(|source| Unreachable::Socket { path: path.clone(), source })
        }
        NetworkRoute::Proxy(proxy) => {
            let (host, port) = proxy.authority();
            first_to_answer(host, port, format!("the proxy {host}:{port}"))
        }
    }
}

fn direct(plan: &TestPlan) -> Result<(), Unreachable> {
    let Some(url) = plan.target.as_deref().and_then(|target| url::Url::parse(target).ok()) else { return Ok(()) };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return Ok(()) };
    first_to_answer(host.trim_matches(['[', ']']), port, url.origin().ascii_serialization())
}

fn first_to_answer(host: &str, port: u16, whom: String) -> Result<(), Unreachable> {
    let Ok(addresses) = (host, port).to_socket_addrs() else { return Err(Unreachable::Name { whom, host: host.to_owned() }) };
    let mut problem = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) => problem = Some((address, error)),
        }
    }
    Err(match problem {
        None => Unreachable::NoAddress { whom, host: host.to_owned() },
        Some((address, error)) if error.kind() == io::ErrorKind::ConnectionRefused => Unreachable::Refused { whom, address },
        Some((address, source)) => Unreachable::Connect { whom, address, source },
    })
}
