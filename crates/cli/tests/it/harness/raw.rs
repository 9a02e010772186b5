//! A server that sends exactly the configured bytes: malformed responses, early ends, long waits.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A step after a request's head has arrived.
#[derive(Clone)]
pub(crate) enum Step {
    Send(Vec<u8>),
    /// Wait for this long.
    Wait(Duration),
    /// Ends the connection with a FIN.
    Close,
    /// Ends the connection with a RST.
    Reset,
}

pub(crate) fn send(text: impl AsRef<[u8]>) -> Step {
    Step::Send(text.as_ref().to_vec())
}

pub(crate) struct Raw {
    pub(crate) address: String,
    connections: Arc<AtomicUsize>,
}

impl Raw {
    /// Answers every request on every connection with these steps. After the last step it waits for the next request.
    pub(crate) fn answering(steps: Vec<Step>) -> Self {
        Self::by_request(move |_| steps.clone())
    }

    /// Answers the n-th request of a connection (from 0) with its steps.
    pub(crate) fn by_request(steps: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let connections = Arc::new(AtomicUsize::new(0));
        let (count, steps) = (Arc::clone(&connections), Arc::new(steps));
        // The thread ends with the test process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (count, steps) = (Arc::clone(&count), Arc::clone(&steps));
                // Errors that a client causes on the connection do not matter here.
                thread::spawn(move || serve(stream, &count, steps.as_ref()).ok());
            }
        });
        Self { address, connections }
    }

    /// Number of connections with at least one request. (Before the load, the target is probed by a connection without one.)
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

fn serve(mut stream: TcpStream, used: &AtomicUsize, steps: &(dyn Fn(usize) -> Vec<Step> + Send + Sync)) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = 0;
    while read_head(&mut stream)? {
        if request == 0 {
            used.fetch_add(1, Ordering::Relaxed);
        }
        for step in steps(request) {
            match step {
                Step::Send(bytes) => stream.write_all(&bytes)?,
                Step::Wait(time) => thread::sleep(time),
                Step::Close => return stream.shutdown(Shutdown::Both),
                Step::Reset => return rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).map_err(Into::into),
            }
        }
        request += 1;
    }
    Ok(())
}

/// Whether a complete head arrived before the client closed the connection. This server ignores bodies.
fn read_head(stream: &mut TcpStream) -> std::io::Result<bool> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            return Ok(false);
        }
        head.push(byte[0]);
    }
    Ok(true)
}
