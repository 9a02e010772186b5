//! Queues in closed form: from arrivals to departures, on the caller's clock.
//!
//! Pure arithmetic, so that the code that answers requests can be tested against queueing theory on virtual arrivals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Delay, SeededRandom};

/// A first-in, first-out queue in front of `k` equal servers (G/G/k; M/M/1 when service is exponential, `k` is 1 and arrivals are Poisson).
#[derive(Debug, Clone)]
pub struct QueueModel {
    /// When each server is free again. Nanoseconds.
    free_ns: BinaryHeap<Reverse<u64>>,
    service: Delay,
    random: SeededRandom,
}

impl QueueModel {
    /// `servers` of 0 counts as 1.
    pub fn new(servers: usize, service: Delay, seed: u64) -> Self {
        let free_ns = std::iter::repeat_n(Reverse(0), servers.max(1)).collect();
        Self { free_ns, service, random: SeededRandom::from_seed(seed) }
    }

    /// The departure of a request that arrives now. Call in order of arrival.
    pub fn departure_ns(&mut self, arrival_ns: u64) -> u64 {
        let service_ns = self.service.sample_ns(|| self.random.next_u64());
        self.departure_after_ns(arrival_ns, service_ns)
    }

    /// The same for a request whose service time is known.
    pub fn departure_after_ns(&mut self, arrival_ns: u64, service_ns: u64) -> u64 {
        let Reverse(free_ns) = self.free_ns.pop().unwrap_or(Reverse(0));
        let departure_ns = arrival_ns.max(free_ns).saturating_add(service_ns);
        self.free_ns.push(Reverse(departure_ns));
        departure_ns
    }
}

/// An instant server that stalls once: requests that arrive during the stall depart at its end.
#[derive(Debug, Clone)]
pub struct Stall {
    /// After the first arrival. Nanoseconds.
    after_ns: u64,
    length_ns: u64,
    first_ns: Option<u64>,
}

impl Stall {
    pub fn new(after_ns: u64, length_ns: u64) -> Self {
        Self { after_ns, length_ns, first_ns: None }
    }

    pub fn departure_ns(&mut self, arrival_ns: u64) -> u64 {
        let begin_ns = *self.first_ns.get_or_insert(arrival_ns) + self.after_ns;
        let end_ns = begin_ns + self.length_ns;
        if (begin_ns..end_ns).contains(&arrival_ns) { end_ns } else { arrival_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Poisson arrivals of rate λ: response times of the queue.
    fn responses(queue: &mut QueueModel, per_second: f64, count: usize) -> Vec<f64> {
        let mut random = SeededRandom::from_seed(99);
        let mut now = 0.0;
        (0..count)
            .map(|_| {
                now += random.exponential() / per_second * 1e9;
                (queue.departure_ns(now as u64) - now as u64) as f64 / 1e9
            })
            .collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// M/M/1: mean 1/(μ−λ), quantiles −ln(1−q)/(μ−λ).
    #[test]
    fn one_exponential_server_follows_theory() {
        let service_rate = 100.0;
        for load in [0.5, 0.7] {
            let mut queue = QueueModel::new(1, "exponential(10ms)".parse().unwrap(), 3);
            let mut times = responses(&mut queue, load * service_rate, 1_000_000);
            let expected = 1.0 / (service_rate * (1.0 - load));
            assert!((mean(&times) / expected - 1.0).abs() < 0.02, "load {load}: {} vs {expected}", mean(&times));
            times.sort_by(f64::total_cmp);
            for q in [0.5, 0.9, 0.99] {
                let (seen, truth) = (times[(q * times.len() as f64) as usize], -(1.0f64 - q).ln() * expected);
                assert!((seen / truth - 1.0).abs() < 0.04, "load {load}, q {q}: {seen} vs {truth}");
            }
        }
    }

    /// M/D/1 (Pollaczek–Khinchine): mean wait ρ/(2μ(1−ρ)).
    #[test]
    fn one_steady_server_follows_theory() {
        let mut queue = QueueModel::new(1, "10ms".parse().unwrap(), 3);
        let waits: Vec<f64> = responses(&mut queue, 80.0, 500_000).iter().map(|response| response - 0.01).collect();
        let expected = 0.8 / (2.0 * 100.0 * 0.2);
        assert!((mean(&waits) / expected - 1.0).abs() < 0.04, "{} vs {expected}", mean(&waits));
    }

    /// M/M/k (Erlang C), k = 3, offered load a = 2.1: mean response = 1/μ + C/(kμ − λ).
    #[test]
    fn three_exponential_servers_follow_theory() {
        let (k, mu, lambda) = (3.0, 100.0, 210.0);
        let a: f64 = lambda / mu;
        let last = a.powi(3) / 6.0 * (k / (k - a));
        let wait_share = last / (1.0 + a + a * a / 2.0 + last);
        let expected = 1.0 / mu + wait_share / (k * mu - lambda);
        let mut queue = QueueModel::new(3, "exponential(10ms)".parse().unwrap(), 5);
        let seen = mean(&responses(&mut queue, lambda, 1_000_000));
        assert!((seen / expected - 1.0).abs() < 0.02, "{seen} vs {expected}");
    }

    /// Constant rate, one stall D in a run T: the excess at quantile q is D − (1−q)·T.
    #[test]
    fn a_stall_follows_its_closed_form() {
        let (run_s, stall_s) = (60.0, 1.0);
        let mut stall = Stall::new(20_000_000_000, 1_000_000_000);
        let arrivals = 60_000u64;
        let mut times: Vec<f64> = (0..arrivals)
            .map(|i| {
                let arrival = 7_000 + i * 1_000_000;
                (stall.departure_ns(arrival) - arrival) as f64 / 1e9
            })
            .collect();
        times.sort_by(f64::total_cmp);
        for q in [0.5, 0.98, 0.985, 0.99, 0.999] {
            let (seen, truth) = (times[(q * arrivals as f64) as usize], (stall_s - (1.0 - q) * run_s).max(0.0));
            assert!((seen - truth).abs() < 0.002, "q {q}: {seen} vs {truth}");
        }
    }
}
