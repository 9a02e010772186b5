//! The TCP proxy, in front of a server that answers each byte with one.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use loadstone_stub::{ProxyEffects, ProxySpec, TcpProxy, now_ns};

/// Echoes on every connection until the test ends.
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
fn bytes_and_the_end_are_forwarded_in_order() {
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

/// A round trip takes at least the delay, once. A changed delay also applies to open connections.
#[test]
fn a_round_trip_is_delayed_once() {
    const DELAY_NS: u64 = 30_000_000;
    let proxy = proxy(ProxyEffects::default());
    let mut stream = TcpStream::connect(proxy.address()).unwrap();
    let quickest = |stream: &mut TcpStream| (0..5).map(|_| round_trip_ns(stream)).min().unwrap();
    quickest(&mut stream);
    proxy.set(ProxyEffects { delay_ns: DELAY_NS, ..ProxyEffects::default() });
    // The change may not have arrived yet.
    while round_trip_ns(&mut stream) < DELAY_NS {}
    let delayed = quickest(&mut stream);
    assert!(delayed >= DELAY_NS, "{delayed}");
}

#[test]
fn bandwidth_limits_the_transfer() {
    let proxy = proxy(ProxyEffects { bytes_per_second: Some(100_000), ..ProxyEffects::default() });
    let mut stream = TcpStream::connect(proxy.address()).unwrap();
    let started_ns = now_ns();
    stream.write_all(&[7; 20_000]).unwrap();
    stream.read_exact(&mut [0; 20_000]).unwrap();
    // The way to the server takes 0.2 s. The way back can overlap with all but its last piece.
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
fn an_address_in_use_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let spec = ProxySpec { listen: listen.clone(), to: listen.clone(), effects: ProxyEffects::default() };
    assert!(TcpProxy::start(&spec).unwrap_err().to_string().contains(&listen));
}
