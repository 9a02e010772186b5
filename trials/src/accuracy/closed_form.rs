//! Response times in closed form, for an ideal generator: each request starts when its arrival is due.

/// A law of response times. Seconds.
#[derive(Debug, Clone)]
pub(super) enum ClosedForm {
    Constant(f64),
    /// Constant rate, everything takes `base_s` but what arrives in a pause of D seconds in each P seconds: base + max(0, D − (1−q)·P). One
    /// stall in a run of T seconds is P = T.
    Pauses {
        base_s: f64,
        every_s: f64,
        pause_s: f64,
    },
    /// M/M/1 with service rate μ and arrival rate λ, per second.
    SingleServer {
        mu: f64,
        lambda: f64,
    },
    /// A share of all takes `slow_s`, the rest `fast_s`.
    Bimodal {
        fast_s: f64,
        slow_s: f64,
        slow_share: f64,
    },
    /// Constant rate over `run_s`; from `begin_s` to `end_s` response times grow linearly.
    Ramp {
        from_s: f64,
        to_s: f64,
        begin_s: f64,
        end_s: f64,
        run_s: f64,
    },
    /// Constant rate, ρ times as much as equal servers can serve: a request that arrives at t takes service + (ρ − 1)·t.
    Overload {
        service_s: f64,
        utilisation: f64,
        run_s: f64,
    },
    /// Constant rate into a pool of servers whose service time alternates. No formula: the queue of an ideal schedule, computed.
    Pool(PhasedPool),
}

/// First in, first out, in front of equal servers; the first `slow_for_s` of each period are slow.
#[derive(Debug, Clone)]
pub(super) struct PhasedPool {
    pub(super) servers: usize,
    pub(super) fast_s: f64,
    pub(super) slow_s: f64,
    pub(super) every_s: f64,
    pub(super) slow_for_s: f64,
    pub(super) rate: f64,
    pub(super) run_s: f64,
}

impl ClosedForm {
    /// The value at a quantile. Seconds.
    pub(super) fn at_s(&self, quantile: f64) -> f64 {
        let beyond = 1.0 - quantile;
        match self {
            Self::Constant(seconds) => *seconds,
            Self::Pauses { base_s, every_s, pause_s } => base_s + (pause_s - beyond * every_s).max(0.0),
            Self::SingleServer { mu, lambda } => -beyond.ln() / (mu - lambda),
            Self::Bimodal { fast_s, slow_s, slow_share } => {
                if beyond < *slow_share {
                    *slow_s
                } else {
                    *fast_s
                }
            }
            Self::Ramp { from_s, to_s, begin_s, end_s, run_s } => {
                from_s + (to_s - from_s) * ((quantile * run_s - begin_s) / (end_s - begin_s)).clamp(0.0, 1.0)
            }
            Self::Overload { service_s, utilisation, run_s } => service_s + (utilisation - 1.0) * quantile * run_s,
            Self::Pool(pool) => pool.at_s(quantile),
        }
    }
}

impl PhasedPool {
    fn at_s(&self, quantile: f64) -> f64 {
        let mut free_s = vec![0.0_f64; self.servers.max(1)];
        let mut responses_s: Vec<f64> = (0..(self.rate * self.run_s) as usize)
            .map(|index| {
                let arrival_s = index as f64 / self.rate;
                let service_s = if arrival_s % self.every_s < self.slow_for_s { self.slow_s } else { self.fast_s };
                let earliest = (0..free_s.len()).min_by(|a, b| free_s[*a].total_cmp(&free_s[*b])).unwrap_or_default();
                free_s[earliest] = arrival_s.max(free_s[earliest]) + service_s;
                free_s[earliest] - arrival_s
            })
            .collect();
        responses_s.sort_by(f64::total_cmp);
        let rank = (quantile * responses_s.len() as f64).ceil() as usize;
        responses_s.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds at p50, p90, p99.
    fn shown(law: &ClosedForm) -> [f64; 3] {
        [0.5, 0.9, 0.99].map(|quantile| (law.at_s(quantile) * 1e4).round() / 10.0)
    }

    fn pool(servers: usize) -> PhasedPool {
        PhasedPool { servers, fast_s: 0.01, slow_s: 0.2, every_s: 4.0, slow_for_s: 1.5, rate: 400.0, run_s: 12.0 }
    }

    #[test]
    fn the_formulas_at_known_points() {
        assert_eq!(shown(&ClosedForm::Pauses { base_s: 0.01, every_s: 10.0, pause_s: 1.0 }), [10.0, 10.0, 910.0]);
        assert_eq!(shown(&ClosedForm::Ramp { from_s: 0.01, to_s: 0.1, begin_s: 2.0, end_s: 8.0, run_s: 10.0 }), [55.0, 100.0, 100.0]);
        assert_eq!(shown(&ClosedForm::Overload { service_s: 0.01, utilisation: 1.1, run_s: 10.0 }), [510.0, 910.0, 1_000.0]);
    }

    /// A pool that is never full is no queue: 37.5 % of the requests are slow.
    #[test]
    fn a_large_pool_follows_the_formula_of_two_delays() {
        let law = ClosedForm::Bimodal { fast_s: 0.01, slow_s: 0.2, slow_share: 0.375 };
        assert_eq!(shown(&ClosedForm::Pool(pool(1_000))), shown(&law));
    }

    /// 400 arrivals a second into 3 servers of 10 ms: overload by a third, for which there is a formula.
    #[test]
    fn a_full_pool_follows_the_formula_of_overload() {
        let computed = ClosedForm::Pool(PhasedPool { slow_for_s: 0.0, ..pool(3) });
        let law = ClosedForm::Overload { service_s: 0.01, utilisation: 4.0 / 3.0, run_s: 12.0 };
        for (computed, law) in shown(&computed).into_iter().zip(shown(&law)) {
            assert!((computed - law).abs() < 5.0, "{computed} and {law}");
        }
    }
}
