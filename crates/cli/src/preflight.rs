//! Before the load: is anybody there? One connection, so that a run against a target that is down ends at once and says so.

use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use plan::TestPlan;
use protocol::{NetworkOptions, NetworkRoute};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Tries to reach the plan's target, if it has one.
///
/// # Errors
/// A sentence that says why nobody could be reached, and what to do.
pub(crate) fn reach(plan: &TestPlan, network: &NetworkOptions) -> Result<(), String> {
    match &network.route {
        // Names may be known to the test's own name servers alone.
        NetworkRoute::Direct if !network.name_servers.is_empty() => Ok(()),
        NetworkRoute::Direct => direct(plan),
        NetworkRoute::Unix(path) => UnixStream::connect(path)
            .map(drop)
            .map_err(|error| format!("{}: the Unix socket cannot be opened: {error}: is the target running?", path.display())),
        NetworkRoute::Proxy(proxy) => {
            let (host, port) = proxy.authority();
            first_to_answer(host, port, &format!("the proxy {host}:{port}"))
        }
    }
}

fn direct(plan: &TestPlan) -> Result<(), String> {
    let Some(url) = plan.target.as_deref().and_then(|target| url::Url::parse(target).ok()) else { return Ok(()) };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return Ok(()) };
    first_to_answer(host.trim_matches(['[', ']']), port, &url.origin().ascii_serialization())
}

fn first_to_answer(host: &str, port: u16, shown: &str) -> Result<(), String> {
    let addresses: Vec<_> = match (host, port).to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(_) => {
            return Err(format!("{shown}: the name \"{host}\" does not resolve: check the spelling, or the resolver of this machine"));
        }
    };
    let mut problem = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) => problem = Some((address, error)),
        }
    }
    match problem {
        None => Err(format!("{shown}: the name \"{host}\" has no address")),
        Some((address, error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            Err(format!("{shown}: nothing listens on {address} (connection refused): is the target running?"))
        }
        Some((address, error)) => Err(format!("{shown}: {address} cannot be reached: {error}")),
    }
}
