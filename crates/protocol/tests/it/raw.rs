//! Raw connections: over TLS, with a concurrent reader and writer, with a peer that reads nothing; and Redis over bytes that arrive slowly.

use std::net::SocketAddr;
use std::rc::Rc;

use loadstone_metrics::Outcome;
use loadstone_protocol::raw::{RawConnection, RawTarget, RawTimes, ReadUntil};
use loadstone_protocol::redis::{RedisAddress, RedisClient, RedisPart, RedisReplies};
use loadstone_protocol::{Failure, Network};
use tokio::io::AsyncReadExt;
use tokio::task::yield_now;

use super::support::{run, run_with, serve};
use super::tls::{self, Authority, trusting};

const LIMIT_NS: u64 = 20_000_000_000;

async fn open(network: &Rc<Network>, target: &RawTarget) -> (Result<RawConnection, Failure>, RawTimes) {
    let mut times = RawTimes::from(network.clock().now());
    (RawConnection::open(network, target, LIMIT_NS, &mut times).await, times)
}

fn plain(address: SocketAddr) -> RawTarget {
    RawTarget { host: address.ip().to_string(), port: address.port(), tls: false }
}

#[test]
fn tls_is_a_phase_and_its_failure_an_outcome() {
    let (known, other) = (Authority::new("Known"), Authority::new("Other"));
    let (certificate, key) = known.sign(&["localhost"], |_| {});
    let (certificate, key) = (&certificate, &key);
    run_with(trusting(&known), |network| async move {
        let address = tls::serve(certificate.der().clone(), key, None).await;
        let target = RawTarget { host: "localhost".to_owned(), port: address.port(), tls: true };
        let (connection, mut times) = open(&network, &target).await;
        let connection = connection.unwrap();
        assert!(times.connected && times.phases.tls > 0 && times.phases.connect > 0);
        connection.write(b"anything", u64::MAX, &mut times).await.unwrap();
        let answer = connection.read(&ReadUntil::Delimiter(b"ok".to_vec()), 1_000, u64::MAX, &mut times).await.unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n") && answer.ends_with(b"\r\n\r\nok"));
    });
    run_with(trusting(&other), |network| async move {
        let address = tls::serve(certificate.der().clone(), key, None).await;
        let target = RawTarget { host: "localhost".to_owned(), port: address.port(), tls: true };
        assert_eq!(open(&network, &target).await.0.unwrap_err().outcome, Outcome::Tls);
    });
}

#[test]
fn one_writes_while_another_reads_and_a_close_ends_the_read() {
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            let mut one = [0];
            while let Ok(1) = peer.stream.read(&mut one).await {
                peer.send(one).await;
            }
        })
        .await;
        let connection = open(&network, &plain(address)).await.0.unwrap();
        let (mut reads, mut writes) = (RawTimes::default(), RawTimes::default());
        let reading = connection.read(&ReadUntil::Length(3), 1_000, u64::MAX, &mut reads);
        let writing = async {
            for _ in 0..3 {
                connection.write(b"x", u64::MAX, &mut writes).await.unwrap();
                yield_now().await;
            }
        };
        assert_eq!(tokio::join!(reading, writing).0.unwrap(), "xxx");
        assert_eq!((writes.bytes_sent, reads.bytes_received), (3, 3));
        let reading = connection.read(&ReadUntil::Arrival, 1_000, u64::MAX, &mut reads);
        let closing = async {
            yield_now().await;
            connection.close();
        };
        assert_eq!(tokio::join!(reading, closing).0.unwrap_err().outcome, Outcome::Closed);
        assert!(!connection.is_open());
        assert_eq!(network.connections().open, 0);
    });
}

#[test]
fn limits_of_time_and_size_hold() {
    run(|network| async move {
        let address = serve(|mut peer, number| async move {
            if number == 0 {
                // Reads nothing for the whole test.
                return std::future::pending().await;
            }
            peer.send([b'x'; 2_000]).await;
            let _ = peer.stream.read(&mut [0]).await;
        })
        .await;
        let stuck = open(&network, &plain(address)).await.0.unwrap();
        let mut times = RawTimes::from(network.clock().now());
        let due = times.started + 20_000_000;
        let failure = stuck.write(&vec![0; 32 << 20], due, &mut times).await.unwrap_err();
        assert_eq!((failure.outcome, &*failure.message), (Outcome::Timeout, "timed out sending"));
        assert!(times.bytes_sent < 32 << 20 && times.ended >= due);
        let talks = open(&network, &plain(address)).await.0.unwrap();
        let mut times = RawTimes::from(network.clock().now());
        let failure = talks.read(&ReadUntil::Delimiter(b"\n".to_vec()), 1_000, u64::MAX, &mut times).await.unwrap_err();
        assert_eq!(failure.outcome, Outcome::Protocol);
        assert!(failure.message.contains("more than 1000 bytes"), "{}", failure.message);
    });
}

async fn redis(network: &Rc<Network>, answer: &'static [u8], piece: usize) -> RedisClient {
    let address = serve(move |mut peer, _| async move {
        let mut scratch = [0; 1_000];
        while let Ok(1..) = peer.stream.read(&mut scratch).await {
            for piece in answer.chunks(piece) {
                peer.send(piece).await;
                yield_now().await;
            }
        }
    })
    .await;
    RedisClient::new(Rc::clone(network), RedisAddress::parse(&format!("redis://{address}")).unwrap())
}

#[test]
fn slow_replies_are_assembled() {
    run(|network| async move {
        let client = redis(&network, b"*2\r\n$5\r\nhe\r\no\r\n%1\r\n+a\r\n:-7\r\n", 1).await;
        for connected in [true, false] {
            let exchange = client.exchange(b"x", 1, LIMIT_NS, 1_000).await;
            let bytes = exchange.result.unwrap();
            let parts: Vec<RedisPart<'_>> = RedisReplies::of(&bytes).collect();
            let expected =
                [RedisPart::List(2), RedisPart::Text(b"he\r\no"), RedisPart::Map(1), RedisPart::Status(b"a"), RedisPart::Integer(-7)];
            assert_eq!((&parts[..], exchange.times.connected), (&expected[..], connected));
            assert_eq!((exchange.times.bytes_sent, exchange.times.bytes_received), (1, bytes.len() as u64));
        }
    });
}

#[test]
fn a_surplus_reply_is_not_assigned_to_a_command() {
    run(|network| async move {
        let client = redis(&network, b":1\r\n:2\r\n", 100).await;
        for _ in 0..2 {
            let exchange = client.exchange(b"x", 1, LIMIT_NS, 1_000).await;
            assert_eq!((&exchange.result.unwrap()[..], exchange.times.connected), (&b":1\r\n"[..], true));
        }
        assert_eq!((network.connections().opened, network.connections().open), (2, 1));
    });
}
