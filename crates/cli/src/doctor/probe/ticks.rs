//! CPU time of the machine.

/// CPU time, summed over all cores.
pub(super) struct Ticks {
    pub(super) all: u64,
    pub(super) idle: u64,
    pub(super) stolen: u64,
}

impl Ticks {
    /// Shares since an earlier reading: stolen, and used.
    pub(super) fn since(&self, before: &Self) -> Option<(f64, f64)> {
        let all = self.all.checked_sub(before.all).filter(|ticks| *ticks > 0)? as f64;
        let (idle, stolen) = (self.idle.saturating_sub(before.idle) as f64, self.stolen.saturating_sub(before.stolen) as f64);
        Some((stolen / all, ((all - idle - stolen) / all).max(0.0)))
    }
}
