//! Limits as clients observe them. Lower bounds on time hold on any machine; upper bounds are not asserted.

use loadstone_stub::{Behaviour, BodySource, Concurrency, Server, Wait, now_ns};

use crate::client;

/// Calls once from each of `count` connections at the same time. Returns the statuses and the elapsed time.
async fn burst(server: &Server, count: usize) -> (Vec<u16>, u64) {
    let started = now_ns();
    let calls: Vec<_> = (0..count).map(|_| tokio::spawn(client::once(server.address(), "GET", "/", ""))).collect();
    let mut statuses = Vec::new();
    for call in calls {
        statuses.push(call.await.unwrap().status().as_u16());
    }
    (statuses, now_ns() - started)
}

#[test]
fn requests_beyond_a_concurrency_limit_wait() {
    let server = Server::builder().route("GET /", Behaviour::new().wait(Wait::fixed_ns(20_000_000)).concurrency(3)).start().unwrap();
    let (statuses, took_ns) = client::run(burst(&server, 12));
    assert!(statuses.iter().all(|status| *status == 200));
    assert!(took_ns >= 80_000_000, "{took_ns}");
}

#[test]
fn a_concurrency_limit_with_a_short_queue_rejects() {
    let mut behaviour = Behaviour::new().wait(Wait::fixed_ns(500_000_000));
    behaviour.concurrency = Some(Concurrency { most: 2, queue_most: 3, status: 503 });
    let server = Server::builder().route("GET /", behaviour).start().unwrap();
    let (statuses, _) = client::run(burst(&server, 12));
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 5, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 503).count(), 7, "{statuses:?}");
}

/// All twenty requests are in the server. The four admitted ones hold their permits until they are answered.
#[test]
fn the_limit_is_never_exceeded() {
    let (calls, mut receiver) = tokio::sync::mpsc::channel::<loadstone_stub::Call>(64);
    let server = Server::builder().route("GET /", Behaviour { calls: Some(calls), ..Behaviour::new().concurrency(4) }).start().unwrap();
    std::thread::scope(|scope| {
        let clients = scope.spawn(|| client::run(burst(&server, 20)).0);
        while server.recording().in_flight < 20 {
            std::thread::yield_now();
        }
        let mut inside: Vec<_> = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
        assert_eq!(inside.len(), 4);
        for answered in 1..=20 {
            inside.remove(0).answer.send(loadstone_stub::Reply::default()).unwrap();
            if answered <= 16 {
                inside.push(receiver.blocking_recv().unwrap());
                assert!(receiver.is_empty(), "one permit was returned, and more than one request took it");
            }
        }
        assert_eq!(clients.join().unwrap(), [200; 20]);
    });
}

#[test]
fn a_rate_limit_sets_retry_after() {
    let server = Server::builder().route("GET /", Behaviour::new().rate_limit(2.0)).start().unwrap();
    client::run(async {
        let mut sender = client::connect(server.address()).await;
        let (mut passed, mut turned_away) = (0u64, 0);
        let started = now_ns();
        while turned_away < 50 {
            let answer = sender.send_request(client::request("GET", "/", "")).await.unwrap();
            match answer.status().as_u16() {
                200 => passed += 1,
                429 => {
                    assert_eq!(answer.headers()["retry-after"], "1");
                    turned_away += 1;
                }
                other => panic!("{other}"),
            }
            client::read(answer).await;
        }
        let seconds = (now_ns() - started) as f64 / 1e9;
        assert!(passed >= 1 && passed as f64 <= 1.0 + 2.0 * seconds, "{passed} in {seconds} s");
    });
}

#[test]
fn slow_bodies_and_shared_bandwidth_take_their_time() {
    let slow = Server::builder().route("GET /", Behaviour::new().body(BodySource::Size(1_000)).pace(250, 10_000_000)).start().unwrap();
    let (_, took_ns) = client::run(burst(&slow, 1));
    assert!(took_ns >= 30_000_000, "{took_ns}");
    // Four bodies of 50,000 bytes over one link of 1 MB/s.
    let link = Server::builder().route("GET /", Behaviour::new().body(BodySource::Size(50_000)).bandwidth(1_000_000)).start().unwrap();
    let (statuses, took_ns) = client::run(burst(&link, 4));
    assert_eq!(statuses, [200; 4]);
    assert!(took_ns >= 200_000_000, "{took_ns}");
}
