//! No sentence contradicts another of the same report, on random runs of random systems with the signals that real exporters give.

use std::ops::Range;

use loadstone_analysis::{Finding, Subject, Summary, conclude};
use loadstone_metrics::{PoolMembers, Role, SeriesKind};
use loadstone_run_directory::Run;

use crate::contradictions::{random_run, sentences};
use crate::draws::Draws;
use crate::fluid::{Load, System};
use crate::seeds;
use crate::synthetic::{counter, gauge};

/// The observer that exports the pool for the second time.
const SECOND_EXPORTER: &str = "jmx";

fn between(draws: &mut Draws, range: Range<f64>) -> f64 {
    range.start + (range.end - range.start) * draws.uniform()
}

/// A system with a limit under a random load, or a service whose times step, drift and fail.
fn base(seed: u64, draws: &mut Draws) -> Run {
    if draws.uniform() < 0.5 {
        let mut run = random_run(seed);
        // Its process may use more cores than the machine has.
        run.signals.clear();
        return run;
    }
    let capacity = 5.0 * 40.0_f64.powf(draws.uniform());
    let system = System { capacity, base: 0.002 * 200.0_f64.powf(draws.uniform()), is_shared: draws.uniform() < 0.5 };
    let seconds = 40 + (40.0 * draws.uniform()) as u64;
    let (low, high) = (capacity * between(draws, 0.1..0.9), capacity * between(draws, 0.5..2.0));
    let users = 2 + (60.0 * draws.uniform()) as u64;
    let load = match (draws.uniform() * 4.0) as u32 {
        0 => Load::Ramp(high, high, seconds),
        1 => Load::Users(users, users, seconds),
        2 => Load::Users(1, users, seconds),
        _ => Load::Ramp(low, high, seconds),
    };
    system.under(load).run
}

/// Requests in flight in each second.
fn open(run: &Run) -> Vec<f64> {
    let of = |slice: &loadstone_metrics::Snapshot| slice.generator.iter().map(|worker| worker.in_flight_ns).sum::<u64>() as f64 / 1e9;
    run.slices.iter().map(of).collect()
}

/// Requests that ended in each second.
fn ended(run: &Run) -> Vec<f64> {
    let requests = |slice: &loadstone_metrics::Snapshot| {
        slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| series.count).sum::<u64>()
    };
    run.slices.iter().map(|slice| requests(slice) as f64).collect()
}

fn observed_run(seed: u64) -> Run {
    let mut draws = Draws::new(seed ^ 0xfeed);
    let mut run = base(seed, &mut draws);
    let (open, ended) = (open(&run), ended(&run));
    let (at, done) = (|second: u64| open[second as usize], |second: u64| ended[second as usize]);
    let mut maybe = |chance: f64| draws.uniform() < chance;
    let (has_pool, twice, has_workers, has_database) = (maybe(0.7), maybe(0.4), maybe(0.4), maybe(0.7));
    let (has_queue, has_stub, has_process, has_host, counts_waits) = (maybe(0.3), maybe(0.4), maybe(0.7), maybe(0.5), maybe(0.5));
    let size = (1.0 + 20.0 * draws.uniform()).floor();
    let used = |second: u64| at(second).min(size);
    for observer in [Some("prometheus"), Some(SECOND_EXPORTER).filter(|_| twice)].into_iter().flatten().filter(|_| has_pool) {
        let pool = |metric, role| gauge(observer, metric).role(role).part("HikariPool-1");
        pool("hikaricp_connections_active", Role::PoolInUse).each_second(&mut run, used);
        pool("hikaricp_connections_max", Role::PoolSizeMax).each_second(&mut run, |_| size);
        if counts_waits {
            pool("hikaricp_connections_pending", Role::PoolWaiting).each_second(&mut run, |second| (at(second) - size).max(0.0).floor());
        } else {
            // A counter that its exporter declares as a gauge, and that reads as a size.
            pool("hikaricp_connections_closed", Role::PoolSize).each_second(&mut run, |second| second as f64 / 8.0);
        }
    }
    let workers = (1.0 + 30.0 * draws.uniform()).floor();
    if has_workers {
        let php = |metric, role| gauge("prometheus", metric).role(role).part("www").members(PoolMembers::Threads);
        php("phpfpm_active_processes", Role::PoolInUse).each_second(&mut run, |second| at(second).min(workers));
        php("phpfpm_total_processes", Role::PoolSize).each_second(&mut run, |_| workers);
        php("phpfpm_listen_queue", Role::PoolWaiting).each_second(&mut run, |second| (at(second) - workers).max(0.0).floor());
    }
    let (busy_part, idle_part, locked_part) = (draws.uniform(), 0.4 * draws.uniform(), draws.uniform().powi(3));
    if has_database {
        let active = |second: u64| busy_part * used(second);
        gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, active);
        gauge("postgres", "idle").role(Role::SessionsIdleInTransaction).each_second(&mut run, |second| idle_part * used(second));
        gauge("postgres", "open").role(Role::ConnectionsOpen).each_second(&mut run, |_| size);
        let lock = gauge("postgres", "sessions").role(Role::SessionsWaitingForLock).label("wait", "Lock:relation");
        lock.each_second(&mut run, |second| locked_part * active(second));
        counter("postgres", "commits").role(Role::Commits).each_second(&mut run, |second| (1.0 + 30.0 * locked_part) * done(second));
        gauge("postgres", "round_trip")
            .role(Role::RoundTrip)
            .unit("seconds")
            .each_second(&mut run, |second| 0.001 + locked_part * at(second) / 1e4);
    }
    let growth = 20.0 * draws.uniform() - 5.0;
    if has_queue {
        let queue = gauge("redis", "celery_waiting").role(Role::QueueLength).part("celery").label("queue", "celery");
        queue.each_second(&mut run, |second| (growth * second as f64).max(0.0).floor());
        gauge("redis", "celery_unacknowledged")
            .role(Role::QueueTaken)
            .each_second(&mut run, |second| if growth > 0.0 { 8.0 } else { (second % 5) as f64 });
    }
    let call_part = draws.uniform();
    if has_stub {
        gauge("stub:provider", "in_flight").role(Role::CallsInFlight).each_second(&mut run, |second| call_part * used(second));
        gauge("stub:provider", "in_flight_max").role(Role::CallsInFlightMax).each_second(&mut run, |second| used(second).ceil());
        gauge("stub:provider", "hold").role(Role::CallHold).unit("seconds").each_second(&mut run, |_| 0.05);
        gauge("stub:provider", "calls").role(Role::Calls).each_second(&mut run, done);
    }
    let (cpu_each, other) = (0.05 * draws.uniform().powi(2), 2.0 * draws.uniform().powi(2));
    let cpu = |second: u64| (cpu_each * done(second)).min(2.0);
    if has_process {
        counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, cpu);
        counter("process:80", "run_delay")
            .role(Role::ProcessRunDelay)
            .each_second(&mut run, |second| (cpu(second) + other - 1.9).max(0.0) * 5.0);
        gauge("process:80", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |second| cpu(second).min(1.0));
    }
    if has_host {
        gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
        gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |second| (2.0 - cpu(second) - other).max(0.0));
    }
    run
}

/// The most requests that ended per second, over any five seconds.
fn most_throughput(ended: &[f64]) -> f64 {
    ended.windows(5).map(|window| window.iter().sum::<f64>() / 5.0).fold(0.0, f64::max)
}

/// A number as sentences have it: `1,428`, `17.5`.
fn leading_number(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
    let digits = text[..end].trim_end_matches(['.', ',']).replace(',', "");
    digits.parse().ok()
}

fn trailing_number(text: &str) -> Option<f64> {
    let begin = text.rfind(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').map_or(0, |at| at + 1);
    // Digits that belong to a name are no number: `P99`.
    let is_word = text[..begin].chars().next_back().is_some_and(|before| !before.is_whitespace() && before != '(');
    leading_number(&text[begin..]).filter(|_| !is_word)
}

/// Parts that exceed their whole: "17.5 of 8 connections", "345 connections, 1,428 of them".
fn parts_beyond_the_whole(sentence: &str) -> Option<String> {
    for (at, _) in sentence.match_indices(" of ") {
        let (before, after) = (&sentence[..at], &sentence[at + 4..]);
        let Some(part) = trailing_number(before) else { continue };
        let whole = match after.strip_prefix("the ").unwrap_or(after) {
            rest if rest.starts_with(|c: char| c.is_ascii_digit()) => {
                let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(rest.len());
                // "4 of 300 ms" is no count.
                let unit = rest[digits..].trim_start();
                if ["ms", "s ", "µs", "min", "%"].iter().any(|of| unit.starts_with(of)) { None } else { leading_number(rest) }
            }
            // The whole is the largest number before the part.
            rest if rest.starts_with("them") => {
                let earlier = before.rsplit_once(' ').map_or("", |(earlier, _)| earlier);
                earlier.split_whitespace().filter_map(leading_number).reduce(f64::max)
            }
            _ => None,
        };
        if whole.is_some_and(|whole| part > whole * 1.1 + 0.5) {
            return Some(format!("{part} of {whole:?}: {sentence}"));
        }
    }
    None
}

/// A signal that is called unchanged and is not.
fn unchanged_that_changed(sentence: &str) -> Option<String> {
    let each = sentence.strip_prefix("unchanged: ")?.split("; ");
    let changed = each.filter(|one| {
        let Some((_, levels)) = one.rsplit_once(" from ") else { return false };
        let Some((before, after)) = levels.split_once(" to ") else { return false };
        // With their units: levels in one unit differ by less than a quarter, or by less than background work.
        let (Some(low), Some(high)) = (leading_number(before), leading_number(after)) else { return false };
        let unit = |text: &str| text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ',').to_owned();
        unit(before) == unit(after) && (high - low).abs() > 0.3 * low.abs().max(high.abs()) && (high - low).abs() > 1.0
    });
    changed.last().map(|one| format!("it changed: {one}"))
}

/// The rate at which a sentence says that the next limit is.
fn next_limit(sentence: &str) -> Option<f64> {
    leading_number(sentence.split_once("would be the next limit, at about ")?.1)
}

fn overlap(a: &Finding, b: &Finding) -> bool {
    let (Some(a), Some(b)) = (a.evidence.first(), b.evidence.first()) else { return false };
    a.from_seconds < b.to_seconds && b.from_seconds < a.to_seconds
}

/// An alternative that one finding rules out and another reports with high confidence.
fn ruled_out_and_reported<'s>(summary: &'s Summary, rule: &'s str, cause: &'s str) -> impl Iterator<Item = String> + 's {
    let all = &summary.verdict.findings.findings;
    let reported = all.iter().filter(move |finding| finding.rule == rule && finding.confidence == loadstone_analysis::Confidence::High);
    reported.flat_map(move |reported| {
        let others = all.iter().filter(move |other| other.rule != rule && overlap(reported, other));
        let ruled_out = others.flat_map(|other| other.alternatives.iter().filter(|one| one.ruled_out));
        ruled_out.filter(move |one| one.text.starts_with(cause)).map(move |one| format!("{} and {}", reported.claim, one.text))
    })
}

fn contradictions(run: &Run) -> Vec<String> {
    let (summary, ended) = (conclude(run), ended(run));
    let duration = run.slices.last().map_or(0.0, |slice| slice.end as f64 / 1e9);
    let seen = most_throughput(&ended);
    let mut found = Vec::new();
    for sentence in sentences(&summary) {
        found.extend(parts_beyond_the_whole(&sentence));
        found.extend(unchanged_that_changed(&sentence));
        if let Some(limit) = next_limit(&sentence).filter(|limit| *limit < seen * 0.99) {
            found.push(format!("{limit} is below the {seen} seen: {sentence}"));
        }
        // Both exporters describe one pool.
        let pools = ["All ", "The only "].iter().filter(|start| sentence.starts_with(**start)).count();
        if pools > 0 && sentence.contains("HikariPool-1") && sentence.contains("next limit") {
            found.push(format!("one pool twice: {sentence}"));
        }
    }
    for finding in &summary.verdict.findings.findings {
        let claims_pool = finding.claim.contains("the pool \"HikariPool-1\"");
        let names_it_next = finding.evidence.iter().any(|evidence| evidence.text.contains("members of the pool \"HikariPool-1\" would be"));
        if claims_pool && names_it_next {
            found.push(format!("the pool is its own next limit: {}", finding.claim));
        }
        for evidence in &finding.evidence {
            let is_inside =
                evidence.from_seconds <= evidence.to_seconds && evidence.to_seconds <= duration + 31.0 && evidence.from_seconds >= 0.0;
            if !is_inside {
                found.push(format!("{} to {} of {duration}: {}", evidence.from_seconds, evidence.to_seconds, evidence.text));
            }
        }
        // A limit of all requests is at least what the run passed on average.
        let limits = ["throughput-limit", "rate-limit", "effective-concurrency"];
        let limit = finding.quantities.iter().find(|quantity| quantity.name == "throughput" || quantity.name == "limit");
        if let (Some(limit), true, Subject::Requests { names }) = (limit, limits.contains(&finding.rule.as_str()), &finding.subject) {
            let own =
                summary.requests.iter().filter(|row| names.iter().any(|name| **name == *row.key.name)).map(|row| row.count).sum::<u64>();
            let mean = own as f64 / duration;
            if limit.value < 0.9 * mean {
                found.push(format!("{} is below the mean of {mean}: {}", limit.value, finding.claim));
            }
        }
    }
    found.extend(ruled_out_and_reported(&summary, "cpu", "A process or thread that is at the limit of its CPU"));
    found.extend(ruled_out_and_reported(&summary, "database-waits", "A slow database"));
    let pools = summary
        .verdict
        .findings
        .findings
        .iter()
        .filter(|finding| finding.rule == "connection-pool" && finding.claim.contains("HikariPool-1"));
    if pools.count() > 1 {
        found.push("the pool is reported twice".to_owned());
    }
    found
}

#[test]
fn no_sentence_contradicts_another_of_the_same_report() {
    let of = |seed: u64| contradictions(&observed_run(seed)).into_iter().map(move |what| format!("{seed}: {what}"));
    let all: Vec<String> = (0..seeds(150, 600)).flat_map(of).collect();
    assert!(all.is_empty(), "{}:\n{}", all.len(), all.join("\n"));
}

/// The checks see what reports once contained.
#[test]
fn contradictions_are_recognised() {
    for sentence in ["17.5 of 8 connections are in use", "345 connections opened in the run, 1,428 of them in a second or more"] {
        assert!(parts_beyond_the_whole(sentence).is_some(), "{sentence}");
    }
    for sentence in
        ["14.7 of 15.9 active sessions wait", "All 6 workers of \"www\" are in use: 5.7 of them are in a call", "8.33 % of \"Buy\" failed"]
    {
        assert_eq!(parts_beyond_the_whole(sentence), None, "{sentence}");
    }
    assert!(unchanged_that_changed("unchanged: app/gc from 31.6 % to 77.4 %").is_some());
    assert_eq!(unchanged_that_changed("unchanged: app/gc from 31.6 % to 31.9 %; process/cpu from 0.2 to 0.21"), None);
    assert_eq!(next_limit("the disk would be the next limit, at about 15.1/s: 0.5 of 1"), Some(15.1));
}
