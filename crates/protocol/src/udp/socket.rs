//! A socket that communicates with one address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::{Nanos, Outcome};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::connect::{binding, within};
use crate::failure::Failure;
use crate::network::Network;

/// Sends to one address, and receives only from it. Dropping it closes it.
#[derive(Debug)]
pub struct DatagramSocket {
    network: Rc<Network>,
    socket: UdpSocket,
}

/// A datagram that was received.
#[derive(Debug)]
pub struct Datagram {
    pub bytes: Bytes,
    /// When it was read from the kernel.
    pub at: Nanos,
}

impl DatagramSocket {
    /// Looks the name up within the time limit and uses its first address. Nothing is sent.
    ///
    /// # Errors
    /// Users may not connect to this host, the name has no address, or the machine has no route to it.
    pub async fn open(network: &Rc<Network>, host: &str, port: u16, timeout_ns: u64) -> Result<Self, Failure> {
        network.check_datagram_host(host, port)?;
        let timer = network.clock().timer();
        timer.reset(network.clock().now().saturating_add(timeout_ns));
        let addresses = within(&timer, "looking up the name", network.resolver.resolve(host)).await??;
        // An address for which there is no source address says nothing about the others.
        let usable = addresses.iter().find(|address| network.source_for(**address, None).is_ok()).or(addresses.first());
        let Some(address) = usable.copied() else { return Err(Failure::new(Outcome::Dns, "the name has no address")) };
        let nowhere = if address.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
        let from = SocketAddr::new(network.source_for(address, None)?.unwrap_or(nowhere), 0);
        let socket = UdpSocket::bind(from).await.map_err(binding)?;
        socket.connect(SocketAddr::new(address, port)).await.map_err(|error| Failure::connecting(&error))?;
        Ok(Self { network: Rc::clone(network), socket })
    }

    /// Passes a datagram to the kernel, which does not report its arrival.
    ///
    /// # Errors
    /// The kernel did not accept it, or knows that no process listens there.
    pub async fn send(&self, bytes: &[u8]) -> Result<SentDatagram, Failure> {
        let started = self.network.clock().now();
        self.socket.send(bytes).await.map_err(|error| lost(&error))?;
        Ok(SentDatagram { started, ended: self.network.clock().now() })
    }

    /// Waits for the next datagram.
    ///
    /// # Errors
    /// The kernel learnt that no process listens there.
    pub async fn receive(&self) -> Result<Datagram, Failure> {
        loop {
            // An ICMP error makes the socket neither readable nor closed.
            let ready = self.socket.ready(Interest::READABLE | Interest::ERROR).await.map_err(|error| lost(&error))?;
            if ready.is_error() {
                let pending_error = || self.socket.take_error()?.ok_or_else(|| io::ErrorKind::WouldBlock.into());
                if let Ok(error) = self.socket.try_io(Interest::ERROR, pending_error) {
                    return Err(lost(&error));
                }
            }
            let mut scratch = self.network.scratch();
            match self.socket.try_recv(&mut scratch) {
                Ok(count) => {
                    self.network.count(|counts| counts.received += count as u64);
                    return Ok(Datagram { bytes: Bytes::copy_from_slice(&scratch[..count]), at: self.network.clock().now() });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(lost(&error)),
            }
        }
    }
}

/// The cost of sending.
#[derive(Debug, Clone, Copy)]
pub struct SentDatagram {
    pub started: Nanos,
    /// The kernel accepted the datagram.
    pub ended: Nanos,
}

fn lost(error: &io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => Failure::new(Outcome::Refused, "no process listens at the address (ICMP: port unreachable)"),
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH) => Failure::new(Outcome::Connect, "the host cannot be reached (ICMP)"),
        Some(libc::EMSGSIZE) => Failure::unsendable("the datagram is too large: IPv4 allows at most 65,507 bytes"),
        _ => Failure::broken(error),
    }
}

#[cfg(test)]
mod tests {
    use loadstone_metrics::clock::{Clock, Monotonic};

    use super::*;
    use crate::options::NetworkOptions;

    fn run(test: impl AsyncFnOnce(&Rc<Network>)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let network = Network::new(Clock::real(Monotonic::start()), NetworkOptions::default()).unwrap();
            test(&network).await;
        });
    }

    #[test]
    fn datagrams_keep_their_boundaries_and_come_from_one_address() {
        run(async |network| {
            let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let port = server.local_addr().unwrap().port();
            let socket = DatagramSocket::open(network, "127.0.0.1", port, 1_000_000_000).await.unwrap();
            let sent = socket.send(b"one").await.unwrap();
            socket.send(b"").await.unwrap();
            let mut room = [0; 100];
            let (count, from) = server.recv_from(&mut room).await.unwrap();
            assert_eq!(&room[..count], b"one");
            assert_eq!(server.recv_from(&mut room).await.unwrap().0, 0);
            let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            stranger.send_to(b"strange", from).await.unwrap();
            let large = vec![7; 60_000];
            server.send_to(&large, from).await.unwrap();
            server.send_to(b"two", from).await.unwrap();
            let first = socket.receive().await.unwrap();
            assert_eq!((first.bytes.len(), first.at >= sent.ended), (60_000, true));
            assert_eq!(&socket.receive().await.unwrap().bytes[..], b"two");
            let too_large = socket.send(&vec![0; 70_000]).await.unwrap_err();
            assert!(too_large.message.contains("65,507"), "{}", too_large.message);
        });
    }

    #[test]
    fn a_closed_port_is_reported_if_the_kernel_knows_it() {
        run(async |network| {
            let port = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
            let socket = DatagramSocket::open(network, "127.0.0.1", port, 1_000_000_000).await.unwrap();
            socket.send(b"anybody?").await.unwrap();
            assert_eq!(socket.receive().await.unwrap_err().outcome, Outcome::Refused);
        });
    }
}
