//! The TCP proxy, against a server that answers each byte with one.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use loadstone_stub::{ProxyEffects, ProxySpec, TcpProxy, now_ns};

/// Answers with what it gets, on every connection, until the test ends.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || std::io::copy(&mut stream.try_clone().unwrap(), &mut &stream).ok());
        }
    });
    address
}

fn proxy(effects: ProxyEffects) -> TcpProxy {
    TcpProxy::start(&ProxySpec { listen: "127.0.0.1:0".to_owned(), to: echo().to_string(), effects }).unwrap()
}

fn round_trip_ns(stream: &mut TcpStream) -> u64 {
    let started_ns = now_ns();
    stream.write_all(b"x").unwrap();
    stream.read_exact(&mut [0]).unwrap();
    now_ns() - started_ns
}

#[test]
fn bytes_come_through_in_order_and_so_does_the_end() {
    let proxy = proxy(ProxyEffects { delay_ns: 1_000_000, ..ProxyEffects::default() });
    let mut stream = TcpStream::connect(proxy.address()).unwrap();
    let sent: Vec<u8> = (0..300_000u32).map(|k| (k % 251) as u8).collect();
    let mut back = stream.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        back.read_to_end(&mut all).unwrap();
        all
    });
    stream.write_all(&sent).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(reader.join().unwrap() == sent);
}

/// No sooner than the delay, once for each round trip; and what is set later holds for connections that are open.
#[test]
fn a_round_trip_pays_the_delay_once() {
    const DELAY_NS: u64 = 30_000_000;
    let proxy = proxy(ProxyEffects::default());
    let mut stream = TcpStream::connect(proxy.address()).unwrap();
    let quickest = |stream: &mut TcpStream| (0..5).map(|_| round_trip_ns(stream)).min().unwrap();
    quickest(&mut stream);
    proxy.set(ProxyEffects { delay_ns: DELAY_NS, ..ProxyEffects::default() });
    // The order may still be under way.
    while round_trip_ns(&mut stream) < DELAY_NS {}
    let delayed = quickest(&mut stream);
    assert!(delayed >= DELAY_NS, "{delayed}");
}

#[test]
fn a_link_of_so_many_bytes_per_second_takes_so_long() {
    let proxy = proxy(ProxyEffects { bytes_per_second: Some(100_000), ..ProxyEffects::default() });
    let mut stream = TcpStream::connect(proxy.address()).unwrap();
    let started_ns = now_ns();
    stream.write_all(&[7; 20_000]).unwrap();
    stream.read_exact(&mut [0; 20_000]).unwrap();
    // 0.2 s there, of which the way back can hide all but its last piece.
    assert!(now_ns() - started_ns >= 200_000_000);
}

#[test]
fn a_share_of_the_connections_is_reset() {
    let proxy = proxy(ProxyEffects { resets: 1.0, ..ProxyEffects::default() });
    let mut stream = TcpStream::connect(proxy.address()).unwrap();
    stream.write_all(b"x").unwrap();
    let ended = stream.read(&mut [0]).unwrap_err();
    assert_eq!(ended.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn an_address_that_is_taken_is_said() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let spec = ProxySpec { listen: listen.clone(), to: listen.clone(), effects: ProxyEffects::default() };
    assert!(TcpProxy::start(&spec).unwrap_err().to_string().contains(&listen));
}
