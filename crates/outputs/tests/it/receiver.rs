//! A receiver over HTTP that takes whatever comes and hands it over.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, sync_channel};

pub(crate) struct Received {
    /// Request line and header lines, in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// Its address, and what it gets. Answers every request with this status.
pub(crate) fn start(status: &'static str) -> (String, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let (sender, received) = sync_channel(100);
    // Ends with the test process.
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
            let mut head = String::new();
            while reader.read_line(&mut head).expect("a head") > 2 {}
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().expect("a number"));
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            // Passed on before the answer, so that the test may check it once the sender has the answer.
            if sender.send(Received { head, body }).is_err() {
                return;
            }
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\nsorry").expect("an answer");
        }
    });
    (address, received)
}
