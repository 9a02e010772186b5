//! The truth server follows its rule. Only lower bounds on time are asserted: on a busy machine its log shows how late it was.

use loadstone_stub::now_ns;
use loadstone_stub::truth::{Pattern, Truth, TruthOptions, TruthServer};

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
fn requests_before_the_rule_begins_are_answered_at_once_and_not_logged() {
    let pattern = Pattern::Phases { fast_ns: 0, slow_ns: 50_000_000, every_ns: 1 << 60, slow_for_ns: 1 << 60 };
    let options = TruthOptions { lead_ns: 100_000_000, ..TruthOptions::default() };
    let server = TruthServer::start(Truth::Timed { pattern, servers: None }, options).unwrap();
    let address = server.address();
    let (mut sent, mut early, mut late) = (0_u64, 0, 0);
    client::run(async {
        let first_ns = now_ns();
        while late < 3 {
            let sent_ns = now_ns();
            client::once(address, "GET", "/", "").await;
            sent += 1;
            let ended_ns = now_ns();
            // Between the two, only the server knows whether it had begun.
            early += u64::from(ended_ns < first_ns + 100_000_000);
            if sent_ns >= first_ns + 200_000_000 {
                assert!(ended_ns - sent_ns >= 50_000_000);
                late += 1;
            }
        }
    });
    let report = server.report();
    assert!(early > 0 && report["requests"].as_u64().unwrap() <= sent - early, "{early} of {sent}: {report}");
    assert!((report["asked_ns"]["min"].as_f64().unwrap() / 50e6 - 1.0).abs() < 0.01, "{report}");
    assert_eq!(report["requests"], report["answered"]);
}

/// Two servers of 40 ms each, and six requests at once: they depart in three pairs.
#[test]
fn a_pattern_with_few_servers_forms_a_queue() {
    let pattern = Pattern::Phases { fast_ns: 40_000_000, slow_ns: 0, every_ns: 0, slow_for_ns: 0 };
    let server = TruthServer::start(Truth::Timed { pattern, servers: Some(2) }, TruthOptions::default()).unwrap();
    let address = server.address();
    client::run(async {
        let calls: Vec<_> = (0..6).map(|_| tokio::spawn(client::once(address, "GET", "/", ""))).collect();
        for call in calls {
            assert_eq!(call.await.unwrap().status(), 200);
        }
    });
    let report = server.report();
    let span_ns = report["last_arrival_ns"].as_f64().unwrap() - report["first_arrival_ns"].as_f64().unwrap();
    let max_ns = report["asked_ns"]["max"].as_f64().unwrap();
    assert!((120e6 - span_ns..120e6 * 1.01).contains(&max_ns), "{report}");
}

#[test]
fn a_connection_of_http2_offers_only_the_streams_that_it_has() {
    let pattern = Pattern::Phases { fast_ns: 100_000_000, slow_ns: 0, every_ns: 0, slow_for_ns: 0 };
    let options = TruthOptions { streams_max: Some(2), ..TruthOptions::default() };
    let server = TruthServer::start(Truth::Timed { pattern, servers: None }, options).unwrap();
    let address = server.address();
    client::run(async {
        let mut sender = client::connect_http2(address).await;
        // Its answer shows that the server's settings have arrived.
        client::read(sender.send_request(client::request("GET", "http://stub/", "")).await.unwrap()).await;
        let calls: Vec<_> = (0..4)
            .map(|_| {
                let mut sender = sender.clone();
                tokio::spawn(
                    async move { client::read(sender.send_request(client::request("GET", "http://stub/", "")).await.unwrap()).await },
                )
            })
            .collect();
        for call in calls {
            assert_eq!(call.await.unwrap().status(), 200);
        }
    });
    let report = server.report();
    // One request, then two, then the last two after an answer.
    let span_ns = report["last_arrival_ns"].as_u64().unwrap() - report["first_arrival_ns"].as_u64().unwrap();
    assert!(span_ns >= 200_000_000, "{report}");
}

#[test]
fn an_invalid_description_is_rejected() {
    let truth = Truth::Queue { servers: 2, service: "often".to_owned() };
    assert!(TruthServer::start(truth, TruthOptions::default()).unwrap_err().to_string().contains("often"));
}
