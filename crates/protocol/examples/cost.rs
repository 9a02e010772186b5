//! CPU cost of one request in the generator, to compare with wrk: `cost URL CONNECTIONS SECONDS`. Add `built` for requests that are not prepared,
//! `fresh` for one connection per request, `http2` for HTTP/2.
//!
//! Closed loop, no engine and no recording: the cost of this crate alone. Pin it and the server to different cores.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use loadstone_metrics::clock::{Clock, Monotonic, thread_cpu_ns};
use loadstone_protocol::http::{BodyUse, Client, ClientOptions, Origin, PreparedRequest, Request, Versions};
use loadstone_protocol::{Network, NetworkOptions};
use tokio::task::LocalSet;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, url, connections, seconds, rest @ ..] = &arguments[..] else {
        return Err("usage: cost URL CONNECTIONS SECONDS [built] [fresh] [http2]".into());
    };
    let url = url::Url::parse(url)?;
    let (connections, seconds): (usize, u64) = (connections.parse()?, seconds.parse()?);
    let request = Request {
        origin: Rc::new(Origin {
            tls: url.scheme() == "https",
            host: url.host_str().unwrap_or_default().to_owned(),
            port: url.port_or_known_default().unwrap_or_default(),
        }),
        method: "GET".into(),
        path: url.path().to_owned(),
        headers: Vec::new(),
        body: Bytes::new().into(),
        timeout_ns: 30_000_000_000,
        trailers: None,
        body_use: BodyUse::Discard,
        body_bytes_max: 1 << 20,
        label: loadstone_metrics::span::RequestLabel::default(),
        source: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = LocalSet::new();
    let says = |wanted| rest.iter().any(|word| word == wanted);
    let options = ClientOptions { keep_alive: !says("fresh"), ..ClientOptions::default() };
    let versions = if says("http2") { Versions::Http2Always } else { Versions::Http1 };
    runtime.block_on(local.run_until(measure(request, (options, versions), connections, seconds, says("built"))))
}

async fn measure(
    request: Request,
    (options, versions): (ClientOptions, Versions),
    connections: usize,
    seconds: u64,
    built: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::real(Monotonic::start());
    let network = Network::new(clock.clone(), NetworkOptions { insecure: true, ..NetworkOptions::default() })?;
    let prepared = PreparedRequest::new(&request).map_err(|failure| failure.message)?.without_headers();
    let (request, prepared) = (Rc::new(request), Rc::new(prepared));
    let done = Rc::new(Cell::new((0u64, 0u64)));
    let end = clock.now() + seconds * 1_000_000_000;
    let cpu = thread_cpu_ns();
    let users: Vec<_> = (0..connections)
        .map(|_| {
            let client = Client::new(Rc::clone(&network), options.clone()).with_versions(versions);
            let (request, prepared, done) = (Rc::clone(&request), Rc::clone(&prepared), Rc::clone(&done));
            tokio::task::spawn_local(async move {
                loop {
                    let exchange = if built { client.send(&request).await } else { client.send_prepared(&prepared).await };
                    let (good, bad) = done.get();
                    let passed = matches!(&exchange.result, Ok(response) if response.status == 200);
                    done.set(if passed { (good + 1, bad) } else { (good, bad + 1) });
                    if exchange.ended >= end {
                        return;
                    }
                }
            })
        })
        .collect();
    let timers = tokio::task::spawn_local(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            clock.fire();
        }
    });
    for user in users {
        user.await?;
    }
    timers.abort();
    let (good, bad) = done.get();
    let cpu = thread_cpu_ns() - cpu;
    #[expect(clippy::print_stdout, reason = "the result of the program")]
    {
        println!(
            "{good} passed, {bad} failed, {:.3} µs CPU per request, {:?}",
            cpu as f64 / (good + bad).max(1) as f64 / 1e3,
            network.connections()
        );
    }
    Ok(())
}
