//! How long responses were unread, according to the kernel's own timestamps.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::rc::Rc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use loadstone_metrics::clock::Clock;
use loadstone_metrics::{GeneratorSlice, Histogram};
use loadstone_protocol::http::PreparedRequest;
use loadstone_protocol::{Network, NetworkOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::support::{Peer, client, get, passed, request, run, run_on, serve, shared};

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const HELD: Duration = Duration::from_millis(40);

/// The counts since the last call.
pub(crate) fn read_lag(network: &Network) -> Histogram {
    let mut slice = GeneratorSlice::default();
    network.count_into(&mut slice);
    slice.read_lag
}

/// Returns when the kernel stamps packets. It begins some time after the network has requested it.
pub(crate) async fn stamps(network: &Rc<Network>) {
    let address = serve(|mut peer, _| async move {
        while peer.request().await.is_some() {
            peer.send(ANSWER).await;
        }
    })
    .await;
    let client = client(network);
    while read_lag(network).is_empty() {
        passed(&client.send(&get(address, "/")).await);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Responds, and blocks the thread that server and client share. The response is unread at least for that time.
async fn answer_and_hold(mut peer: Peer, _: usize) {
    while peer.request().await.is_some() {
        peer.send(ANSWER).await;
        thread::sleep(HELD);
    }
}

#[test]
fn the_lag_of_an_unread_response_is_measured() {
    run(|network| async move {
        stamps(&network).await;
        let address = serve(answer_and_hold).await;
        let client = client(&network);
        for _ in 0..3 {
            let exchange = client.send(&get(address, "/")).await;
            passed(&exchange);
            let lags = read_lag(&network);
            assert_eq!(lags.count(), 1);
            let held = HELD.as_nanos() as u64;
            // The histogram's buckets are 0.4 % wide.
            assert!(lags.max() * 1004 / 1000 >= held && lags.max() <= exchange.phases.wait, "{} of {}", lags.max(), exchange.phases.wait);
        }
    });
}

#[test]
fn a_late_read_ends_at_its_arrival() {
    run(|network| async move {
        stamps(&network).await;
        network.allow_late_reads(true);
        let late: Rc<RefCell<Vec<u64>>> = shared();
        let (seen, asked) = (Rc::clone(&late), Rc::clone(&network));
        let address = serve(move |mut peer, _| {
            let (seen, asked) = (Rc::clone(&seen), Rc::clone(&asked));
            async move {
                while let Some(request) = peer.request().await {
                    seen.borrow_mut().push(asked.late_reads());
                    peer.send(if request.starts_with("GET /large") { large() } else { ANSWER.to_owned() }).await;
                    thread::sleep(HELD);
                }
            }
        })
        .await;
        let client = client(&network);
        let held = HELD.as_nanos() as u64;
        // The first request shows that the connection's responses are stamped and small. After a large one this must be shown again.
        for (path, is_late) in [("/", false), ("/", true), ("/", true), ("/large", true), ("/", false), ("/", true)] {
            let exchange = client.send(&get(address, path)).await;
            let now = network.clock().now();
            passed(&exchange);
            assert_eq!((late.borrow_mut().pop(), network.late_reads()), (Some(u64::from(is_late)), 0), "{path}");
            assert_eq!(read_lag(&network).max() == 0, is_late, "{path}");
            let ended = if path == "/large" { exchange.ended - exchange.phases.body } else { exchange.ended };
            assert!(ended >= exchange.started && (now - ended >= held) == is_late, "{path}: {} of {}", now - ended, now - exchange.started);
        }
    });
}

/// On a busy core, a response may have arrived before the clock was read for its request. In this test, the clock stands still while the response
/// waits, so it is read that late.
#[test]
fn a_response_ends_at_its_arrival_even_before_the_request_clock_read() {
    const MS: u64 = 1_000_000;
    let clock = Clock::virtual_time();
    clock.advance_to(1_000 * MS);
    run_on(clock, NetworkOptions::default(), |network| async move {
        stamps(&network).await;
        network.allow_late_reads(true);
        let address = serve(answer_and_hold).await;
        let client = client(&network);
        passed(&client.send(&get(address, "/")).await);
        let request = PreparedRequest::new(&get(address, "/")).unwrap();
        let exchange = client.send_prepared_at(&request, 0).await;
        passed(&exchange);
        let held = HELD.as_nanos() as u64;
        assert!(exchange.ended <= 1_000 * MS - held, "{} ms", exchange.ended / MS);
        assert_eq!(exchange.phases.wait, 0);
        // It was unread for longer than the request had been in progress: no response ends before its request began.
        let exchange = client.send_prepared_at(&request, 1_000 * MS - held / 2).await;
        assert_eq!((exchange.started, exchange.ended), (1_000 * MS - held / 2, 1_000 * MS - held / 2));
    });
}

/// Bytes cannot wait longer in the kernel than their call has lasted. In this test, the monotonic clock stands still instead of the wall clock being set
/// forwards: the difference between them changes in the same way.
#[test]
fn a_wall_clock_that_is_set_makes_no_read_late() {
    let clock = Clock::virtual_time();
    clock.advance_to(1_000_000_000);
    run_on(clock, NetworkOptions::default(), |network| async move {
        stamps(&network).await;
        network.allow_late_reads(true);
        let address = serve(|mut peer, _| async move {
            while peer.request().await.is_some() {
                peer.send(ANSWER).await;
                thread::sleep(Duration::from_millis(150));
            }
        })
        .await;
        let client = client(&network);
        let request = PreparedRequest::new(&get(address, "/")).unwrap();
        for _ in 0..2 {
            let exchange = client.send_prepared_at(&request, 990_000_000).await;
            passed(&exchange);
            assert_eq!((exchange.started, exchange.ended), (990_000_000, 1_000_000_000));
            assert_eq!(read_lag(&network).max(), 0);
        }
    });
}

/// More than may be unread.
fn large() -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n{}", "x".repeat(40_000))
}

#[test]
fn a_prompt_read_has_a_small_lag() {
    run(|network| async move {
        stamps(&network).await;
        let address = serve(|mut peer, _| async move {
            while peer.request().await.is_some() {
                peer.send(ANSWER).await;
            }
        })
        .await;
        let client = client(&network);
        for _ in 0..200 {
            passed(&client.send(&get(address, "/")).await);
        }
        let lags = read_lag(&network);
        // Even on a busy machine, some are read at once, and no other clock's offset is included.
        assert!(lags.count() == 200 && lags.min() < 1_000_000, "{} of {}", lags.min(), lags.count());
    });
}

#[test]
fn every_answer_of_every_connection_is_stamped_at_a_low_rate() {
    run(|network| async move {
        stamps(&network).await;
        let address = serve(answer_and_hold).await;
        for _ in 0..20 {
            let client = client(&network);
            for _ in 0..2 {
                passed(&client.send(&get(address, "/")).await);
            }
        }
        assert_eq!(read_lag(&network).count(), 40);
    });
}

#[test]
fn unexpected_bytes_are_not_late() {
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            for _ in 0..2 {
                peer.request().await;
                peer.send(ANSWER).await;
            }
            tokio::time::sleep(HELD).await;
            peer.send("unasked").await;
            peer.request().await;
        })
        .await;
        stamps(&network).await;
        let client = client(&network);
        for _ in 0..2 {
            passed(&client.send(&get(address, "/")).await);
        }
        assert_eq!(read_lag(&network).count(), 2);
        tokio::time::sleep(HELD * 3).await;
        // Finds the connection unusable, and opens another.
        let exchange = client.send(&get(address, "/")).await;
        assert!(exchange.connected);
        let lags = read_lag(&network);
        assert!(lags.count() == 1 && lags.max() <= exchange.phases.wait, "{} of {}", lags.max(), exchange.phases.wait);
    });
}

/// The event loop may have hundreds of other connections to open before it is notified of this one.
#[test]
fn a_request_is_sent_as_soon_as_the_kernel_has_connected() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    run(|network| async move {
        let (client, request) = (client(&network), get(address, "/"));
        let mut sending = Box::pin(client.send(&request));
        // The future is polled once, and the kernel's events are not polled.
        let first = poll_fn(|context| Poll::Ready(sending.as_mut().poll(context).is_pending())).await;
        assert!(first, "the response has not arrived yet");
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut head = [0; 4];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"GET ");
        stream.write_all(ANSWER.as_bytes()).unwrap();
        let exchange = sending.await;
        assert!(exchange.connected);
        passed(&exchange);
    });
}

/// Eight megabytes do not fit into the socket at once: the runtime writes the rest.
#[test]
fn a_large_first_request_arrives_completely() {
    run(|network| async move {
        let address = serve(|mut peer, _| async move {
            // Returns when the whole body has been read.
            while let Some(request) = peer.request().await {
                assert!(request.contains("Content-Length: 8388608"), "{request}");
                peer.send(ANSWER).await;
            }
        })
        .await;
        let client = client(&network);
        for _ in 0..2 {
            passed(&client.send(&request("PUT", address, "/", vec![b'x'; 8 << 20])).await);
        }
    });
}

/// A handshake whose first packet was dropped has no measurement, and the retransmission delay is not the generator's.
#[test]
fn a_retransmitted_handshake_is_not_a_late_read() {
    run(|network| async move {
        stamps(&network).await;
        // Room for one connection that has not been accepted, plus one (listen(2)).
        let listener = tokio::net::TcpSocket::new_v4().unwrap();
        listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let full = tokio::net::TcpStream::connect(address).await.unwrap();
        let client = client(&network);
        let asked = get(address, "/");
        let answering = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let (_full, _) = listener.accept().await.unwrap();
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_exact(&mut [0; 4]).await.unwrap();
            stream.write_all(ANSWER.as_bytes()).await.unwrap();
            stream
        };
        let (exchange, _stream) = futures_util::join!(client.send(&asked), answering);
        drop(full);
        passed(&exchange);
        // Linux retransmits it after a second.
        assert!(exchange.phases.connect > 500_000_000, "{:?}", exchange.phases);
        let lags = read_lag(&network);
        assert!(lags.count() == 1 && lags.max() <= exchange.phases.wait, "{} of {}", lags.max(), lags.count());
    });
}

#[test]
fn connections_are_counted_between_two_calls() {
    run(|network| async move {
        let address = serve(answer_and_hold).await;
        let counted = |network: &Rc<Network>| {
            let mut slice = GeneratorSlice::default();
            network.count_into(&mut slice);
            (slice.connections, slice.connections_opened)
        };
        let first = client(&network);
        passed(&first.send(&get(address, "/")).await);
        let second = client(&network);
        passed(&second.send(&get(address, "/")).await);
        assert_eq!(counted(&network), (2, 2));
        drop(first);
        assert_eq!(counted(&network), (1, 0));
    });
}

#[test]
fn bytes_count_on_arrival_and_not_at_the_end_of_the_response() {
    run(|network| async move {
        let go_on = Rc::new(tokio::sync::Notify::new());
        let rest = Rc::clone(&go_on);
        let address = serve(move |mut peer, _| {
            let rest = Rc::clone(&rest);
            async move {
                peer.request().await;
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n").await;
                peer.send(vec![b'x'; 3000]).await;
                rest.notified().await;
                peer.send(vec![b'x'; 2000]).await;
                peer.request().await;
            }
        })
        .await;
        let received = |network: &Rc<Network>| {
            let mut slice = GeneratorSlice::default();
            network.count_into(&mut slice);
            slice.bytes_received
        };
        let client = client(&network);
        let request = get(address, "/");
        let mut exchange = std::pin::pin!(client.send(&request));
        let mut read = 0;
        while read < 3000 {
            let pending = tokio::time::timeout(Duration::from_millis(5), exchange.as_mut()).await;
            assert!(pending.is_err(), "the response has not ended");
            read += received(&network);
        }
        go_on.notify_one();
        let exchange = exchange.await;
        passed(&exchange);
        assert_eq!(read + received(&network), exchange.bytes_received);
    });
}
