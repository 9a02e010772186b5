//! Resolves names to addresses: literals and `localhost` at once, others with the hosts file and DNS through hickory, which caches answers for their
//! TTL.
//!
//! hickory sleeps on tokio's timers, which a worker does not have. Its sockets and timers therefore live in a separate runtime, on a thread that each
//! worker starts with its first look-up. (Workers cannot share one runtime: they may have separate file descriptor tables.) A cached answer is found
//! without the thread.
//!
//! All addresses of a name are used in turn. An address that failed recently is tried last.

use std::cell::{Cell, OnceCell, RefCell};
use std::future::{Future, poll_fn};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use loadstone_metrics::clock::{Clock, wall_ns};
use loadstone_metrics::{Nanos, Outcome};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::failure::{Failure, FailureDetail};
use crate::name_resolution::AddressChooser;
use crate::options::NetworkOptions;

/// How long an address that failed is tried last.
const SHUNNED_MAX_NS: u64 = 5_000_000_000;
/// Limit on the addresses remembered as failed.
const SHUNNED_ADDRESSES_MAX: usize = 64;

/// Drives look-ups until it is dropped.
struct ResolverThread {
    runtime: Handle,
    /// Dropping the sender ends the thread.
    _stop: oneshot::Sender<()>,
}

pub(crate) struct Resolver {
    clock: Clock,
    /// Used instead of the machine's name servers, if there are any.
    name_servers: Vec<SocketAddr>,
    /// Selects one address, if the test decides how.
    chooser: Option<AddressChooser>,
    dns: OnceCell<Option<TokioResolver>>,
    /// The runtime of look-ups. `None`: its thread could not be started.
    thread: OnceCell<Option<ResolverThread>>,
    turn: Cell<usize>,
    /// Addresses that failed, and until when they are tried last.
    shunned: RefCell<Vec<(IpAddr, Nanos)>>,
}

impl Resolver {
    pub(crate) fn new(clock: Clock, options: &NetworkOptions) -> Self {
        let seed = u64::from(options.position.worker).wrapping_add(wall_ns());
        Self {
            clock,
            name_servers: options.name_servers.clone(),
            chooser: options.resolution.map(|resolution| AddressChooser::new(resolution, seed)),
            dns: OnceCell::new(),
            thread: OnceCell::new(),
            turn: Cell::default(),
            shunned: RefCell::default(),
        }
    }

    /// The addresses of a host in the order in which to try them. Never empty.
    pub(crate) async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, Failure> {
        let Some(chooser) = self.chooser.as_ref().filter(|_| host.parse::<IpAddr>().is_err()) else {
            return Ok(self.healthy_first(self.look_up(host).await?));
        };
        let address = match chooser.next(host, self.clock.now()) {
            Some(address) => Some(address),
            None => chooser.learn(host, self.look_up(host).await?, self.clock.now()),
        };
        let none = || Failure::new(Outcome::Dns, format!("{host} has no address of the permitted kind")).with(FailureDetail::UnknownHost);
        address.map(|address| vec![address]).ok_or_else(none)
    }

    /// All addresses of a name, the first of them in turn.
    async fn look_up(&self, host: &str) -> Result<Vec<IpAddr>, Failure> {
        if let Some(addresses) = known(host) {
            return Ok(addresses);
        }
        let runtime = self.thread.get_or_init(ResolverThread::start).as_ref().map(|thread| &thread.runtime);
        let resolver = runtime.and_then(|runtime| {
            let _inside = runtime.enter();
            self.dns.get_or_init(|| build(&self.name_servers, self.chooser.is_some())).as_ref()
        });
        let (Some(runtime), Some(resolver)) = (runtime, resolver) else {
            return Err(Failure::new(Outcome::Dns, "the name resolver could not be set up; check /etc/resolv.conf"));
        };
        let mut lookup = pin!(resolver.lookup_ip(host));
        let looked_up = poll_fn(|context| {
            let _inside = runtime.enter();
            lookup.as_mut().poll(context)
        });
        let found = looked_up.await.map_err(|error| failure(host, &error))?;
        let mut addresses: Vec<IpAddr> = found.iter().collect();
        if addresses.is_empty() {
            return Err(Failure::new(Outcome::Dns, format!("{host} has no address")));
        }
        let turn = self.turn.get();
        self.turn.set(turn.wrapping_add(1));
        let count = addresses.len();
        addresses.rotate_left(turn % count);
        Ok(addresses)
    }

    /// Records that connecting to an address failed.
    pub(crate) fn shun(&self, address: IpAddr) {
        let mut shunned = self.shunned.borrow_mut();
        let now = self.clock.now();
        shunned.retain(|(other, until)| *other != address && *until > now);
        if shunned.len() < SHUNNED_ADDRESSES_MAX {
            shunned.push((address, now.saturating_add(SHUNNED_MAX_NS)));
        }
    }

    fn healthy_first(&self, mut addresses: Vec<IpAddr>) -> Vec<IpAddr> {
        let shunned = self.shunned.borrow();
        if addresses.len() > 1 && !shunned.is_empty() {
            let now = self.clock.now();
            addresses.sort_by_key(|address| shunned.iter().any(|(other, until)| other == address && *until > now));
        }
        addresses
    }
}

/// Addresses that need no look-up. `localhost` is loopback according to RFC 6761, section 6.3.
fn known(host: &str) -> Option<Vec<IpAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Some(vec![address]);
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let local =
        name.eq_ignore_ascii_case("localhost") || name.len() > 10 && name.as_bytes()[name.len() - 10..].eq_ignore_ascii_case(b".localhost");
    local.then(|| vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
}

impl ResolverThread {
    fn start() -> Option<Self> {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = Self { runtime: runtime.handle().clone(), _stop: stop };
        let drive = move || _ = runtime.block_on(stopped);
        std::thread::Builder::new().name("dns".to_owned()).spawn(drive).ok()?;
        Some(thread)
    }
}

/// `has_ttl`: the caller stores addresses by its own TTL.
fn build(name_servers: &[SocketAddr], has_ttl: bool) -> Option<TokioResolver> {
    let with = |config| TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    let mut builder = match name_servers {
        [] => TokioResolver::builder_tokio().unwrap_or_else(|_| with(ResolverConfig::default())),
        servers => with(ResolverConfig::from_parts(None, Vec::new(), servers.iter().map(name_server).collect())),
    };
    let options = builder.options_mut();
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    if has_ttl {
        options.cache_size = 0;
    }
    builder.build().ok()
}

fn failure(host: &str, error: &NetError) -> Failure {
    let message = match error {
        NetError::Timeout => format!("the name server did not answer for {host}"),
        error if error.is_nx_domain() => format!("{host} does not exist; check the host in the URL"),
        error if error.is_no_records_found() => format!("{host} has no address"),
        error => format!("{host} could not be looked up: {error}"),
    };
    let failure = Failure::new(Outcome::Dns, message);
    if error.is_nx_domain() || error.is_no_records_found() { failure.with(FailureDetail::UnknownHost) } else { failure }
}

fn name_server(address: &SocketAddr) -> NameServerConfig {
    let mut config = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut config.connections {
        connection.port = address.port();
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_localhost_need_no_look_up() {
        assert_eq!(known("10.1.2.3"), Some(vec!["10.1.2.3".parse().unwrap()]));
        assert_eq!(known("fe80::1"), Some(vec!["fe80::1".parse().unwrap()]));
        assert_eq!(known("LocalHost."), Some(vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()]));
        assert!(known("app.localhost").is_some());
        assert_eq!(known("notlocalhost"), None);
        assert_eq!(known("localhost.example"), None);
    }

    #[test]
    fn an_address_that_failed_is_tried_last_for_a_while() {
        let clock = Clock::virtual_time();
        let resolver = Resolver::new(clock.clone(), &NetworkOptions::default());
        let [a, b] = ["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()];
        resolver.shun(a);
        assert_eq!(resolver.healthy_first(vec![a, b]), [b, a]);
        clock.advance_to(SHUNNED_MAX_NS);
        assert_eq!(resolver.healthy_first(vec![a, b]), [a, b]);
        for i in 0..1000u32 {
            resolver.shun(IpAddr::V4(i.into()));
        }
        assert!(resolver.shunned.borrow().len() <= SHUNNED_ADDRESSES_MAX);
    }
}
