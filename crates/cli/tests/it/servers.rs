//! The servers that the other tests use work as documented, without Loadstone.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::harness::raw::{Raw, Step, send};
use crate::harness::server;

fn get(address: &str, path: &str) -> String {
    let authority = address.strip_prefix("http://").expect("plain HTTP");
    let mut stream = TcpStream::connect(authority).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers in UTF-8");
    answer
}

#[test]
fn nginx_serves_the_example_files() {
    assert!(get(server::nginx(), "/data.json").contains("lodestone"));
}

#[test]
fn httpbin_echoes() {
    assert!(get(server::httpbin(), "/get?a=1").contains(r#""a""#));
}

#[test]
fn httpbin_echoes_on_ipv6() {
    let Some(address) = server::httpbin_ipv6() else { return };
    assert!(get(address, "/get?a=1").contains(r#""a""#));
}

#[test]
fn the_shop_is_up() {
    let shop = server::shop();
    assert!(shop.address.starts_with("https://localhost:"));
    assert!(std::fs::read_to_string(&shop.certificate).expect("its certificate").contains("BEGIN CERTIFICATE"));
}

#[test]
fn the_raw_server_sends_the_configured_bytes() {
    let raw = Raw::answering(vec![send("HTTP/1.1 200 OK\r\n\r\nabc"), Step::Close]);
    assert_eq!(get(&raw.address, "/"), "HTTP/1.1 200 OK\r\n\r\nabc");
    assert_eq!(raw.connections(), 1);
}
