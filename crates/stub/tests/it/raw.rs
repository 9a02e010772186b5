//! Scripted sockets follow their script exactly.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use loadstone_stub::now_ns;
use loadstone_stub::raw::{RawServer, RawStep};

#[test]
fn bytes_arrive_as_written_and_each_connection_runs_its_script() {
    let first =
        vec![RawStep::read_head(), RawStep::send("HTTP/1.1 2"), RawStep::Pause(Duration::from_millis(5)), RawStep::send("00 OK\r\n\r\n")];
    let second = vec![RawStep::Read(3), RawStep::Trickle(b"slow".to_vec(), Duration::from_millis(2))];
    let server = RawServer::start(vec![first, second]).unwrap();
    let mut text = String::new();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text, "HTTP/1.1 200 OK\r\n\r\n");
    for _ in 0..2 {
        let started = now_ns();
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(b"abc").unwrap();
        text.clear();
        stream.read_to_string(&mut text).unwrap();
        assert_eq!(text, "slow");
        assert!(now_ns() - started >= 6_000_000);
    }
    assert_eq!(server.received(), [b"GET / HTTP/1.1\r\n\r\n".to_vec(), b"abc".to_vec(), b"abc".to_vec()]);
}

#[test]
fn resets_and_half_closes() {
    let reset = RawServer::each(vec![RawStep::Read(1), RawStep::Reset]).unwrap();
    let mut stream = TcpStream::connect(reset.address()).unwrap();
    stream.write_all(b"x").unwrap();
    assert_eq!(stream.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::ConnectionReset);

    let half = RawServer::each(vec![RawStep::send("bye"), RawStep::HalfClose, RawStep::ReadToEnd]).unwrap();
    let mut stream = TcpStream::connect(half.address()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text, "bye");
    stream.write_all(b"still here").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    while half.received() != [b"still here".to_vec()] {
        std::thread::yield_now();
    }
}
