//! `traceparent`: identifies the spans of a request in the systems it passes (W3C Trace Context, section 3.2).
//!
//! If disabled, it costs a comparison. If enabled, a request that does not vary is copied to the worker's send buffer with the line inserted.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU64;
use std::str::FromStr;

use loadstone_metrics::TraceId;
use loadstone_metrics::span::RequestLabel;

use crate::random::{STEP, mix};

pub(super) const NAME: &str = "traceparent";

/// Version 00, trace, parent, and the sampled flag.
const BYTES: usize = 55;
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The content of a request's `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    pub trace: TraceId,
    pub span: NonZeroU64,
}

/// The source of a run's trace ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceSeed {
    /// First quarter of every trace id. Different in every run.
    run: u32,
    /// Seed of the second half and of the span ids: equal seeds produce equal ids.
    seed: u64,
}

impl TraceSeed {
    /// For a new run. `seed` is the seed of its random numbers.
    pub fn new(seed: u64) -> Self {
        Self { run: ((RandomState::new().hash_one(seed) >> 32) as u32).max(1), seed }
    }

    /// The first 32 bits of all trace ids of the run. The next 32 are the request's [`RequestLabel`].
    pub fn run(&self) -> u32 {
        self.run
    }
}

/// One worker's source of ids.
#[derive(Debug)]
pub(crate) struct Traces {
    run: u32,
    state: Cell<u64>,
}

impl Traces {
    pub(crate) fn new(TraceSeed { run, seed }: TraceSeed, worker: u32) -> Self {
        Self { run, state: Cell::new(mix(mix(seed).wrapping_add(u64::from(worker)))) }
    }

    /// New ids for a request.
    pub(super) fn next(&self, label: RequestLabel) -> TraceParent {
        let (first, second) = (self.state.get().wrapping_add(STEP), self.state.get().wrapping_add(STEP.wrapping_mul(2)));
        self.state.set(second);
        let high = u64::from(self.run) << 32 | u64::from(label.0);
        let trace = TraceId::new(high, mix(first)).expect("the quarter of the run is not zero");
        TraceParent { trace, span: NonZeroU64::new(mix(second)).unwrap_or(NonZeroU64::MIN) }
    }
}

impl TraceParent {
    /// The header's value.
    pub fn value(&self) -> String {
        format!("00-{}-{:016x}-01", self.trace, self.span)
    }

    /// Appends the header line without allocating.
    pub(super) fn write_line(&self, out: &mut Vec<u8>) {
        let (high, low) = self.trace.halves();
        out.reserve(NAME.len() + BYTES + 4);
        out.extend_from_slice(b"traceparent: 00-");
        digits(high, out);
        digits(low, out);
        out.push(b'-');
        digits(self.span.get(), out);
        out.extend_from_slice(b"-01\r\n");
    }
}

fn digits(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&std::array::from_fn::<u8, 16, _>(|place| DIGITS[(number >> (60 - 4 * place)) as usize & 15]));
}

impl FromStr for TraceParent {
    type Err = ();

    /// Parses a header value of any version. Anything after the known parts is ignored (section 4.3 of the standard).
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.trim().split('-');
        let (version, trace, span) = (parts.next().ok_or(())?, parts.next().ok_or(())?, parts.next().ok_or(())?);
        if version.len() != 2 || version == "ff" || span.len() != 16 {
            return Err(());
        }
        let span = u64::from_str_radix(span, 16).ok().and_then(NonZeroU64::new);
        Ok(Self { trace: trace.parse().map_err(drop)?, span: span.ok_or(())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_contains_the_value() {
        let traces = Traces::new(TraceSeed::new(7), 0);
        for _ in 0..100 {
            let parent = traces.next(RequestLabel(3));
            let mut line = Vec::new();
            parent.write_line(&mut line);
            let line = String::from_utf8(line).unwrap();
            assert_eq!(line, format!("{NAME}: {}\r\n", parent.value()));
            assert_eq!(parent.value().len(), BYTES);
            assert_eq!(parent.value().parse(), Ok(parent));
        }
    }

    #[test]
    fn equal_seeds_repeat_all_but_the_quarter_of_the_run() {
        let ids = |seed, worker| {
            let seed = TraceSeed::new(seed);
            let traces = Traces::new(seed, worker);
            (
                seed.run,
                (0..1000).map(|_| traces.next(RequestLabel(3))).map(|parent| (parent.trace.halves(), parent.span)).collect::<Vec<_>>(),
            )
        };
        let (first, second) = (ids(7, 0), ids(7, 0));
        assert_ne!(first.0, second.0);
        assert!(first.1.iter().zip(&second.1).all(|(a, b)| (a.0.1, a.1) == (b.0.1, b.1)));
        assert!(first.1.iter().all(|((high, _), _)| *high == u64::from(first.0) << 32 | 3));
        let mut lows: Vec<u64> = [ids(7, 0), ids(7, 1), ids(8, 0)].iter().flat_map(|(_, ids)| ids).map(|((_, low), _)| *low).collect();
        lows.sort_unstable();
        lows.dedup();
        assert_eq!(lows.len(), 3000);
    }

    #[test]
    fn invalid_traceparents_are_refused() {
        // The example of the standard, section 3.2.3, and one of a future version.
        for right in
            ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x"]
        {
            assert_eq!(right.parse::<TraceParent>().unwrap().trace.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        }
        for wrong in [
            "",
            "x",
            "00-4bf92f3577b34da6a3ce929d0e0e4736",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        ] {
            assert!(wrong.parse::<TraceParent>().is_err(), "{wrong}");
        }
    }
}
