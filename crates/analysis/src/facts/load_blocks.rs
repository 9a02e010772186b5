//! Blocks of time into which a run is cut, and stretches of several blocks: load, throughput and service times of one request.

/// A few seconds of the run. Seconds since it began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadBlock {
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Planned arrivals per second, or planned users.
    pub(crate) load: f64,
    pub(crate) count: u64,
    pub(crate) failed: u64,
    /// The sum of service times. Seconds.
    pub(crate) service_sum: f64,
    /// The sum of their squares.
    pub(crate) service_squares: f64,
}

/// Several blocks together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadStretch {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) load: f64,
    pub(crate) count: u64,
    /// Requests that ended per second.
    pub(crate) throughput: f64,
    /// Its standard error over the blocks.
    pub(crate) throughput_error: f64,
    /// Mean service time. Seconds.
    pub(crate) service: f64,
    /// Its standard error over the blocks.
    pub(crate) service_error: f64,
    /// Standard deviation of single service times.
    pub(crate) service_deviation: f64,
}

/// Several seconds as one block; `None` without any.
pub(super) fn joined(seconds: &[LoadBlock]) -> Option<LoadBlock> {
    let (first, last) = (seconds.first()?, seconds.last()?);
    let length = seconds.len() as f64;
    Some(LoadBlock {
        from: first.from,
        to: last.to,
        load: seconds.iter().map(|second| second.load).sum::<f64>() / length,
        count: seconds.iter().map(|second| second.count).sum(),
        failed: seconds.iter().map(|second| second.failed).sum(),
        service_sum: seconds.iter().map(|second| second.service_sum).sum(),
        service_squares: seconds.iter().map(|second| second.service_squares).sum(),
    })
}

/// The blocks, each with the mean load of itself and its neighbours: random arrivals scatter around the planned level.
pub(super) fn smoothed(blocks: Vec<LoadBlock>) -> Vec<LoadBlock> {
    let level = |index: usize| {
        let around = &blocks[index.saturating_sub(1)..(index + 2).min(blocks.len())];
        around.iter().map(|block| block.load).sum::<f64>() / around.len() as f64
    };
    blocks.iter().enumerate().map(|(index, block)| LoadBlock { load: level(index), ..*block }).collect()
}

pub(super) fn max_load(blocks: &[LoadBlock]) -> f64 {
    blocks.iter().map(|block| block.load).fold(0.0, f64::max)
}

/// Whether a load is low: up to a third of the highest.
pub(super) fn is_low(load: f64, max: f64) -> bool {
    load <= max / 3.0
}

/// Whether a load is high: from two thirds of the highest.
pub(super) fn is_high(load: f64, max: f64) -> bool {
    load >= max * 2.0 / 3.0
}

impl LoadBlock {
    pub(crate) fn throughput(&self) -> f64 {
        self.count as f64 / (self.to - self.from).max(1e-9)
    }
}

impl LoadStretch {
    /// Standard error of the mean service time: from the difference between blocks, and at least from the scatter of single times, since two or three blocks
    /// may be equal by chance.
    pub(crate) fn mean_error(&self) -> f64 {
        self.service_error.max(self.service_deviation / (self.count.max(1) as f64).sqrt())
    }

    /// `None` when nothing ended in the blocks.
    pub(crate) fn of(blocks: &[&LoadBlock]) -> Option<LoadStretch> {
        let count: u64 = blocks.iter().map(|block| block.count).sum();
        if count == 0 {
            return None;
        }
        let seconds: f64 = blocks.iter().map(|block| block.to - block.from).sum();
        let throughput = count as f64 / seconds;
        let service = blocks.iter().map(|block| block.service_sum).sum::<f64>() / count as f64;
        let m = blocks.len() as f64;
        // The error of the mean over blocks. For the service time, blocks are weighted by their requests.
        let error = |squares: f64| if m > 1.0 { (squares / (m * (m - 1.0))).sqrt() } else { f64::INFINITY };
        let throughput_error = error(blocks.iter().map(|block| (block.throughput() - throughput).powi(2)).sum());
        let mean_count = count as f64 / m;
        let service_error = error(blocks.iter().map(|block| (block.service_sum - service * block.count as f64).powi(2)).sum()) / mean_count;
        let squares = blocks.iter().map(|block| block.service_squares).sum::<f64>() / count as f64;
        Some(LoadStretch {
            from: blocks.iter().map(|block| block.from).fold(f64::INFINITY, f64::min),
            to: blocks.iter().map(|block| block.to).fold(0.0, f64::max),
            load: blocks.iter().map(|block| block.load).sum::<f64>() / m,
            count,
            throughput,
            throughput_error,
            service,
            service_error,
            service_deviation: (squares - service * service).max(0.0).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_equal_blocks_are_no_more_certain_than_their_single_times() {
        // Requests of 20 and of 100 ms.
        let block = |from: f64| LoadBlock {
            from,
            to: from + 1.0,
            load: 4.0,
            count: 4,
            failed: 0,
            service_sum: 0.24,
            service_squares: 2.0 * 0.02_f64.powi(2) + 2.0 * 0.1_f64.powi(2),
        };
        let stretch = LoadStretch::of(&[&block(0.0), &block(1.0)]).unwrap();
        assert!(stretch.service_error < 1e-9);
        assert!((stretch.mean_error() - 0.04 / 8.0_f64.sqrt()).abs() < 1e-9, "{}", stretch.mean_error());
    }
}
