//! Whether the received traces are a sample of all, by their ids and their trace state.
//!
//! Samplers of the SDKs are deterministic: `TraceIdRatioBased` records a trace if a number that it computes from the id is below the ratio (OpenTelemetry
//! specification, "Trace SDK", TraceIdRatioBased). Ids are random, so the numbers of all traces are uniform below 1, and those of a sample below the ratio.
//! Consistent samplers write their threshold into the trace state: `ot=th:c` rejects three quarters (OpenTelemetry specification, "Probability sampling").
//! Deliberately absent: samplers that decide by rate, by name or after the end of a trace. They leave no mark.

/// Traces from which their ids are judged.
const TRACES_MIN: u64 = 100;
/// Probability that all of the ids lie below the bound by chance, from which they are a sample.
const CHANCE_MAX: f64 = 1e-9;
/// Distance of the mean from half of the largest number that uniform numbers do not exceed: over three standard errors of 100 numbers.
const MEAN_DISTANCE_MAX: f64 = 0.1;

/// What the SDKs compute from an id, between 0 and 1.
const POSITIONS: [fn(&[u8; 16]) -> f64; 4] = [
    // Python, Go, Rust and Ruby: the last 8 bytes.
    |id| word(&id[8..]) as f64 / 2_f64.powi(64),
    // Java: the same, without its sign.
    |id| word(&id[8..]).cast_signed().unsigned_abs() as f64 / 2_f64.powi(63),
    // .NET: the first 8 bytes without their sign.
    |id| word(&id[..8]).cast_signed().unsigned_abs() as f64 / 2_f64.powi(63),
    // JavaScript: four words of 32 bits, combined by XOR.
    |id| {
        id.chunks_exact(4).fold(0, |all: u32, part| all ^ part.iter().fold(0, |word, byte| word << 8 | u32::from(*byte))) as f64
            / 2_f64.powi(32)
    },
];

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The numbers of one kind so far.
#[derive(Debug, Clone, Copy, Default)]
struct TracePositions {
    sum: f64,
    largest: f64,
}

/// Counts traces.
#[derive(Debug, Default)]
pub(super) struct SamplingEstimate {
    traces: u64,
    positions: [TracePositions; POSITIONS.len()],
    /// The sum of the shares that trace states name, and how many do.
    stated: (f64, u64),
}

impl SamplingEstimate {
    pub(super) fn add(&mut self, trace_id: &[u8], trace_state: &str) {
        let Ok(id) = <&[u8; 16]>::try_from(trace_id) else { return };
        self.traces += 1;
        for (position, of) in self.positions.iter_mut().zip(POSITIONS) {
            let value = of(id);
            position.sum += value;
            position.largest = position.largest.max(value);
        }
        if let Some(share) = share_of_state(trace_state) {
            self.stated = (self.stated.0 + share, self.stated.1 + 1);
        }
    }

    /// The share of all traces that was recorded. `None`: nothing shows that it is less than all.
    pub(super) fn share(&self) -> Option<f64> {
        if self.traces < TRACES_MIN {
            return None;
        }
        let (sum, stated) = self.stated;
        let by_state = (stated * 2 > self.traces).then(|| sum / stated as f64).filter(|share| *share < 1.0);
        by_state.or_else(|| self.positions.iter().find_map(|position| self.share_by(position)))
    }

    fn share_by(&self, TracePositions { sum, largest }: &TracePositions) -> Option<f64> {
        let count = self.traces as f64;
        let is_uniform = (sum / count / largest.max(f64::MIN_POSITIVE) - 0.5).abs() < MEAN_DISTANCE_MAX;
        // Of n uniform numbers, all lie below x with probability x^n. Their bound is about (n + 1)/n times the largest one.
        let is_bounded = count * largest.ln() < CHANCE_MAX.ln();
        (is_uniform && is_bounded).then(|| (largest * (count + 1.0) / count).min(1.0))
    }
}

/// `vendor=x,ot=th:c;rv:…`: the share that the threshold leaves.
fn share_of_state(state: &str) -> Option<f64> {
    let ot = state.split(',').find_map(|member| member.trim().strip_prefix("ot="))?;
    let threshold = ot.split(';').find_map(|part| part.strip_prefix("th:"))?;
    let digits = threshold.len();
    let rejected = u64::from_str_radix(threshold, 16).ok().filter(|_| (1..=14).contains(&digits))?;
    Some(1.0 - rejected as f64 / 16_f64.powi(digits as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random ids of which a sampler keeps those whose number is below the ratio.
    fn estimate(kind: usize, ratio: f64, state: &str) -> SamplingEstimate {
        let mut found = SamplingEstimate::default();
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            // SplitMix64 (Steele, Lea & Flood 2014).
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        };
        for _ in 0..20_000 {
            let id: [u8; 16] = [next().to_be_bytes(), next().to_be_bytes()].concat().try_into().unwrap();
            if POSITIONS[kind](&id) < ratio {
                found.add(&id, state);
            }
        }
        found
    }

    #[test]
    fn a_ratio_of_any_sdk_shows_in_the_ids() {
        for kind in 0..POSITIONS.len() {
            for ratio in [0.05, 0.25, 0.9] {
                let share = estimate(kind, ratio, "").share().unwrap_or_else(|| panic!("{kind} {ratio}"));
                assert!((share / ratio - 1.0).abs() < 0.02, "{kind} {ratio}: {share}");
            }
            assert_eq!(estimate(kind, 1.0, "").share(), None, "{kind}");
        }
        assert_eq!(estimate(0, 0.002, "").share(), None, "about 40 traces show nothing");
    }

    /// X-Ray's ids begin with the time, and others have 64 random bits.
    #[test]
    fn ids_that_are_not_all_random_are_no_sample() {
        let mut found = SamplingEstimate::default();
        for number in 0..1_000_u64 {
            let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
            found.add(&[&0x6a2f_0000_u32.to_be_bytes()[..], &random[..4], &random].concat(), "");
        }
        assert_eq!(found.share(), None);
    }

    #[test]
    fn a_threshold_in_the_trace_state_is_read() {
        for (state, share) in
            [("ot=th:c", Some(0.25)), ("x=1, ot=rv:00;th:0", Some(1.0)), ("ot=th:fd70a4", Some(0.010_000_02)), ("ot=th:", None)]
        {
            let found = share_of_state(state);
            assert!(found.zip(share).map_or(found == share, |(found, share)| (found - share).abs() < 1e-6), "{state}: {found:?}");
        }
        assert_eq!(estimate(0, 1.0, "ot=th:c").share(), Some(0.25));
        assert_eq!(estimate(0, 1.0, "ot=th:0").share(), None);
    }
}
