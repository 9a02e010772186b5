//! The scrape endpoint `GET /metrics`, available during the run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::text::exposition;
use crate::run_labels::RunLabels;
use crate::second::OutputSecond;
use crate::sink::{DeliveryError, OutputSink};
use crate::totals::OutputTotals;

/// An idle scraper is disconnected after this time, because scrapers are served one at a time.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum size of a request's head. Bytes.
const HEAD_MAX: u64 = 16 << 10;

/// Serves the state after the last second that was added.
pub(crate) struct ScrapeEndpoint {
    address: SocketAddr,
    state: Arc<Mutex<OutputTotals>>,
}

impl ScrapeEndpoint {
    /// Listens, and answers on a separate thread that ends with the process.
    ///
    /// # Errors
    /// When the address is in use or does not belong to this machine, or no thread can be created.
    pub(crate) fn start(listen: SocketAddr, totals: OutputTotals, run: RunLabels) -> std::io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(totals));
        let shared = Arc::clone(&state);
        std::thread::Builder::new().name("scrape".to_owned()).spawn(move || {
            for stream in listener.incoming().flatten() {
                // A scraper that disconnects early is no error.
                let _ = answer(&stream, address.ip().is_loopback(), || {
                    exposition(&shared.lock().unwrap_or_else(PoisonError::into_inner), &run)
                });
            }
        })?;
        Ok(Self { address, state })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl OutputSink for ScrapeEndpoint {
    fn take(&mut self, second: &OutputSecond) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).add(second);
    }

    /// Scrapers fetch the state, so nothing is sent.
    fn flush(&mut self) -> Result<u64, DeliveryError> {
        Ok(1)
    }

    fn give_up(&mut self) {}
}

/// `local`: only requests with a host name of this machine are answered. Otherwise a website in a local browser could resolve its own name to this machine
/// and read the run (DNS rebinding).
fn answer(mut stream: &TcpStream, local: bool, metrics: impl Fn() -> String) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut head = BufReader::new(stream.take(HEAD_MAX));
    let mut first = String::new();
    head.read_line(&mut first)?;
    let mut line = String::new();
    let mut is_known = !local;
    while head.read_line(&mut line)? > 2 {
        if let Some((name, value)) = line.split_once(':') {
            is_known |= name.eq_ignore_ascii_case("host") && names_this_machine(value.trim());
        }
        line.clear();
    }
    let mut words = first.split_ascii_whitespace();
    let path = words.nth(1).map(|path| path.split('?').next().unwrap_or(path));
    let (status, body) = match (first.starts_with("GET "), path) {
        _ if !is_known => ("403 Forbidden", "The metrics are served under localhost and IP addresses only.\n".to_owned()),
        (true, Some("/metrics")) => ("200 OK", metrics()),
        (true, _) => ("404 Not Found", "The metrics are at /metrics.\n".to_owned()),
        (false, _) => ("405 Method Not Allowed", "Only GET.\n".to_owned()),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// `localhost`, or an address; with or without a port.
fn names_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(name, _)| name),
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}
