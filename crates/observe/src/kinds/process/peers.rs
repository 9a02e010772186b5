//! Calls of the observed processes to other endpoints that are not answered yet.
//!
//! By Little's law, their mean number is the rate of calls times their duration, as the calling side sees it. It includes the network and any proxy on it.
//! Client libraries, pools and runtimes make no difference, as the kernel counts the bytes of each connection.
//!
//! The connections are known from each full reading. Between two of them, those that still exist are sampled. The share of these that wait for an answer,
//! times the number of connections, is the mean: connections that end soon count as those that remain.
//!
//! The number is too low for calls that follow each other at once on a connection: the kernel's clock has steps of 1 to 10 ms. It is too high for protocols in
//! which the caller has the last word, such as acknowledged messages. A change of the number at equal load has neither error.
//!
//! The same list shows how many local ports are in use for an endpoint. A connection that was closed holds its port for a minute (TIME_WAIT), and no process
//! holds it then, so all connections of the machine to that endpoint count.

use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use loadstone_metrics::{Role, unit};

use super::sockets::{TcpEnds, TcpSocket, TcpState};
use super::system::{self, SocketProbe};
use crate::collector::{MetricSpec, SignalCollector};

const AWAITED: MetricSpec<'_> = MetricSpec::gauge(
    "awaited",
    unit::COUNT,
    "Calls to an endpoint that it has not answered yet, mean over the samples; some are not seen",
)
.role(Role::CallsAwaited);

const PORTS: MetricSpec<'_> =
    MetricSpec::gauge("ports", unit::COUNT, "Local ports in use for connections to an endpoint, those in TIME_WAIT included")
        .role(Role::PortsInUse);
const PORTS_MAX: MetricSpec<'_> =
    MetricSpec::gauge("ports_limit", unit::COUNT, "Local ports that connections to an endpoint may use").role(Role::PortsMax);

/// Ports in use from which they are reported.
const PORTS_REPORTED_MIN: f64 = 1_000.0;
/// Connections that are sampled. A sample of each takes a few microseconds.
const CONNECTIONS_MAX: usize = 64;
/// Endpoints of a run; later ones are left out.
const PEERS_MAX: usize = 30;

#[derive(Debug)]
pub(super) struct PeerCalls {
    probe: Option<SocketProbe>,
    connections: Vec<TcpEnds>,
    peers: BTreeMap<SocketAddr, PeerSamples>,
}

/// Since the last full reading.
#[derive(Debug, Default, Clone, Copy)]
struct PeerSamples {
    /// Connections then.
    connections: f64,
    /// Sampled connections that still existed, and those of them that waited for an answer.
    sampled: f64,
    awaited: f64,
    /// Whether the number of ports was ever large enough to be reported.
    reports_ports: bool,
}

impl PeerCalls {
    pub(super) fn new() -> Self {
        Self { probe: SocketProbe::open(), connections: Vec::new(), peers: BTreeMap::new() }
    }

    /// Whether this system shows it.
    pub(super) fn is_possible(&self) -> bool {
        self.probe.is_some()
    }

    pub(super) fn sample(&mut self) {
        let Some(probe) = &mut self.probe else { return };
        for ends in self.connections.iter().take(CONNECTIONS_MAX) {
            let (Some(awaits), Some(samples)) = (probe.awaits_answer(ends), self.peers.get_mut(&peer(ends))) else { continue };
            samples.sampled += 1.0;
            samples.awaited += f64::from(u8::from(awaits));
        }
    }

    /// Reports the samples since the last full reading, and begins anew with these connections.
    pub(super) fn report(&mut self, sockets: &[TcpSocket], inodes: &HashSet<u64>, out: &mut SignalCollector) {
        for (address, samples) in &mut self.peers {
            let mean = if samples.connections == 0.0 { Some(0.0) } else { samples.mean() };
            if let Some(mean) = mean {
                let name = address.to_string();
                out.put_labelled(AWAITED.part(&name), &[("peer", &name)], mean);
            }
            samples.begin();
        }
        self.report_ports(sockets, out);
        self.connections = outgoing(sockets, inodes);
        for ends in &self.connections {
            if self.peers.len() < PEERS_MAX || self.peers.contains_key(&peer(ends)) {
                self.peers.entry(peer(ends)).or_default().connections += 1.0;
            }
        }
        self.sample();
    }

    /// After a gap, nothing is known of its time.
    pub(super) fn reset(&mut self) {
        self.connections.clear();
        self.peers.values_mut().for_each(PeerSamples::begin);
    }

    /// Of all local addresses, the one with the most ports in use counts.
    fn report_ports(&mut self, sockets: &[TcpSocket], out: &mut SignalCollector) {
        let Some(limit) = system::local_ports() else { return };
        let mut used = BTreeMap::<(SocketAddr, IpAddr), f64>::new();
        for ends in sockets.iter().filter(|socket| socket.state != TcpState::Listen).filter_map(|socket| socket.ends) {
            if self.peers.contains_key(&peer(&ends)) {
                *used.entry((peer(&ends), ends.local.ip().to_canonical())).or_default() += 1.0;
            }
        }
        for (address, samples) in &mut self.peers {
            let most = used.iter().filter(|((peer, _), _)| peer == address).map(|(_, count)| *count).fold(0.0, f64::max);
            samples.reports_ports |= most >= PORTS_REPORTED_MIN;
            if samples.reports_ports {
                let name = address.to_string();
                out.put_labelled(PORTS.part(&name), &[("peer", &name)], most);
                out.put_labelled(PORTS_MAX.part(&name), &[("peer", &name)], limit);
            }
        }
    }
}

impl PeerSamples {
    fn begin(&mut self) {
        *self = Self { reports_ports: self.reports_ports, ..Self::default() };
    }

    /// `None`: no connection could be sampled.
    fn mean(self) -> Option<f64> {
        (self.sampled > 0.0).then(|| self.connections * self.awaited / self.sampled)
    }
}

/// The address at the other end. A mapped address of IPv4 is that of IPv4.
fn peer(ends: &TcpEnds) -> SocketAddr {
    SocketAddr::new(ends.remote.ip().to_canonical(), ends.remote.port())
}

/// Connections that these processes opened to others.
fn outgoing(sockets: &[TcpSocket], inodes: &HashSet<u64>) -> Vec<TcpEnds> {
    let ours = || sockets.iter().filter(|socket| inodes.contains(&socket.inode));
    let listening: HashSet<u16> = ours().filter(|socket| socket.state == TcpState::Listen).map(|socket| socket.local_port).collect();
    let is_here = |ends: &TcpEnds| {
        let ip: IpAddr = ends.remote.ip().to_canonical();
        listening.contains(&ends.remote.port()) && (ip.is_loopback() || ip == ends.local.ip().to_canonical())
    };
    let open = ours().filter(|socket| matches!(socket.state, TcpState::Established | TcpState::Connecting));
    let calling = open.filter(|socket| !listening.contains(&socket.local_port)).filter_map(|socket| socket.ends);
    calling.filter(|ends| !is_here(ends)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(local: &str, remote: &str, state: TcpState, inode: u64) -> TcpSocket {
        let (local, remote): (SocketAddr, SocketAddr) = (local.parse().unwrap(), remote.parse().unwrap());
        TcpSocket { local_port: local.port(), state, receive_queue: 0, inode, ends: Some(TcpEnds { local, remote }) }
    }

    #[test]
    fn calls_leave_the_processes_on_their_own_connections() {
        let sockets = [
            socket("0.0.0.0:8080", "0.0.0.0:0", TcpState::Listen, 1),
            socket("10.0.0.1:8080", "10.0.0.9:40000", TcpState::Established, 2),
            socket("[::ffff:10.0.0.1]:50000", "[::ffff:10.0.0.2]:5432", TcpState::Established, 3),
            socket("127.0.0.1:50001", "127.0.0.1:8080", TcpState::Established, 4),
            socket("10.0.0.1:50002", "10.0.0.2:8080", TcpState::Connecting, 5),
            socket("10.0.0.1:50003", "10.0.0.2:5432", TcpState::CloseWait, 6),
            socket("10.0.0.1:50004", "10.0.0.2:5432", TcpState::Established, 70),
        ];
        let found: Vec<String> = outgoing(&sockets, &(1..=6).collect()).iter().map(|ends| peer(ends).to_string()).collect();
        assert_eq!(found, ["10.0.0.2:5432", "10.0.0.2:8080"]);
    }

    /// A connection for each call: none is open for long, but each holds its port.
    #[test]
    fn closed_connections_hold_their_ports() {
        let waiting = |number: u16| socket(&format!("10.0.0.1:{}", 20_000 + number), "10.0.0.2:5432", TcpState::TimeWait, 0);
        let mut sockets: Vec<TcpSocket> = (0..1_500).map(waiting).collect();
        sockets.push(socket("10.0.0.1:50000", "10.0.0.2:5432", TcpState::Established, 3));
        sockets.push(socket("10.0.0.7:50000", "10.0.0.2:5432", TcpState::TimeWait, 0));
        let mut calls = PeerCalls { probe: None, connections: Vec::new(), peers: BTreeMap::new() };
        let mut out = SignalCollector::new("process:80");
        calls.report(&sockets, &HashSet::from([3]), &mut out);
        out.begin(1);
        calls.report(&sockets, &HashSet::from([3]), &mut out);
        let reported = out.finish(2);
        let value = |name: &str| reported.iter().find(|(signal, _)| signal.name == name).map(|(_, point)| point.value);
        assert_eq!(value("process:80/ports{peer=10.0.0.2:5432}"), Some(1_501.0));
        assert!(value("process:80/ports_limit{peer=10.0.0.2:5432}").is_some_and(|limit| limit > 1_000.0));
    }

    #[test]
    fn connections_that_ended_count_as_those_that_remain() {
        assert_eq!(PeerSamples { connections: 8.0, sampled: 20.0, awaited: 5.0, ..PeerSamples::default() }.mean(), Some(2.0));
        assert_eq!(PeerSamples { connections: 8.0, ..PeerSamples::default() }.mean(), None);
    }
}
