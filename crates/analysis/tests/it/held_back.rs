//! Causes that delay requests, and effects that only look like causes: chance, a shared machine, cut-off requests.

use loadstone_analysis::{Confidence, Finding, conclude};
use loadstone_metrics::{ErrorGroup, Outcome, Phases, Role, SeriesKind};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::draws::Draws;
use crate::fluid::{Load, System, constant};
use crate::synthetic::{self, MS, SECOND, Slice, closed, counter, gauge, open, plan};

fn ramp(from: f64, to: f64, seconds: u64) -> LoadProfile {
    LoadProfile::Open { stages: vec![OpenStage::Rate { from, to, duration_ns: seconds * SECOND, timing: Timing::Even }] }
}

/// Half of the visitors search, slightly fewer at the top of a ramp. From its middle on a search takes `service_ns`.
fn searching(seed: u64, service_ns: u64) -> Run {
    let mut draws = Draws::new(seed);
    let second = |number: u32| {
        let visitors = 4 + u64::from(number);
        let share = if number < 22 { 0.5 } else { 0.43 };
        let searches = (0..visitors).filter(|_| draws.uniform() < share).count() as u64;
        let took = if number < 16 { MS } else { service_ns };
        Slice::new(number).arrivals(visitors).requests("List", visitors, MS).requests("Search", searches, took).done()
    };
    synthetic::run_of(plan(ramp(4.0, 44.0, 40)), (0..40).map(second).collect())
}

#[test]
fn a_rarer_request_is_not_delayed_if_hardly_any_is_in_the_system() {
    for seed in 0..20 {
        // 20 per second of 7 ms: 0.14 in the system. No request waits for another.
        let found = findings(&searching(seed, 7 * MS));
        assert!(found.iter().all(|finding| finding.rule != "rate-limit" && finding.rule != "effective-concurrency"), "{}", shown(&found));
    }
}

/// Twenty users throughout; loans take up to `loan`.
fn remark_of_users(loan: u64, delay: f64) -> String {
    let second = |number: u32| {
        let mut slice = Slice::new(number).requests("List", 40, 5 * MS);
        for index in 0..12 {
            slice = slice.request("Borrow", 0, 60 * MS + index * loan / 12, Outcome::Passed);
        }
        slice.leaf(|leaf| (leaf.users_asked, leaf.users_active, leaf.ended) = (20, 20, 40)).done()
    };
    let mut run = synthetic::run_of(plan(closed(20, 40)), (0..40).map(second).collect());
    counter("shop", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.4);
    counter("shop", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| delay);
    conclude(&run).verdict.findings.remark.text
}

#[test]
fn an_inconclusive_remark_reports_where_users_spend_their_time_and_whether_threads_waited_for_a_core() {
    let reported = remark_of_users(1_200 * MS, 4.0);
    assert!(reported.contains("(at the top of the load, 4 of its threads waited for a core)"), "{reported}");
    assert!(reported.contains("of the users' time in requests, 610 ms on average and 60.0 ms at least"), "{reported}");
    // They hardly wait, and the request is as slow as its fastest.
    let reported = remark_of_users(0, 0.2);
    assert!(
        reported.starts_with("No limit was reached") && !reported.contains("waited for a core") && !reported.contains("of the users' time"),
        "{reported}"
    );
}

/// Low-priority programs fill a machine whose cores the system hardly uses; open requests wait for something else.
#[test]
fn a_machine_filled_by_others_is_not_named_if_hardly_any_waiting_request_needs_a_core() {
    let users = |cpu: f64, delay: f64| {
        let mut run = System { capacity: 90.0, base: 0.04, is_shared: true }.under(Load::Users(40, 40, 40)).run;
        run.info.host.cores = 2;
        counter("host", "cpu").label("mode", "idle").role(Role::MachineIdle).each_second(&mut run, |_| 0.0);
        gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
        counter("shop", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| cpu);
        counter("shop", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| delay);
        findings(&run)
    };
    let found = users(0.06, 0.2);
    assert!(found.iter().all(|finding| finding.rule != "cpu"), "{}", shown(&found));
    // As many threads as cores are runnable.
    let found = users(0.3, 2.5);
    assert!(found.iter().any(|finding| finding.claim.contains("machine's CPU is saturated")), "{}", shown(&found));
}

/// Other programs fill the machine throughout. From 0:20 on requests take longer, and only the number of threads at the cores shows whether that is why.
#[test]
fn a_machine_filled_by_others_throughout_does_not_explain_requests_that_wait_elsewhere() {
    let slower = |delay_then: f64| {
        let second = |number: u32| {
            let service = if number < 20 { 20 * MS } else { 500 * MS };
            Slice::new(number).arrivals(20).requests("Order", 20, service).done()
        };
        let mut run = synthetic::run_of(plan(open(20.0, 45)), (0..45).map(second).collect());
        run.info.host.cores = 2;
        counter("host", "cpu").label("mode", "idle").role(Role::MachineIdle).each_second(&mut run, |_| 0.0);
        gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
        counter("shop", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.6);
        counter("shop", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |second| if second < 20 { 0.5 } else { delay_then });
        findings(&run)
    };
    let found = slower(0.5);
    assert!(!found.is_empty() && found.iter().all(|finding| !finding.claim.contains("machine's CPU")), "{}", shown(&found));
    // Most of the requests wait for a core.
    let found = slower(8.0);
    assert!(found.iter().any(|finding| finding.rule == "cpu"), "{}", shown(&found));
}

/// 20 per second, some of which time out after ten seconds from 0:25 on.
#[test]
fn timed_out_requests_are_reported_at_their_start() {
    let second = |number: u32| {
        let mut slice = Slice::new(number).arrivals(20);
        for index in 0..20 {
            let is_lost = number >= 25 && index < 12;
            let (service, outcome) = if is_lost { (10 * SECOND, Outcome::Timeout) } else { (5 * MS, Outcome::Passed) };
            slice = slice.request("Order", 0, service, outcome);
        }
        slice.done()
    };
    let found = findings(&synthetic::run_of(plan(open(20.0, 40)), (0..40).map(second).collect()));
    let failed = found.iter().find(|finding| finding.rule == "failures").unwrap();
    assert!(failed.claim.contains("failed from 0:25 on"), "{}", shown(&found));
    assert!(failed.evidence.iter().any(|evidence| evidence.text.ends_with("they were sent from about 0:15 on")), "{}", shown(&found));
    assert!(failed.next.starts_with("Find out what the requests wait for from 0:15 on"), "{}", failed.next);
}

/// From 0:25 on no request ends until the first one times out after thirty seconds; a few are refused meanwhile.
#[test]
fn requests_to_a_dead_target_are_reported_at_the_time_of_its_death() {
    let second = |number: u32| {
        let mut slice = Slice::new(number).leaf(|leaf| (leaf.arrivals_due, leaf.started) = if number < 35 { (20, 20) } else { (0, 0) });
        let (count, service, outcome) = match number {
            0..25 => (20, 5 * MS, Outcome::Passed),
            28 => (1, SECOND, Outcome::Passed),
            31 => (2, SECOND, Outcome::Status),
            55..65 => (20, 30 * SECOND, Outcome::Timeout),
            _ => (0, 0, Outcome::Passed),
        };
        for _ in 0..count {
            slice = slice.request("Order", 0, service, outcome);
        }
        slice.done()
    };
    let found = findings(&synthetic::run_of(plan(open(20.0, 35)), (0..65).map(second).collect()));
    let failed = found.iter().find(|finding| finding.rule == "failures").unwrap();
    let reported = "200 timed out after 30.0 s: they reached the time limit and would have taken longer; they were sent from about 0:25 on";
    assert!(failed.evidence.iter().any(|evidence| evidence.text == reported), "{}", shown(&found));
    assert!(failed.next.starts_with("Find out what the requests wait for from 0:25 on"), "{}", failed.next);
}

/// Times up to 200 ms, at which a component of the target responds with an error.
#[test]
fn failures_as_slow_as_the_slowest_success_are_a_time_limit() {
    let reported = |limit: u64| {
        let second = |number: u32| {
            let mut slice = Slice::new(number).arrivals(20);
            for index in 0..20 {
                let fails = number.is_multiple_of(2) && index == 7;
                let (service, outcome) = if fails { (limit, Outcome::Status) } else { ((40 + 8 * index) * MS, Outcome::Passed) };
                slice = slice.request("Order", 0, service, outcome);
            }
            slice.done()
        };
        let found = findings(&synthetic::run_of(plan(open(20.0, 40)), (0..40).map(second).collect()));
        let failed = found.iter().find(|finding| finding.rule == "failures").unwrap();
        failed.evidence.iter().any(|evidence| {
            evidence.text
                == "all failed requests took 202 ms, and no other took longer: a time limit inside the system, shorter than their tail"
        })
    };
    assert!(reported(202 * MS));
    // Failures in the middle of the distribution are no evidence.
    assert!(!reported(120 * MS));
}

/// Open load whose visitors each open a connection; at the end most of them wait.
#[test]
fn visitors_that_still_wait_have_opened_their_connection_too() {
    let crowd = |opened: u64| {
        let second = |number: u32| {
            let done = 10;
            let mut slice = Slice::new(number).leaf(|leaf| (leaf.arrivals_due, leaf.started, leaf.ended) = (40, 40, done));
            for _ in 0..done * 3 {
                let phases = Phases { connect: 400 * MS, wait: 600 * MS, ..Phases::default() };
                slice = slice.request_with("List", phases, SECOND);
            }
            slice.generator(|worker| worker.connections_opened = opened).done()
        };
        findings(&synthetic::run_of(plan(open(40.0, 40)), (0..40).map(second).collect()))
    };
    let found = crowd(42);
    assert!(found.iter().all(|finding| finding.rule != "new-connections"), "{}", shown(&found));
    let found = crowd(110);
    assert!(found.iter().any(|finding| finding.rule == "new-connections"), "{}", shown(&found));
}

/// A queue that grows by eight messages per second while requests remain fast.
#[test]
fn a_growing_queue_is_found_in_a_run_of_forty_seconds() {
    let queue = |length: fn(u64) -> f64| {
        let mut run = constant(40, 30, |_| (5 * MS, 0));
        gauge("redis", "list").role(Role::QueueLength).part("mails").each_second(&mut run, length);
        findings(&run)
    };
    let found = queue(|second| 8.0 * second as f64);
    assert!(found[0].rule == "growing-backlog" && found[0].claim.contains("mails"), "{}", shown(&found));
    // A queue that fills up and levels off, and a queue that fluctuates.
    for length in [(|second: u64| 20.0 * second.min(8) as f64) as fn(u64) -> f64, |second: u64| 8.0 * (second % 10) as f64] {
        let found = queue(length);
        assert!(found.is_empty(), "{}", shown(&found));
    }
}

/// 200 requests per second. On average every eighth second, at random, or every second, a few requests of one name reach a limit of a
/// second.
fn with_slow_seconds(seed: u64, share: f64, failed: bool) -> Run {
    let mut draws = Draws::new(seed);
    let second = |number: u32| {
        let mut slice = Slice::new(number).arrivals(30).requests("List", 30, 5 * MS);
        for _ in 0..9 {
            let is_slow = number >= 15 && draws.uniform() < share;
            let outcome = if is_slow && failed { Outcome::Status } else { Outcome::Passed };
            slice = slice.request("Play", 0, if is_slow { SECOND + (draws.uniform() * 4e6) as u64 } else { 25 * MS }, outcome);
        }
        slice.done()
    };
    synthetic::run_of(plan(open(30.0, 40)), (0..40).map(second).collect())
}

#[test]
fn frequent_slow_seconds_have_no_period() {
    let mut even = 0;
    for seed in 0..30 {
        let found = findings(&with_slow_seconds(seed, 0.1, true));
        even += found.iter().filter(|finding| finding.rule == "periodic-stall" && finding.confidence > Confidence::Low).count();
        assert!(found.iter().any(|finding| finding.rule == "failures" && finding.claim.contains("\"Play\"")), "{}", shown(&found));
        // Failures at a limit are no second kind.
        assert!(found.iter().all(|finding| finding.rule != "two-kinds"), "{}", shown(&found));
    }
    assert!(even <= 1, "{even} of 30");
}

/// 60 requests per second of two names, and a quota of 40 over both. The test expects status 201 for one of them.
#[test]
fn a_quota_over_all_requests_is_reported_for_all_of_them() {
    let second = |number: u32| {
        let refused: u64 = if number < 20 { 0 } else { 10 };
        let mut slice = Slice::new(number).arrivals(30);
        for name in ["List", "Buy"] {
            slice = slice.requests(name, 30 - refused, 4 * MS);
            for _ in 0..refused {
                slice = slice.request(name, 0, MS, Outcome::Status);
            }
        }
        let mut snapshot = slice.done();
        for series in snapshot.series.iter_mut().filter(|series| series.key.kind == SeriesKind::Request) {
            series.statuses = vec![(201, 30 - refused), (429, refused)];
        }
        let error = |(name, message): (&str, &str)| {
            let key = synthetic::key(SeriesKind::Request, name);
            ErrorGroup { count: refused, ..ErrorGroup::new(key, Outcome::Status, message, snapshot.start) }
        };
        if refused > 0 {
            snapshot.errors = [("List", "status 429"), ("Buy", "status 429, expected 201")].into_iter().map(error).collect();
        }
        snapshot
    };
    let found = findings(&synthetic::run_of(plan(open(30.0, 40)), (0..40).map(second).collect()));
    let claim = &found[0].claim;
    assert!(found[0].rule == "rate-limit" && claim.contains("\"Buy\" are limited to about 40/s together"), "{}", shown(&found));
    assert!(found.iter().all(|finding| finding.rule != "failures"), "{}", shown(&found));
}

/// Each visit reads names one by one in a single transaction, until a core of the database is saturated.
#[test]
fn a_statement_that_each_iteration_repeats_is_found_even_with_few_transactions() {
    let asked = |each: f64| {
        let fluid = System { capacity: 25.0, base: 0.04, is_shared: false }.under(Load::Ramp(2.0, 40.0, 60));
        let mut run = fluid.run.clone();
        let calls =
            counter("mysql", "statement_calls").label("statement", "SELECT NAME FROM AUTHORS WHERE ID = ?").role(Role::StatementCalls);
        calls.each_second(&mut run, |second| each * fluid.ended[second as usize]);
        findings(&run)
    };
    let found = asked(160.0);
    let first = &found[0];
    assert!(
        first.rule == "many-transactions" && first.claim.contains("`SELECT NAME FROM AUTHORS WHERE ID = ?` is executed"),
        "{}",
        shown(&found)
    );
    assert!(first.claim.contains("\"Register\" takes most of the time"), "{}", shown(&found));
    assert!(asked(4.0).iter().all(|finding| finding.rule != "many-transactions"));
}

/// A ramp during which requests take two seconds for a while, until most are rejected at once: the accepted ones meet less load than
/// requested.
#[test]
fn rejected_load_is_no_evidence_of_faster_service() {
    let overloaded = |refused: bool| {
        let second = |number: u32| {
            let rate = 6 + u64::from(number) * 5 / 4;
            let (wait, failed) = match number {
                0..17 => (0, 0),
                17..34 => (2 * SECOND, 0),
                _ if refused => (0, rate * 4 / 5),
                _ => (0, 0),
            };
            let mut slice = Slice::new(number).arrivals(rate);
            for index in 0..rate {
                let (service, outcome) = if index < failed { (MS / 3, Outcome::Reset) } else { (MS + wait, Outcome::Passed) };
                slice = slice.request("Search", 0, service + index * 10_000, outcome);
            }
            slice.done()
        };
        findings(&synthetic::run_of(plan(ramp(6.0, 56.0, 40)), (0..40).map(second).collect()))
    };
    let unexplained = |found: &[Finding]| found.iter().any(|finding| finding.claim.contains("more than the load explains"));
    let found = overloaded(true);
    assert!(!unexplained(&found), "{}", shown(&found));
    // The same load, all of it served and fast: the cause was something else.
    let found = overloaded(false);
    assert!(unexplained(&found), "{}", shown(&found));
}

/// Random arrivals, six per second, with a pause every fifth second. By chance more arrivals fall into the seconds with a pause, or the
/// load itself has bursts.
#[test]
fn slightly_more_random_arrivals_in_seconds_with_pauses_are_no_burst() {
    let paused = |more: u64| {
        let arrivals = [5, 6, 7, 4, 6, 8, 5, 6, 7, 6];
        let second = |number: u32| {
            let is_paused = number % 5 == 3;
            let count = arrivals[number as usize % 10] + if is_paused { more } else { 0 };
            let mut slice = Slice::new(number).arrivals(count).requests("List", 3 * count, 15 * MS + u64::from(number % 7) * MS);
            if is_paused {
                slice = slice.requests("List", 2, 280 * MS);
            }
            slice.done()
        };
        findings(&synthetic::run_of(plan(open(6.0, 40)), (0..40).map(second).collect()))
    };
    let found = paused(2);
    assert!(found[0].rule == "periodic-stall" && found[0].claim.starts_with("Every 5.00 s"), "{}", shown(&found));
    let found = paused(12);
    assert!(found.iter().all(|finding| finding.rule != "periodic-stall"), "{}", shown(&found));
}

/// Four places that keep their connections while ten visitors per second arrive: a visitor with a connection continues at once, the others
/// wait in vain, until the load ends and some of them give up.
#[test]
fn starved_connections_are_no_second_kind_of_a_request() {
    let starved = |limit_s: u64| {
        let second = |number: u32| {
            let is_loaded = number < 40;
            let mut slice = Slice::new(number);
            for index in 0..12 {
                slice = slice.request("Comment", 0, 60 * MS + index * MS, Outcome::Passed);
            }
            if number >= 24 {
                slice = slice.request("Comment", 0, 24 * SECOND + u64::from(number) * 50 * MS, Outcome::Passed);
            }
            if number >= 30 && limit_s > 0 {
                slice = slice.request("List", 0, limit_s * SECOND, Outcome::Timeout);
            }
            let mut slice = slice.leaf(|leaf| (leaf.arrivals_due, leaf.started) = if is_loaded { (20, 20) } else { (0, 0) }).done();
            let open = f64::from(if is_loaded { 8 * number } else { 320 - 8 * (number - 40) });
            slice.generator[0].in_flight_ns = ((open + 1.0) * SECOND as f64) as u64;
            slice
        };
        findings(&synthetic::run_of(plan(open(20.0, 40)), (0..64).map(second).collect()))
    };
    for limit_s in [0, 27] {
        let found = starved(limit_s);
        assert!(found.iter().all(|finding| finding.rule != "two-kinds"), "{}", shown(&found));
    }
}

/// Some requests of one name fail, at random, from a time on.
#[test]
fn failures_that_begin_after_a_quarter_of_the_run_are_not_reported_as_throughout() {
    for (seed, share) in (0..20).map(|seed| (seed, 0.02)).chain((20..40).map(|seed| (seed, 0.08))) {
        let mut draws = Draws::new(seed);
        let second = |number: u32| {
            let mut slice = Slice::new(number).arrivals(20);
            for _ in 0..8 {
                let fails = number >= 10 && draws.uniform() < share;
                slice = slice.request("Search", 0, 5 * MS, if fails { Outcome::Status } else { Outcome::Passed });
            }
            slice.done()
        };
        let found = findings(&synthetic::run_of(plan(open(20.0, 40)), (0..40).map(second).collect()));
        assert!(found.iter().all(|finding| !finding.claim.contains("throughout")), "{}", shown(&found));
    }
}

/// Thirty users who start at once and wait for each other, or who start one by one on a system that is slow at first.
#[test]
fn users_that_start_at_once_are_no_warm_up() {
    let remark = |from: u64| {
        let second = |number: u32| {
            let took = if number < 5 { 900 * MS } else { 10 * MS };
            let users = 30.min(from + u64::from(number));
            Slice::new(number)
                .requests("List", 30, took)
                .leaf(|leaf| (leaf.users_asked, leaf.users_active, leaf.ended) = (users, users, 30))
        };
        let run = synthetic::run_of(plan(closed(30, 60)), (0..60).map(|number| second(number).done()).collect());
        conclude(&run).verdict.findings.remark.text
    };
    let reported = remark(30);
    assert!(reported.contains("\"List\" was slower until 0:05") && reported.contains("all 30 users began at once"), "{reported}");
    assert!(!reported.contains("the system warmed up"), "{reported}");
}

#[test]
fn requests_without_an_end_have_no_time() {
    let slice = |second: u32| {
        let mut slice = Slice::new(second).arrivals(10).requests("List", 10, 5 * MS);
        if second == 29 {
            for seconds in [18, 12, 7, 3] {
                slice = slice.request("Buy", 0, seconds * SECOND, Outcome::Interrupted);
            }
        }
        slice.done()
    };
    let found = findings(&synthetic::run_of(plan(open(10.0, 30)), (0..30).map(slice).collect()));
    let reported = shown(&found[..1]);
    assert!(
        found[0].rule == "unanswered" && reported.contains("no \"Buy\" ended at all") && !reported.contains("longer than"),
        "{reported}"
    );
    assert!(reported.contains("A long queue. Not ruled out"), "{reported}");
}
