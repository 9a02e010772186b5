//! Whether the machine itself held still while something was timed.
//!
//! A virtual machine's cores are taken away by their host at any moment, for milliseconds at a time, and no program in it can be on time
//! then. So a timer at real-time priority ticks on both cores during a measurement: it comes before everything else in this
//! machine, and what it is late by, the machine is. A measurement is taken again while the machine did not hold still, at most
//! [`TRIES`] times; the stillest counts, and how still it was is printed with the figures. Needs root.

use std::mem::size_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use checkout::machine::{GENERATOR_CORE, SERVER_CORE};

/// From tick to tick.
const STEP: Duration = Duration::from_millis(1);
/// A tick that is later than this finds that its core was away. Wake-ups and the kernel's own work take less.
const AWAY: Duration = Duration::from_micros(500);
/// A core may be away for this part of the time that a quantile leaves out, for the machine to have held still for it: 0.5 % for p99.
const STILL: f64 = 0.5;
/// Measurements taken for one that is still.
pub(crate) const TRIES: u32 = 4;

/// The ticks of one core. Microseconds late, in order of size.
struct CoreTicks {
    late_us: Vec<f64>,
    length: Duration,
}

/// What the timers saw.
pub(crate) struct Stillness {
    generator: CoreTicks,
    server: CoreTicks,
}

/// Timers that run until [`StillnessWatch::end`].
pub(crate) struct StillnessWatch {
    ended: Arc<AtomicBool>,
    cores: [JoinHandle<Result<CoreTicks>>; 2],
}

impl StillnessWatch {
    pub(crate) fn begin() -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let cores = [GENERATOR_CORE, SERVER_CORE].map(|core| {
            let ended = Arc::clone(&ended);
            thread::spawn(move || tick(core, &ended))
        });
        Self { ended, cores }
    }

    pub(crate) fn end(self) -> Result<Stillness> {
        self.ended.store(true, Ordering::Relaxed);
        let [generator, server] =
            self.cores.map(|core| core.join().unwrap_or_else(|_| bail!("the timer that ran with the measurement ended early")));
        Ok(Stillness { generator: generator?, server: server? })
    }
}

/// Measures until the machine held still enough for a quantile, and returns the stillest measurement.
pub(crate) fn stillest<T>(quantile: f64, mut measure: impl FnMut() -> Result<T>) -> Result<(T, Stillness)> {
    let mut best: Option<(T, Stillness)> = None;
    for _ in 0..TRIES {
        let watch = StillnessWatch::begin();
        let measured = measure();
        let stillness = watch.end()?;
        let measured = measured?;
        if best.as_ref().is_none_or(|(_, least)| stillness.away_share() < least.away_share()) {
            best = Some((measured, stillness));
        }
        if best.as_ref().is_some_and(|(_, stillness)| stillness.holds_for(quantile)) {
            break;
        }
    }
    best.context("nothing was measured")
}

impl Stillness {
    /// Whether the machine was available enough for a statement about a quantile of times.
    pub(crate) fn holds_for(&self, quantile: f64) -> bool {
        self.away_share() <= STILL * (1.0 - quantile)
    }

    /// Share of the time that the worse of the two cores was away. 0 to 1.
    pub(crate) fn away_share(&self) -> f64 {
        self.generator.away_share().max(self.server.away_share())
    }

    /// How late a timer at real-time priority fired on the generator's core. Microseconds.
    pub(crate) fn late_us(&self, quantile: f64) -> f64 {
        self.generator.late_us(quantile)
    }

    /// `0.013 %`
    pub(crate) fn shown(&self) -> String {
        format!("{:.3} %", self.away_share() * 100.0)
    }
}

impl CoreTicks {
    fn away_share(&self) -> f64 {
        let away: f64 = self.late_us.iter().filter(|late| **late > AWAY.as_secs_f64() * 1e6).sum();
        away / 1e6 / self.length.as_secs_f64()
    }

    /// The smallest value that at least this share of the ticks does not exceed.
    fn late_us(&self, quantile: f64) -> f64 {
        let rank = (self.late_us.len() as f64 * quantile).ceil() as usize;
        self.late_us.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures the machine, and xtask uses none of the project's crates")]
fn tick(core: usize, ended: &AtomicBool) -> Result<CoreTicks> {
    come_first(core)?;
    let began = Instant::now();
    let (mut due, mut late_us) = (began, Vec::new());
    while !ended.load(Ordering::Relaxed) {
        // After a long absence it goes on from now, instead of making up for what it missed.
        due = Instant::now().max(due + STEP);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        late_us.push(due.elapsed().as_secs_f64() * 1e6);
    }
    late_us.sort_by(f64::total_cmp);
    Ok(CoreTicks { late_us, length: began.elapsed() })
}

/// Pins this thread to a core and lets it come before everything else there.
fn come_first(core: usize) -> Result<()> {
    // SAFETY: the set is plain memory that is filled before use; both calls only read it and the parameter, of the sizes given.
    let failed = unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut cores);
        let parameter = libc::sched_param { sched_priority: 50 };
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const cores) != 0
            || libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) != 0
    };
    if failed {
        return Err(std::io::Error::last_os_error()).context("a timer at real-time priority needs root");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(late_us: &[f64]) -> CoreTicks {
        CoreTicks { late_us: late_us.to_vec(), length: Duration::from_secs(1) }
    }

    #[test]
    fn a_core_was_away_as_long_as_late_ticks_say() {
        let stillness = Stillness { generator: ticks(&[10.0, 20.0, 30.0, 400.0]), server: ticks(&[10.0, 2_000.0, 8_000.0]) };
        assert!((stillness.away_share() - 0.01).abs() < 1e-9 && stillness.holds_for(0.9) && !stillness.holds_for(0.99));
        assert_eq!([0.5, 0.99].map(|quantile| stillness.late_us(quantile)), [20.0, 400.0]);
        assert!(Stillness { generator: ticks(&[10.0; 9]), server: ticks(&[499.0]) }.holds_for(0.999));
    }
}
