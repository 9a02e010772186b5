//! The truth server follows its rule. Only lower bounds on time are asserted: on a busy machine its log shows how late it was.

use loadstone_stub::now_ns;
use loadstone_stub::truth::{Truth, TruthOptions, TruthServer};

use crate::client;

#[test]
fn a_stall_delays_all_requests_until_its_end() {
    let truth = Truth::Stall { after_ns: 50_000_000, length_ns: 100_000_000 };
    let server = TruthServer::start(truth, TruthOptions::default()).unwrap();
    let address = server.address();
    client::run(async {
        client::once(address, "GET", "/", "").await;
        // Both sides read the same clock, so the stall's bounds are known exactly.
        let begin_ns = server.report()["first_arrival_ns"].as_u64().unwrap() + 50_000_000;
        let end_ns = begin_ns + 100_000_000;
        while now_ns() < end_ns + 20_000_000 {
            let sent_ns = now_ns();
            let calls: Vec<_> = (0..3).map(|_| tokio::spawn(client::once(address, "GET", "/", ""))).collect();
            for call in calls {
                assert_eq!(client::text(&call.await.unwrap()), "ok\n");
            }
            assert!(sent_ns < begin_ns || now_ns() >= end_ns, "sent and answered inside the stall");
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    });
    let report = server.report();
    assert_eq!(report["requests"], report["answered"]);
    let asked_max = report["asked_ns"]["max"].as_u64().unwrap();
    assert!(asked_max <= 100_200_000, "{report}");
}

#[test]
fn a_single_server_answers_one_after_another() {
    let server = TruthServer::start(Truth::SingleServer { mean_service_ns: 2_000_000 }, TruthOptions::default()).unwrap();
    let address = server.address();
    client::run(async {
        let calls: Vec<_> = (0..100).map(|_| tokio::spawn(client::once(address, "GET", "/", ""))).collect();
        for call in calls {
            assert_eq!(call.await.unwrap().status(), 200);
        }
        let report = client::json(&client::once(address, "GET", "/truth", "").await);
        assert_eq!((report["requests"].as_u64(), report["answered"].as_u64()), (Some(100), Some(100)));
        // It never answers before the queue's rule allows it.
        for q in ["min", "p50", "p99", "max"] {
            let of = |kind: &str| report[kind][q].as_f64().unwrap();
            assert!(of("done_ns") >= of("asked_ns") * 0.998, "{q}: {report}");
        }
        assert!(client::once(address, "DELETE", "/truth", "").await.body().is_empty());
        assert_eq!(client::json(&client::once(address, "GET", "/truth", "").await)["requests"], 0);
    });
}

#[test]
fn bimodal_delays_and_slow_bodies_are_never_early() {
    let truth = Truth::Bimodal { fast: "1ms".to_owned(), slow: "20ms".to_owned(), slow_share: 0.25 };
    let server = TruthServer::start(truth, TruthOptions::default()).unwrap();
    let slow = Truth::SlowBody { bytes: 1000, piece_bytes: 300, pause_ns: 10_000_000 };
    let slow = TruthServer::start(slow, TruthOptions::default()).unwrap();
    client::run(async {
        let mut sender = client::connect(server.address()).await;
        let mut slow_ones = 0;
        for _ in 0..200 {
            let started = now_ns();
            client::read(sender.send_request(client::request("GET", "/", "")).await.unwrap()).await;
            assert!(now_ns() - started >= 1_000_000);
            slow_ones += u32::from(now_ns() - started >= 20_000_000);
        }
        // Binomial(200, ¼): at least 50 − 5·6.1.
        assert!(slow_ones >= 19, "{slow_ones}");
        let started = now_ns();
        let answer = client::once(slow.address(), "GET", "/", "").await;
        assert_eq!(answer.body().len(), 1000);
        assert!(now_ns() - started >= 30_000_000);
    });
    let p50 = server.report()["asked_ns"]["p50"].as_f64().unwrap();
    assert!((p50 / 1e6 - 1.0).abs() < 0.01, "{p50}");
}

#[test]
fn an_invalid_description_is_rejected() {
    let truth = Truth::Queue { servers: 2, service: "often".to_owned() };
    assert!(TruthServer::start(truth, TruthOptions::default()).unwrap_err().to_string().contains("often"));
}
