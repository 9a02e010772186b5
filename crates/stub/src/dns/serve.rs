//! The thread of a name server: questions over UDP and TCP, each answered when it is due.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use super::counts::LookupCounts;
use super::zone::Zone;
use crate::clock::now_ns;
use crate::timer::DeadlineTimer;
use crate::{Delay, SeededRandom};

/// Longer questions cannot contain a known name.
const QUESTION_MAX: usize = 4_096;
/// If a tenth of the ports are taken, all attempts fail once in 10^32.
const PORT_TRIES: usize = 32;

/// The input of the thread.
pub(crate) struct Served {
    pub(crate) zone: Zone,
    pub(crate) delay: Option<Delay>,
    pub(crate) loss: f64,
    pub(crate) seed: u64,
    pub(crate) counts: Arc<Mutex<LookupCounts>>,
}

struct DnsState {
    served: Served,
    random: RefCell<SeededRandom>,
    timer: DeadlineTimer,
}

/// Runs until `stopped` is set, or until its sender is dropped.
pub(crate) fn run(listen: SocketAddr, served: Served, stopped: oneshot::Receiver<()>, report: &SyncSender<io::Result<SocketAddr>>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_io().build() {
        Ok(runtime) => runtime,
        Err(source) => return drop(report.send(Err(source))),
    };
    let tasks = LocalSet::new();
    tasks.block_on(&runtime, async {
        let (udp, tcp, timer) = match sockets(listen).await {
            Ok((address, udp, tcp, timer)) => {
                let _ = report.send(Ok(address));
                (udp, tcp, timer)
            }
            Err(source) => return drop(report.send(Err(source))),
        };
        let random = RefCell::new(SeededRandom::from_seed(served.seed));
        let state = Rc::new(DnsState { served, random, timer: timer.clone() });
        tokio::task::spawn_local(timer.drive());
        tokio::task::spawn_local(packets(udp, Rc::clone(&state)));
        tokio::task::spawn_local(connections(tcp, state));
        let _ = stopped.await;
    });
}

/// Both listen on the same port. When the system chooses the port, it may be free for one protocol and taken for the other. Then the system
/// chooses again.
async fn sockets(listen: SocketAddr) -> io::Result<(SocketAddr, UdpSocket, TcpListener, DeadlineTimer)> {
    let tries = if listen.port() == 0 { PORT_TRIES } else { 1 };
    let mut bound = pair(listen).await;
    for _ in 1..tries {
        match &bound {
            Err(taken) if taken.kind() == io::ErrorKind::AddrInUse => bound = pair(listen).await,
            _ => break,
        }
    }
    let (udp, tcp) = bound?;
    Ok((udp.local_addr()?, udp, tcp, DeadlineTimer::new(0)?))
}

async fn pair(listen: SocketAddr) -> io::Result<(UdpSocket, TcpListener)> {
    let udp = UdpSocket::bind(listen).await?;
    let address = udp.local_addr()?;
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok((udp, socket.listen(128)?))
}

async fn packets(udp: UdpSocket, state: Rc<DnsState>) {
    let udp = Rc::new(udp);
    let mut buffer = vec![0; QUESTION_MAX];
    loop {
        // An error caused by a packet to a closed port affects no other client.
        let Ok((length, from)) = udp.recv_from(&mut buffer).await else { continue };
        let Some(pending) = state.take(&buffer[..length], true) else { continue };
        let (udp, state) = (Rc::clone(&udp), Rc::clone(&state));
        tokio::task::spawn_local(async move {
            if let Some(bytes) = state.due(pending).await {
                let _ = udp.send_to(&bytes, from).await;
            }
        });
    }
}

async fn connections(listener: TcpListener, state: Rc<DnsState>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::task::spawn_local(converse(stream, Rc::clone(&state)))),
            // Usually out of descriptors: let other connections close first.
            Err(_) => state.timer.sleep_until(now_ns() + 10_000_000).await,
        }
    }
}

/// RFC 1035, 4.2.2: a length precedes each message. RFC 7766, 8: both are passed to TCP together, since some clients expect them in one
/// segment.
async fn converse(mut stream: TcpStream, state: Rc<DnsState>) {
    while let Ok(length) = stream.read_u16().await {
        let mut question = vec![0; usize::from(length)];
        if stream.read_exact(&mut question).await.is_err() {
            return;
        }
        let Some(pending) = state.take(&question, false) else { return };
        let Some(bytes) = state.due(pending).await else { continue };
        let Ok(length) = u16::try_from(bytes.len()) else { return };
        let framed = [&length.to_be_bytes()[..], &bytes].concat();
        if stream.write_all(&framed).await.is_err() {
            return;
        }
    }
}

/// An answer that is not due yet. `None` in it: it is lost.
struct PendingAnswer {
    bytes: Option<Vec<u8>>,
    arrived_ns: u64,
    due_ns: u64,
}

impl DnsState {
    fn take(&self, question: &[u8], may_be_lost: bool) -> Option<PendingAnswer> {
        let arrived_ns = now_ns();
        let age_ns = self.counts(|counts| counts.age_ns(arrived_ns));
        let answer = self.served.zone.answer(question, age_ns)?;
        self.counts(|counts| counts.arrived(arrived_ns, answer.name));
        let mut random = self.random.borrow_mut();
        let is_lost = may_be_lost && self.served.loss > 0.0 && random.uniform() < self.served.loss;
        let delay_ns = self.served.delay.as_ref().map_or(0, |delay| delay.sample_ns(|| random.next_u64()));
        Some(PendingAnswer { bytes: (!is_lost).then_some(answer.bytes), arrived_ns, due_ns: arrived_ns.saturating_add(delay_ns) })
    }

    async fn due(&self, pending: PendingAnswer) -> Option<Vec<u8>> {
        if pending.due_ns > pending.arrived_ns {
            self.timer.sleep_until(pending.due_ns).await;
        }
        self.counts(|counts| counts.ended(now_ns(), pending.bytes.is_none(), pending.due_ns - pending.arrived_ns));
        pending.bytes
    }

    fn counts<R>(&self, with: impl FnOnce(&mut LookupCounts) -> R) -> R {
        // Counts are consistent at any instant.
        with(&mut self.served.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener as Taken;

    use super::*;

    #[test]
    fn a_port_in_use_for_one_protocol_is_not_chosen() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        // About one port in twenty is taken. One of a hundred choices meets such a port, with a probability of 99 %.
        let taken: Vec<Taken> = (0..1_500).map(|_| Taken::bind(any).unwrap()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let opened: Vec<_> = (0..100).map(|_| runtime.block_on(sockets(any)).map(|(address, ..)| address.port())).collect();
        assert!(opened.iter().all(Result::is_ok), "{opened:?}");
        let theirs = taken[0].local_addr().unwrap();
        assert_eq!(runtime.block_on(sockets(theirs)).err().map(|error| error.kind()), Some(io::ErrorKind::AddrInUse));
    }
}
