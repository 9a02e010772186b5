//! Findings on targets with known limits, and on targets without limits. A false accusation counts as much as a miss.

use loadstone_analysis::{Confidence, Finding, Findings, conclude};
use loadstone_plan::{Aggregate, Comparison, LoadProfile, Metric, TestLanguage, Timing};

use crate::simulation::{Service, Step, Target, UNLIMITED, ramp, simulate, step, users};
use crate::synthetic::{self, SECOND, Slice};

fn find(target: &Target, profile: LoadProfile, seed: u64) -> Findings {
    conclude(&simulate(target, profile, seed)).verdict.findings
}

fn pool(findings: &Findings) -> Option<&Finding> {
    findings.findings.iter().find(|finding| finding.rule == "effective-concurrency")
}

/// "Products" responds in 3 ms without a limit; "Checkout" holds one of `slots` for a time.
fn shop(slots: usize, service: Service) -> Target {
    let steps = vec![step("GET /products", 0, Service::Exponential(0.003)), step("POST /checkout", 1, service)];
    Target { slots: vec![UNLIMITED, slots], steps }
}

#[test]
fn a_pool_is_named_with_its_size_under_open_and_closed_load() {
    let (mut cases, mut held) = (0, 0);
    for (slots, service) in [(1, 0.02), (2, 0.02), (4, 0.04), (10, 0.1)] {
        let capacity = slots as f64 / service;
        for shape in [Service::Fixed(service), Service::Exponential(service), Service::LogUniform(service * 0.25, service * 2.2)] {
            for (index, profile) in [
                ramp(capacity * 0.05, capacity * 1.6, 60, Timing::Even),
                ramp(capacity * 0.05, capacity * 1.6, 60, Timing::Poisson),
                users(1, slots as u64 * 6, 60),
            ]
            .into_iter()
            .enumerate()
            {
                let findings = find(&shop(slots, shape), profile, 7 + index as u64);
                let finding =
                    pool(&findings).unwrap_or_else(|| panic!("{slots} slots of {shape:?}, profile {index}: {}", findings.remark.text));
                assert!(finding.claim.contains("\"POST /checkout\"") && !finding.claim.contains("products"), "{}", finding.claim);
                assert!(finding.confidence >= Confidence::Medium, "{slots} {shape:?} {index}: {finding:?}");
                let (estimate, low, high) = estimate(finding);
                let truth = slots as f64;
                assert!((estimate - truth).abs() <= 0.35 * truth, "{slots} {shape:?} {index}: {}", finding.evidence[0].text);
                cases += 1;
                // Some waiting under low load, and half a millisecond around the slot, count as service time.
                held += u32::from(low <= truth * 1.1 && truth * 0.95 <= high);
            }
        }
    }
    assert!(held * 100 >= cases * 90, "the interval held the truth in {held} of {cases}");
}

/// The estimate and its interval, from `… = 4.0 (95 % interval 3.9–4.2)`.
fn estimate(finding: &Finding) -> (f64, f64, f64) {
    let text = &finding.evidence[0].text;
    let (_, tail) = text.split_once("without waiting = ").unwrap();
    let (estimate, interval) = tail.split_once(" (95 % interval ").unwrap();
    let (low, high) = interval.trim_end_matches(')').split_once('–').unwrap();
    (estimate.parse().unwrap(), low.parse().unwrap(), high.parse().unwrap())
}

fn demo() -> Target {
    let steps = vec![
        step("GET /products", 0, Service::Fixed(0.003)),
        step("GET /search", 0, Service::LogUniform(0.02, 0.8)),
        step("POST /carts", 0, Service::Fixed(0.004)),
        step("POST /checkout", 1, Service::Fixed(0.04)),
    ];
    Target { slots: vec![UNLIMITED, 4], steps }
}

#[test]
fn the_limit_of_the_demo_shop_is_found() {
    let (mut cases, mut found, mut sure, mut plain) = (0, 0, 0, 0);
    for seed in 0..20 {
        for profile in [
            ramp(10.0, 140.0, 40, Timing::Even),
            ramp(10.0, 140.0, 40, Timing::Poisson),
            ramp(20.0, 160.0, 30, Timing::Poisson),
            ramp(20.0, 120.0, 30, Timing::Even),
        ] {
            let label = format!("{profile:?} {seed}");
            let findings = find(&demo(), profile, seed);
            cases += 1;
            let limit = findings.findings.first().filter(|finding| finding.rule == "throughput-limit");
            if let Some(rate) = limit.and_then(|limit| limit.quantities.iter().find(|quantity| quantity.name == "throughput")) {
                // A hundred checkouts, and the three other requests of each visit.
                assert!((rate.value / 400.0 - 1.0).abs() < 0.1, "{label}: {}", rate.value);
                continue;
            }
            let Some(finding) = pool(&findings) else {
                // If random arrivals remain below the limit until the end, there is less evidence.
                assert!(findings.remark.text.starts_with("Cannot tell"), "{label}: {}", findings.remark);
                continue;
            };
            found += 1;
            // The plateau of this request is the evidence, in each run. A second estimate from all requests was there in some.
            assert!(finding.evidence.len() == 1, "{label}: {:?}", finding.evidence);
            // With a wider interval, four places that are held all the time cannot be distinguished from fewer.
            let others = finding.claim.strip_prefix("\"POST /checkout\" is served about 4 at a time: a pool, lock or limit of that size");
            let others = others
                .and_then(|rest| rest.strip_suffix(" is in the request path"))
                .unwrap_or_else(|| panic!("{label}: {}", finding.claim));
            const PART: &str = ", or fewer places that are held for part of the time,";
            const PART_OR_RATE: &str = ", fewer places that are held for part of the time, or a rate limit that delays,";
            assert!(["", PART, PART_OR_RATE].contains(&others) && findings.findings.len() == 1, "{label}: {}", finding.claim);
            plain += u32::from(others.is_empty());
            // A few seconds do not show how evenly requests pass.
            let limit =
                finding.alternatives.iter().any(|other| other.text.starts_with("A rate limit of") && other.text.contains("Not ruled out"));
            assert!(finding.confidence == if limit { Confidence::Medium } else { Confidence::High }, "{label}: {finding:?}");
            assert_eq!(finding.claim.contains("rate limit"), limit, "{label}: {finding:?}");
            sure += u32::from(!limit);
            assert!(
                finding.alternatives[0].text.starts_with("A saturated CPU, which would slow down every request. Ruled out: "),
                "{finding:?}"
            );
        }
    }
    // A few remain undecided because the search, which takes 0.02 to 0.8 s by itself, varies by as much as all others wait: it may wait
    // with them.
    assert!(found * 100 >= cases * 93, "{found} of {cases}");
    assert!(plain * 2 >= found, "{plain} of {found} without others");
    assert!(sure * 100 >= found * 75, "{sure} of {found}");
}

#[test]
fn requests_that_share_a_pool_are_named_together() {
    let steps = vec![
        step("GET /health", 0, Service::Fixed(0.001)),
        step("GET /version", 0, Service::Fixed(0.001)),
        step("GET /orders", 1, Service::Exponential(0.02)),
        step("POST /orders", 1, Service::Exponential(0.03)),
    ];
    let target = Target { slots: vec![UNLIMITED, 5], steps };
    let findings = find(&target, ramp(5.0, 160.0, 60, Timing::Poisson), 11);
    let finding = pool(&findings).expect("the shared pool");
    assert!(
        finding.claim.starts_with("\"GET /orders\" and \"POST /orders\" are together served about 5 to 6 at a time"),
        "{}",
        finding.claim
    );
    assert!(finding.confidence >= Confidence::Medium);
}

#[test]
fn a_single_request_is_only_a_low_confidence_claim_with_the_cpu_not_ruled_out() {
    let target = Target { slots: vec![3], steps: vec![step("GET /", 0, Service::Exponential(0.03))] };
    let findings = find(&target, ramp(5.0, 160.0, 60, Timing::Poisson), 5);
    let finding = pool(&findings).expect("an effective concurrency");
    assert!(finding.claim.starts_with("\"GET /\" is served about 3"), "{}", finding.claim);
    assert!(
        finding.claim.ends_with("or fewer places that are held for part of the time, are in the request path")
            && finding.confidence == Confidence::Low,
        "{}",
        finding.claim
    );
    assert!(finding.alternatives[0].text.contains("Not ruled out"), "{:?}", finding.alternatives);
}

fn delays(service: Service) -> Target {
    let steps = vec![step("GET /products", 0, Service::Exponential(0.003)), step("POST /checkout", 0, service)];
    Target { slots: vec![UNLIMITED], steps }
}

#[test]
fn slow_bimodal_and_random_targets_have_no_finding() {
    for service in [
        Service::Fixed(0.8),
        Service::Exponential(0.3),
        Service::Bimodal(0.05, 0.02, 1.0),
        Service::Bimodal(0.5, 0.001, 0.4),
        Service::LogUniform(0.01, 2.0),
    ] {
        for seed in 0..10 {
            for profile in
                [ramp(5.0, 150.0, 60, Timing::Poisson), ramp(100.0, 100.0, 60, Timing::Even), users(1, 60, 60), users(30, 30, 60)]
            {
                let label = format!("{service:?} {profile:?} {seed}");
                let findings = find(&delays(service), profile, seed);
                // That one in twenty takes fifty times as long is true, but no cause.
                let two_kinds = matches!(service, Service::Bimodal(share, ..) if share < 0.2);
                let others: Vec<&str> = findings.findings.iter().map(|finding| finding.rule.as_str()).collect();
                assert!(others.iter().all(|rule| two_kinds && *rule == "two-kinds"), "{label}: {:?}", findings.findings);
                assert!(!others.is_empty() || !findings.remark.text.is_empty(), "{label}");
            }
        }
    }
}

#[test]
fn a_saturated_processor_is_not_reported_as_a_pool() {
    // All requests are served by the same two cores.
    let steps: Vec<Step> = vec![
        step("GET /products", 0, Service::Exponential(0.004)),
        step("GET /products/:id", 0, Service::Exponential(0.002)),
        step("POST /checkout", 0, Service::Exponential(0.012)),
    ];
    let target = Target { slots: vec![2], steps };
    for seed in 0..10 {
        for profile in [ramp(5.0, 180.0, 60, Timing::Poisson), ramp(5.0, 105.0, 60, Timing::Poisson), users(1, 30, 60)] {
            let label = format!("{profile:?} {seed}");
            let findings = find(&target, profile, seed);
            // The number of concurrent requests is correct for cores as well, and they are listed as an alternative.
            for finding in findings.findings.iter().filter(|finding| finding.rule != "throughput-limit") {
                let is_guess =
                    finding.confidence == Confidence::Low && finding.claim.contains("at a time") && finding.claim.contains("or cores of");
                assert!(is_guess && finding.alternatives[0].text.contains("Not ruled out"), "{label}: {finding:?}");
            }
            assert!(!findings.findings.is_empty() || findings.remark.text.starts_with("Cannot tell"), "{label}: {}", findings.remark.text);
        }
    }
}

#[test]
fn a_request_served_elsewhere_does_not_turn_a_saturated_processor_into_a_pool() {
    let steps = vec![
        step("GET /logo.png", 1, Service::Fixed(0.001)),
        step("GET /products", 0, Service::Exponential(0.004)),
        step("GET /products/:id", 0, Service::Exponential(0.002)),
        step("POST /checkout", 0, Service::Exponential(0.012)),
    ];
    let target = Target { slots: vec![2, UNLIMITED], steps };
    for seed in 0..10 {
        for profile in [ramp(5.0, 180.0, 60, Timing::Poisson), users(1, 30, 60)] {
            for finding in find(&target, profile, seed).findings {
                // That throughput stops is true: 18 ms of two cores for each visit of four requests.
                if finding.rule == "throughput-limit" {
                    let rate = finding.quantities.iter().find(|quantity| quantity.name == "throughput").unwrap().value;
                    assert!((rate / 444.0 - 1.0).abs() < 0.1, "{}", finding.claim);
                    continue;
                }
                assert!(finding.confidence == Confidence::Low && finding.claim.contains("or cores of that number"), "{}", finding.claim);
                assert!(finding.alternatives[0].text.contains("Not ruled out"), "{:?}", finding.alternatives);
            }
        }
    }
}

#[test]
fn a_target_that_follows_the_load_is_reported_without_limit() {
    for profile in [ramp(5.0, 150.0, 60, Timing::Poisson), ramp(5.0, 150.0, 60, Timing::Even), users(1, 60, 60)] {
        let findings = find(&delays(Service::Exponential(0.03)), profile, 1);
        assert!(
            findings.remark.text.starts_with("No limit was reached at this load: throughput followed the load"),
            "{}",
            findings.remark.text
        );
    }
    let constant = find(&delays(Service::Exponential(0.03)), ramp(100.0, 100.0, 60, Timing::Even), 1);
    assert!(constant.remark.text.contains("Only a higher load shows where the limit is"), "{}", constant.remark);
    let closed = find(&delays(Service::Exponential(0.03)), users(30, 30, 60), 1);
    assert!(closed.remark.text.starts_with("No limit was reached up to "), "{}", closed.remark);
}

/// No line of the advice after a run of a k6 script is one of a test file.
#[test]
fn advice_is_in_the_terms_in_which_the_run_is_defined() {
    let remark = |file: Option<&str>, language, observers| {
        let mut run = simulate(&delays(Service::Exponential(0.03)), users(30, 30, 60), 1);
        run.info.file = file.map(str::to_owned);
        (run.plan.language, run.plan.observers) = (language, observers);
        conclude(&run).verdict.findings.remark.text
    };
    let k6 = remark(Some("load/shop.js"), TestLanguage::K6, Vec::new());
    let lines =
        "`import { observe } from \"loadstone\"; export default { observe: [observe.process({ port: 8080 })] };` in load/shop.system.ts";
    assert!(k6.contains(lines) && k6.contains("`--vus 3 --stage 2m:60 --stage 1m:60`"), "{k6}");
    assert!(!k6.contains("users(") && !k6.contains(".run("), "{k6}");
    let with_file = remark(Some("shop.js"), TestLanguage::K6, vec![serde_json::json!({ "kind": "host" })]);
    assert!(with_file.contains("`observe: [observe.process({ port: 8080 })]` in the file of --with"), "{with_file}");
    let test_file = remark(Some("shop.load.ts"), TestLanguage::Loadstone, Vec::new());
    assert!(test_file.contains("`observe: [observe.process({ port: 8080 })]`, with the port"), "{test_file}");
    assert!(test_file.contains("`.run(users.ramp(3, 60)"), "{test_file}");
    let url = remark(None, TestLanguage::Loadstone, Vec::new());
    assert!(url.contains("`--process 8080`") && url.contains("`--users 60 --ramp 2m --for 1m`"), "{url}");
}

/// Twenty seconds of random arrivals: a few seconds of low load are no more certain than the same number of high load.
#[test]
fn a_healthy_target_is_reported_as_healthy_even_after_a_short_ramp() {
    let mut reported = 0;
    for seed in 0..40 {
        let findings = find(&delays(Service::Exponential(0.03)), ramp(4.0, 40.0, 24, Timing::Poisson), seed);
        assert!(findings.findings.is_empty(), "{seed}: {}", findings.findings[0].claim);
        reported += usize::from(findings.remark.text.starts_with("No limit was reached at this load"));
    }
    assert!(reported >= 36, "{reported} of 40");
}

#[test]
fn a_generator_at_its_limit_ranks_before_the_target() {
    let slices = (0..60).map(|second| {
        let slice = Slice::new(second).requests("A", 80, 10 * synthetic::MS).leaf(|leaf| {
            (leaf.arrivals_due, leaf.started, leaf.ended) = (100, 80, 80);
        });
        slice.generator(|generator| generator.busy_ns = SECOND / 100 * 99).done()
    });
    let findings = conclude(&synthetic::run_of(synthetic::plan(synthetic::open(100.0, 60)), slices.collect())).verdict.findings;
    assert_eq!(findings.findings[0].rule, "generator");
    let evidence: Vec<&str> = findings.findings[0].evidence.iter().map(|evidence| evidence.text.as_str()).collect();
    assert!(evidence[0].contains("reached its limit at 80/s of 100/s"), "{evidence:?}");
    assert!(evidence.iter().any(|text| text.starts_with("Generator CPU: ")), "{evidence:?}");
}

#[test]
fn a_small_lag_on_a_fast_target_is_no_finding() {
    // 40 requests per second to a server that takes 2 ms. One in ten starts 315 µs late, and responses are read 60 µs late.
    let slices = (0..60).map(|second| {
        let slice = (0..40).fold(Slice::new(second).arrivals(40), |slice, n| {
            slice.request(
                "A",
                if n % 10 == 0 { 315_000 } else { 90_000 },
                2 * synthetic::MS + n * 1_000,
                loadstone_metrics::Outcome::Passed,
            )
        });
        slice.generator(|generator| generator.read_lag.record_n(60_000, 40)).done()
    });
    let verdict = conclude(&synthetic::run_of(synthetic::plan(synthetic::open(40.0, 60)), slices.collect())).verdict;
    assert_eq!(verdict.validity.grade, loadstone_analysis::Grade::Valid);
    assert!(verdict.findings.findings.iter().all(|finding| finding.rule != "generator"), "{:?}", verdict.findings);
}

#[test]
fn a_generator_that_causes_some_uncertainty_is_no_limit() {
    let mut run = simulate(&demo(), ramp(10.0, 140.0, 40, Timing::Poisson), 3);
    let target_alone = conclude(&run).verdict.findings.findings[0].rule.clone();
    // One in twenty responses is read 40 ms late throughout: much for a fast request, negligible next to waits of a second.
    for slice in &mut run.slices {
        let requests: u64 =
            slice.series.iter().filter(|series| series.key.kind == loadstone_metrics::SeriesKind::Request).map(|series| series.count).sum();
        slice.generator[0].read_lag.record_n(20_000, requests - requests / 20);
        slice.generator[0].read_lag.record_n(40 * synthetic::MS, requests / 20);
    }
    let summary = conclude(&run);
    let rules: Vec<&str> = summary.verdict.findings.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert!(summary.requests.iter().any(|row| row.response.percentiles.iter().any(|percentile| percentile.uncertainty.is_some())));
    assert!(target_alone == rules[0], "{rules:?}");
    assert!(!rules.contains(&"generator"), "{rules:?}");
}

/// The complete verdict on the demo, as displayed.
#[test]
fn the_verdict_on_the_demo_reads_well() {
    let mut run = simulate(&demo(), ramp(10.0, 140.0, 40, Timing::Poisson), 3);
    run.plan.thresholds = vec![
        synthetic::threshold(Metric::ResponseTime, Aggregate::Quantile(0.99), Comparison::Below, 0.5),
        synthetic::threshold(Metric::Failures, Aggregate::Rate, Comparison::Below, 0.01),
    ];
    let verdict = conclude(&run).verdict;
    let mut text = format!("{:?}\n", verdict.validity.grade);
    for check in &verdict.validity.checks {
        text.push_str(&format!("  {:<16} {:?}: {}\n", check.id, check.grade, check.evidence));
    }
    for result in &verdict.thresholds {
        text.push_str(&format!("{:?}: {}\n", result.state, result.detail));
    }
    text.push_str(&verdict.findings.remark.text);
    for finding in &verdict.findings.findings {
        text.push_str(&format!("{:?}: {}\n", finding.confidence, finding.claim));
        finding.evidence.iter().for_each(|evidence| text.push_str(&format!("  evidence: {}\n", evidence.text)));
        finding.alternatives.iter().for_each(|alternative| text.push_str(&format!("  or: {alternative}\n")));
        text.push_str(&format!("  next: {}\n", finding.next));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn if_closed_load_was_never_low_the_places_have_a_bound() {
    let (mut reported, mut cases, mut numbered) = (0, 0, 0);
    for slots in 1..=4_usize {
        for (service, is_fixed) in [(Service::Fixed(0.7), true), (Service::Exponential(0.7), false), (Service::LogUniform(0.2, 1.6), false)]
        {
            for seed in 0..4 {
                let steps = vec![step("GET /read", 0, Service::Fixed(1.0)), step("POST /checkout", 1, service)];
                let target = Target { slots: vec![UNLIMITED, slots], steps };
                // Two or three more users than places, from the start.
                let found = find(&target, users(2 * slots as u64 + 2, 40, 60), seed);
                cases += u32::from(is_fixed);
                let Some(claim) = pool(&found).map(|finding| finding.claim.clone()) else { continue };
                let Some((served, rest)) = claim.split_once(", and throughput stops at ") else { continue };
                assert!(claim.starts_with("\"POST /checkout\" is served ") && rest.contains("/s however many users there are"), "{claim}");
                let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap();
                let number = |before: &str| served.split_once(before).map(|(_, rest)| digits(rest));
                let (places, bound): (Option<usize>, Option<usize>) = (number("about "), number("at most "));
                assert!(bound.or(places).unwrap() >= slots, "{slots} {service:?}: {claim}");
                // If every request holds its place for the same time, the first requests show that time.
                assert!(places.is_none_or(|places| places == slots), "{slots} {service:?}: {claim}");
                numbered += u32::from(is_fixed && places.is_some());
                assert_eq!(pool(&found).unwrap().confidence, Confidence::Low);
                reported += u32::from(is_fixed);
            }
        }
    }
    assert!(reported * 2 >= cases && numbered * 2 >= cases, "reported in {reported} of {cases}, with a number in {numbered}");
}

/// Every request holds a place for the same time, and closed load fills all places from its first step: the fastest requests determine the
/// number of places.
#[test]
fn places_that_are_full_from_the_start_are_counted_if_all_requests_take_the_same_time() {
    let (mut reported, mut cases) = (0, 0);
    for slots in 2..=4_usize {
        for seed in 0..4 {
            cases += 1;
            let steps = vec![step("GET /list", 0, Service::Fixed(0.1)), step("GET /item", 0, Service::Fixed(0.1))];
            let target = Target { slots: vec![slots], steps };
            let found = find(&target, users(3, 40, 24), seed);
            let Some(limit) = found.findings.iter().find(|finding| finding.claim.contains("at a time, with equal times")) else {
                continue;
            };
            assert!(limit.claim.contains(&format!("a limit of {slots} at a time, ")), "{slots}: {}", limit.claim);
            assert_eq!(limit.confidence, Confidence::Low);
            reported += 1;
        }
    }
    assert!(reported * 2 >= cases, "reported in {reported} of {cases}");
}
