//! What a server received, in bounded memory: bins over time, counts and sums. Read [`Recording`].

use std::collections::BTreeMap;

use serde::Serialize;

use crate::GRPC_STATUSES;
use crate::seconds::{CallEnding, SecondCounts, Seconds};

/// Maximum number of bins. When they are full, neighbours are merged and the bin width doubles, so that any run fits.
const BINS_MAX: usize = 4096;
/// Initial width. Nanoseconds.
const BIN_NS: u64 = 100_000_000;

/// Statuses of gRPC are counted as their codes plus this number, those of HTTP unchanged.
pub(crate) const GRPC_STATUS_BASE: u16 = 1000;
/// TCP has no statuses.
pub(crate) const TCP_ANSWERED: u16 = 1;
pub(crate) const TCP_CLOSED: u16 = 2;

/// What a server received since it started. Times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Recording {
    /// CLOCK_MONOTONIC of the first bin's start, which is the server's start.
    pub started_ns: u64,
    pub bin_ns: u64,
    pub bins: Vec<Bin>,
    pub routes: Vec<RouteCounts>,
    /// Requests that no route matched.
    pub unmatched: u64,
    pub connections: u64,
    pub connections_open: u64,
    /// Requests being served now, and their maximum so far.
    pub in_flight: u64,
    pub in_flight_max: u64,
}

/// One interval of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Bin {
    pub arrivals: u64,
    pub departures: u64,
    /// Requests in flight, integrated over the bin. Divided by the width it is their mean. Request-nanoseconds.
    pub in_flight_ns: u64,
    pub in_flight_max: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RouteCounts {
    pub route: String,
    pub requests: u64,
    /// Responses by status. Resets count as 0, TCP answers as 1, closed TCP connections as 2, and gRPC codes from 1000 on. See
    /// [`RouteCounts::endings`].
    pub statuses: BTreeMap<u16, u64>,
    /// Requests whose client left before the response.
    pub abandoned: u64,
    pub body_bytes: u64,
    /// Over `requests - 1` gaps between arrivals.
    pub gap_sum_ns: f64,
    pub gap_square_sum: f64,
    /// Time from arrival to response, summed over the answered requests.
    pub served_ns: f64,
    pub in_flight: u64,
    pub in_flight_max: u64,
    #[serde(skip)]
    last_arrival_ns: Option<u64>,
}

impl RouteCounts {
    /// Mean and squared coefficient of variation of the time between arrivals (1 for a Poisson process, 0 for an even one).
    pub fn gaps(&self) -> Option<(f64, f64)> {
        let gaps = self.requests.checked_sub(1).filter(|gaps| *gaps > 0)? as f64;
        let mean = self.gap_sum_ns / gaps;
        let variance = (self.gap_square_sum / gaps - mean * mean).max(0.0);
        (mean > 0.0).then(|| (mean, variance / (mean * mean)))
    }

    pub fn answered(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// How its requests ended, by status: `12 × 200`, `3 × UNAVAILABLE`, `1 reset`.
    pub fn endings(&self) -> impl Iterator<Item = String> {
        self.statuses.iter().map(|(status, count)| {
            let times = loadstone_units::counted(*count, "time");
            let count = loadstone_units::count(*count);
            match status {
                0 => format!("{count} reset"),
                &TCP_ANSWERED => times,
                &TCP_CLOSED => format!("{count} closed"),
                status => match status.checked_sub(GRPC_STATUS_BASE).and_then(|code| GRPC_STATUSES.get(usize::from(code))) {
                    Some(name) => format!("{count} × {name}"),
                    None => format!("{count} × {status}"),
                },
            }
        })
    }
}

/// Updates a [`Recording`] as events happen.
#[derive(Debug)]
pub(crate) struct CallRecorder {
    recording: Recording,
    /// The instant up to which `in_flight` has been integrated.
    integrated_ns: u64,
    seconds: Seconds,
}

impl CallRecorder {
    pub(crate) fn new(started_ns: u64, routes: impl Iterator<Item = String>) -> Self {
        let routes = routes.map(|route| RouteCounts { route, ..RouteCounts::default() }).collect();
        Self {
            recording: Recording { started_ns, bin_ns: BIN_NS, routes, ..Recording::default() },
            integrated_ns: started_ns,
            seconds: Seconds::default(),
        }
    }

    pub(crate) fn count_seconds(&mut self, origin_ns: u64) {
        self.seconds.begin(origin_ns, crate::now_ns(), self.recording.in_flight);
    }

    pub(crate) fn seconds(&mut self, now_ns: u64) -> Vec<SecondCounts> {
        self.seconds.take(now_ns)
    }

    /// How a call ended. Called in addition to [`CallRecorder::departed`].
    pub(crate) fn ended(&mut self, now_ns: u64, ending: CallEnding, held_ns: u64) {
        self.seconds.ended(now_ns, ending, held_ns);
    }

    pub(crate) fn connected(&mut self) {
        self.recording.connections += 1;
        self.recording.connections_open += 1;
    }

    pub(crate) fn disconnected(&mut self) {
        self.recording.connections_open -= 1;
    }

    pub(crate) fn unmatched(&mut self) {
        self.recording.unmatched += 1;
    }

    /// Counts an arrival. Returns how many the route had before.
    pub(crate) fn arrived(&mut self, route: usize, now_ns: u64, body_bytes: usize) -> u64 {
        self.integrate(now_ns);
        self.recording.in_flight += 1;
        self.recording.in_flight_max = self.recording.in_flight_max.max(self.recording.in_flight);
        let in_flight = self.recording.in_flight;
        self.seconds.level(now_ns, in_flight);
        self.seconds.arrived(now_ns);
        let bin = self.bin(now_ns);
        bin.arrivals += 1;
        bin.in_flight_max = bin.in_flight_max.max(in_flight);
        let counts = &mut self.recording.routes[route];
        counts.requests += 1;
        counts.body_bytes += body_bytes as u64;
        counts.in_flight += 1;
        counts.in_flight_max = counts.in_flight_max.max(counts.in_flight);
        if let Some(last) = counts.last_arrival_ns.replace(now_ns) {
            let gap = now_ns.saturating_sub(last) as f64;
            counts.gap_sum_ns += gap;
            counts.gap_square_sum += gap * gap;
        }
        counts.requests - 1
    }

    /// `status` is `None` when the client left first.
    pub(crate) fn departed(&mut self, route: usize, arrived_ns: u64, now_ns: u64, status: Option<u16>) {
        self.integrate(now_ns);
        self.recording.in_flight -= 1;
        self.seconds.level(now_ns, self.recording.in_flight);
        self.bin(now_ns).departures += 1;
        let counts = &mut self.recording.routes[route];
        counts.in_flight -= 1;
        match status {
            Some(status) => {
                *counts.statuses.entry(status).or_default() += 1;
                counts.served_ns += now_ns.saturating_sub(arrived_ns) as f64;
            }
            None => counts.abandoned += 1,
        }
    }

    pub(crate) fn read(&mut self, now_ns: u64) -> Recording {
        self.integrate(now_ns);
        self.recording.clone()
    }

    /// Widens the bins until this instant has a bin within the limit.
    fn fit(&mut self, now_ns: u64) {
        while now_ns.saturating_sub(self.recording.started_ns) / self.recording.bin_ns >= BINS_MAX as u64 {
            self.widen();
        }
    }

    fn bin(&mut self, now_ns: u64) -> &mut Bin {
        self.fit(now_ns);
        let since = now_ns.saturating_sub(self.recording.started_ns);
        let index = (since / self.recording.bin_ns) as usize;
        if index >= self.recording.bins.len() {
            self.recording.bins.resize(index + 1, Bin::default());
        }
        &mut self.recording.bins[index]
    }

    fn widen(&mut self) {
        self.recording.bin_ns *= 2;
        let merged = self.recording.bins.chunks(2).map(|pair| {
            let second = pair.get(1).copied().unwrap_or_default();
            Bin {
                arrivals: pair[0].arrivals + second.arrivals,
                departures: pair[0].departures + second.departures,
                in_flight_ns: pair[0].in_flight_ns + second.in_flight_ns,
                in_flight_max: pair[0].in_flight_max.max(second.in_flight_max),
            }
        });
        self.recording.bins = merged.collect();
    }

    /// Distributes the present level over every bin since the last change.
    fn integrate(&mut self, now_ns: u64) {
        let level = self.recording.in_flight;
        if level == 0 || now_ns <= self.integrated_ns {
            self.integrated_ns = self.integrated_ns.max(now_ns);
            return;
        }
        self.fit(now_ns);
        while self.integrated_ns < now_ns {
            let from = self.integrated_ns;
            let bin_ns = self.recording.bin_ns;
            let since = from - self.recording.started_ns;
            let end = (self.recording.started_ns + (since / bin_ns + 1) * bin_ns).min(now_ns);
            let bin = self.bin(from);
            bin.in_flight_ns += level * (end - from);
            bin.in_flight_max = bin.in_flight_max.max(level);
            self.integrated_ns = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn levels_are_integrated_across_bins() {
        let mut recorder = CallRecorder::new(1_000, std::iter::once("GET /".to_owned()));
        recorder.arrived(0, 1_000 + BIN_NS / 2, 0);
        recorder.arrived(0, 1_000 + BIN_NS, 10);
        recorder.departed(0, 1_000 + BIN_NS / 2, 1_000 + 2 * BIN_NS + BIN_NS / 4, Some(200));
        let read = recorder.read(1_000 + 3 * BIN_NS);
        let levels: Vec<_> = read.bins.iter().map(|bin| bin.in_flight_ns * 4 / BIN_NS).collect();
        assert_eq!(levels, [2, 8, 5]);
        assert_eq!((read.in_flight, read.in_flight_max), (1, 2));
        assert_eq!(read.routes[0].statuses, BTreeMap::from([(200, 1)]));
        assert_eq!(read.routes[0].served_ns, 1.75 * BIN_NS as f64);
    }

    #[test]
    fn even_gaps_have_no_variation() {
        let mut recorder = CallRecorder::new(0, std::iter::once("GET /".to_owned()));
        (0..100).for_each(|i| {
            recorder.arrived(0, i * 1_000_000, 0);
        });
        let (mean, variation) = recorder.read(1).routes[0].gaps().unwrap();
        assert!((mean - 1e6).abs() < 1e-6 && variation < 1e-9, "{mean} {variation}");
    }

    proptest! {
        /// For any sequence of events and merges, totals and the time integral equal those of the raw events.
        #[test]
        fn totals_survive_merging(visits in proptest::collection::vec((0u64..3_000_000_000_000, 0u64..2_000_000_000), 1..60)) {
            let mut events: Vec<_> = visits.iter().flat_map(|(at, stay)| [(*at, 1, *at), (at + stay, 0, *at)]).collect();
            events.sort_unstable();
            events.sort_by_key(|(at, kind, _)| (*at, 1 - *kind));
            let mut recorder = CallRecorder::new(0, std::iter::once("GET /".to_owned()));
            for (at, kind, arrived) in events {
                if kind == 1 { recorder.arrived(0, at, 0); } else { recorder.departed(0, arrived, at, Some(200)); }
            }
            let read = recorder.read(0);
            prop_assert!(read.bins.len() <= BINS_MAX);
            prop_assert_eq!(read.bins.iter().map(|bin| bin.arrivals).sum::<u64>(), visits.len() as u64);
            prop_assert_eq!(read.bins.iter().map(|bin| bin.departures).sum::<u64>(), visits.len() as u64);
            prop_assert_eq!(read.bins.iter().map(|bin| bin.in_flight_ns).sum::<u64>(), visits.iter().map(|(_, stay)| stay).sum::<u64>());
        }
    }
}
