//! Systems that retries keep down after a spike of the load, and systems that recover, or fail for other reasons.

use std::collections::VecDeque;

use loadstone_analysis::Finding;
use loadstone_metrics::{Outcome, Role, SeriesKind};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::synthetic::{self, SECOND, Slice, gauge, plan};

const LENGTH_S: u32 = 60;
const STEP_MS: u32 = 5;

/// One server with a queue, and users who give up after a second and try again.
struct Shop {
    /// Requests per second that it can answer.
    capacity: f64,
    /// How often a user tries at most.
    attempts: u32,
    /// Arrivals per second before and after the spike, and from 0:20 to 0:26.
    load: f64,
    spike: f64,
    /// Whether the queue drops requests whose users have given up.
    drops_late: bool,
    /// Requests per second that overtake the queue from the spike on.
    overtaking: u32,
    /// From this second on it answers each request with an error at once, or after two seconds.
    breaks: Option<(u32, u32)>,
}

#[derive(Clone, Copy)]
struct Attempt {
    sent_ms: u32,
    number: u32,
}

impl Shop {
    fn arrivals(&self, second: u32) -> f64 {
        if (20..26).contains(&second) { self.spike } else { self.load }
    }

    /// In steps of time: the queue is served in order, also for users who have given up.
    fn run(&self) -> Run {
        let mut queue = VecDeque::new();
        let (mut due, mut served) = (0.0, 0.0_f64);
        let mut repeated: VecDeque<Attempt> = VecDeque::new();
        let mut ended: Vec<Vec<(u32, Outcome)>> = vec![Vec::new(); LENGTH_S as usize];
        let mut in_system = vec![0_u64; LENGTH_S as usize];
        for now in (0..LENGTH_S * 1_000).step_by(STEP_MS as usize) {
            let second = (now / 1_000) as usize;
            due += self.arrivals(now / 1_000) * f64::from(STEP_MS) / 1e3;
            let mut sent: Vec<u32> = (0..due as u32).map(|_| 1).collect();
            due -= due.floor();
            while let Some(attempt) = repeated.pop_front_if(|attempt| attempt.sent_ms <= now) {
                sent.push(attempt.number);
            }
            let is_broken = self.breaks.filter(|(from, _)| now / 1_000 >= *from);
            for number in sent {
                match is_broken {
                    Some((_, after_ms)) => {
                        let at = (now + after_ms.min(1_000)) / 1_000;
                        let outcome = if after_ms >= 1_000 { Outcome::Timeout } else { Outcome::Status };
                        if let Some(ended) = ended.get_mut(at as usize) {
                            ended.push((after_ms.clamp(1, 1_000), outcome));
                        }
                        in_system[second] += u64::from(after_ms.min(1_000));
                        if number < self.attempts {
                            repeated.push_back(Attempt { sent_ms: now + after_ms.clamp(STEP_MS, 1_000), number: number + 1 });
                        }
                    }
                    None => queue.push_back(Attempt { sent_ms: now, number }),
                }
            }
            // Users who have waited for a second give up and try again, while their request stays in the queue.
            for attempt in queue.iter().filter(|attempt: &&Attempt| now - attempt.sent_ms == 1_000) {
                ended[second].push((1_000, Outcome::Timeout));
                if attempt.number < self.attempts {
                    repeated.push_back(Attempt { sent_ms: now, number: attempt.number + 1 });
                }
            }
            if self.drops_late {
                queue.retain(|attempt| now - attempt.sent_ms < 1_000);
            }
            in_system[second] += queue.iter().filter(|attempt| now - attempt.sent_ms < 1_000).count() as u64 * u64::from(STEP_MS);
            served = if queue.is_empty() { 0.0 } else { served + self.capacity * f64::from(STEP_MS) / 1e3 };
            while served >= 1.0 {
                served -= 1.0;
                let Some(attempt) = queue.pop_front() else { break };
                if now - attempt.sent_ms < 1_000 {
                    ended[second].push((now - attempt.sent_ms + 10, Outcome::Passed));
                }
            }
        }
        for ended in &mut ended[20..] {
            ended.extend((0..self.overtaking).map(|_| (10, Outcome::Passed)));
        }
        self.recorded(&ended, &in_system)
    }

    fn recorded(&self, ended: &[Vec<(u32, Outcome)>], in_system_ms: &[u64]) -> Run {
        let slice = |second: u32| {
            let mut slice = Slice::new(second).arrivals(self.arrivals(second) as u64);
            for (ms, outcome) in &ended[second as usize] {
                slice.record(SeriesKind::Request, "Buy", 0, u64::from(*ms) * synthetic::MS, *outcome);
            }
            let in_flight_ns = in_system_ms[second as usize] * synthetic::MS;
            slice.generator(|generator| generator.in_flight_ns = in_flight_ns).done()
        };
        let stage = |rate: f64, seconds: u64| OpenStage::Rate { from: rate, to: rate, duration_ns: seconds * SECOND, timing: Timing::Even };
        let profile = LoadProfile::Open { stages: vec![stage(self.load, 20), stage(self.spike, 6), stage(self.load, 34)] };
        synthetic::run_of(plan(profile), (0..LENGTH_S).map(slice).collect())
    }
}

const METASTABLE: Shop = Shop { capacity: 60.0, attempts: 4, load: 40.0, spike: 150.0, drops_late: false, overtaking: 0, breaks: None };

fn storm(shop: &Shop) -> (Option<Finding>, String) {
    let found = findings(&shop.run());
    (found.iter().find(|finding| finding.rule == "retry-storm").cloned(), shown(&found))
}

#[test]
fn retries_that_keep_a_system_down_after_a_spike_are_named() {
    let (storm, all) = storm(&METASTABLE);
    let first = storm.unwrap_or_else(|| panic!("{all}"));
    let claim = "Retries of \"Buy\" keep the system down after the spike ended at 0:26: ";
    assert!(
        first.claim.starts_with(claim) && first.claim.contains(" of the requests fail at 40/s, which it served before"),
        "{}",
        first.claim
    );
    assert!(first.alternatives.iter().any(|other| !other.ruled_out && other.text.starts_with("A part of the system that broke")));
}

/// The retries fill the process. That, the failures and the slower requests follow from them.
#[test]
fn what_began_with_the_spike_ranks_after_the_retries() {
    let found = {
        let mut run = Shop { overtaking: 20, ..METASTABLE }.run();
        gauge("shop", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| if second < 20 { 0.3 } else { 0.99 });
        gauge("shop", "busiest_thread")
            .role(Role::ProcessThreadCpuMax)
            .each_second(&mut run, |second| if second < 20 { 0.3 } else { 0.99 });
        gauge("shop", "cores_allowed").role(Role::ProcessCpuMax).each_second(&mut run, |_| 1.0);
        findings(&run)
    };
    let rules: Vec<&str> = found.iter().map(|finding| finding.rule.as_str()).collect();
    assert!(rules[0] == "retry-storm" && rules.contains(&"cpu"), "{}", shown(&found));
}

#[test]
fn systems_that_recover_or_fail_for_other_reasons_are_not() {
    for (name, shop) in [
        ("without retries it works the queue off", Shop { attempts: 1, ..METASTABLE }),
        ("late requests are dropped, few retries", Shop { drops_late: true, attempts: 2, load: 20.0, ..METASTABLE }),
        ("a spike that it serves", Shop { spike: 55.0, ..METASTABLE }),
        ("no spike, but a break", Shop { spike: 40.0, breaks: Some((26, 2_000)), ..METASTABLE }),
        ("errors at once since the spike", Shop { capacity: 200.0, breaks: Some((26, 5)), ..METASTABLE }),
        ("broken before", Shop { breaks: Some((5, 2_000)), ..METASTABLE }),
    ] {
        let (storm, all) = storm(&shop);
        assert!(storm.is_none(), "{name}: {all}");
    }
}
