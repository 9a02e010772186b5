//! Checks before the load whether the target is reachable. It opens one connection, so that a run against an unreachable target ends immediately with an
//! error.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use loadstone_plan::TestPlan;
use loadstone_protocol::{NetworkOptions, NetworkRoute, Proxy};

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
    #[error(
        "{whom}: the target has only {family} addresses, but all source addresses are of the other family: add an {family} source address"
    )]
    Source { whom: String, family: &'static str },
    #[error("{whom}: nothing listens on {address} (connection refused): is the target running?{}", demo_offer(*address))]
    Refused { whom: String, address: SocketAddr },
    #[error("{whom}: {address} cannot be reached: {source}")]
    Connect { whom: String, address: SocketAddr, source: io::Error },
}

/// The default target of `loadstone init` and of the examples is also the address of the demo shop.
const DEMO_PORT: u16 = 8080;

fn demo_offer(address: SocketAddr) -> &'static str {
    if address.ip().is_loopback() && address.port() == DEMO_PORT {
        " Without one, `loadstone demo --serve` serves a shop there"
    } else {
        ""
    }
}

/// Tries to connect to the plan's target, if it has one.
///
/// # Errors
/// [`Unreachable`]
pub fn reach(plan: &TestPlan, network: &NetworkOptions) -> Result<(), Unreachable> {
    match &network.route {
        NetworkRoute::Direct => direct(plan, network),
        NetworkRoute::Unix(path) => {
            UnixStream::connect(path).map(drop).map_err(|source| Unreachable::Socket { path: path.clone(), source })
        }
        NetworkRoute::Proxies(rules) => {
            let target = target(plan);
            let proxy = target.as_ref().map_or(rules.all.as_ref(), |url| rules.proxy_to(url));
            let Some((host, port)) = proxy.map(Proxy::authority) else { return direct(plan, network) };
            first_to_answer(host, port, format!("the proxy {host}:{port}"), &network.sources)
        }
    }
}

fn target(plan: &TestPlan) -> Option<url::Url> {
    plan.target.as_deref().and_then(|target| url::Url::parse(target).ok())
}

fn direct(plan: &TestPlan, network: &NetworkOptions) -> Result<(), Unreachable> {
    // Only the test's own name servers may know the name.
    if !network.name_servers.is_empty() {
        return Ok(());
    }
    let Some(url) = target(plan) else { return Ok(()) };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return Ok(()) };
    first_to_answer(host.trim_matches(['[', ']']), port, url.origin().ascii_serialization(), &network.sources)
}

fn first_to_answer(host: &str, port: u16, whom: String, sources: &[IpAddr]) -> Result<(), Unreachable> {
    let Ok(addresses) = (host, port).to_socket_addrs() else { return Err(Unreachable::Name { whom, host: host.to_owned() }) };
    let addresses: Vec<SocketAddr> = addresses.collect();
    let has_source = |address: &SocketAddr| sources.iter().any(|source| source.is_ipv4() == address.is_ipv4());
    if let Some(first) = addresses.first().filter(|_| !sources.is_empty() && !addresses.iter().any(has_source)) {
        return Err(Unreachable::Source { whom, family: if first.is_ipv4() { "IPv4" } else { "IPv6" } });
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_shop_is_offered_at_its_address_only() {
        let refused =
            |address: &str| Unreachable::Refused { whom: "http://shop".to_owned(), address: address.parse().unwrap() }.to_string();
        assert!(refused("127.0.0.1:8080").ends_with("`loadstone demo --serve` serves a shop there"));
        assert!(refused("127.0.0.1:8081").ends_with("is the target running?"));
        assert!(refused("192.0.2.1:8080").ends_with("is the target running?"));
    }
}
