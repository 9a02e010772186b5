//! Systems with a limit in closed form: one place takes `1 / capacity` seconds for each request, and requests beyond the capacity wait.
//! Creates a run of such a system under any load shape, without randomness, and the signals that it would show.

use loadstone_metrics::{Outcome, Snapshot};
use loadstone_plan::{ClosedStage, LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::synthetic::{self, MS, SECOND, Slice};

/// The load.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Load {
    /// Arrivals per second from and to, and seconds.
    Ramp(f64, f64, u64),
    /// The same, followed by seconds without arrivals.
    RampAndRest(f64, f64, u64, u64),
    /// Users from and to, and seconds. They never pause.
    Users(u64, u64, u64),
}

/// The limit of "Register". "Health" takes a millisecond and does not wait, unless stated otherwise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct System {
    /// Maximum "Register" requests per second.
    pub(crate) capacity: f64,
    /// Time of a request that does not wait. Seconds.
    pub(crate) base: f64,
    /// Whether "Health" waits in the same queue.
    pub(crate) is_shared: bool,
}

/// A run, and the state of each of its seconds.
pub(crate) struct FluidRun {
    pub(crate) run: Run,
    /// "Register" requests that ended in each second.
    pub(crate) ended: Vec<f64>,
    /// Requests waiting or in service at the end of each second.
    pub(crate) open: Vec<f64>,
}

impl System {
    pub(crate) fn under(self, load: Load) -> FluidRun {
        let seconds = match load {
            Load::Ramp(_, _, seconds) | Load::Users(_, _, seconds) => seconds,
            Load::RampAndRest(_, _, seconds, rest) => seconds + rest,
        };
        let (mut ended, mut open, mut slices) = (Vec::new(), Vec::new(), Vec::new());
        let (mut backlog, mut due, mut served) = (0.0, 0.0, 0.0);
        for second in 0..seconds {
            let (asked, done, wait) = match load {
                Load::Ramp(from, to, length) | Load::RampAndRest(from, to, length, _) => {
                    let asked = if second < length { from + (to - from) * (second as f64 + 0.5) / length as f64 } else { 0.0 };
                    let done = f64::min(self.capacity, backlog + asked);
                    backlog = (backlog + asked - done).max(0.0);
                    (asked, done, backlog / self.capacity)
                }
                Load::Users(from, to, length) => {
                    let users = (from as f64 + (to as f64 - from as f64) * (second as f64 + 0.5) / length as f64).round();
                    let done = f64::min(self.capacity, users / self.base);
                    (users, done, users / done - self.base)
                }
            };
            // Whole numbers with the correct sum.
            let whole = |sum: &mut f64, more: f64| {
                let before = sum.floor();
                *sum += more;
                (sum.floor() - before) as u64
            };
            let (asked_whole, done_whole) = (whole(&mut due, asked), whole(&mut served, done));
            let service = ((self.base + wait) * 1e9) as u64;
            let health = if self.is_shared { MS + (wait * 1e9) as u64 } else { MS };
            let users = asked as u64;
            let mut slice = Slice::new(second as u32).requests("Register", done_whole, service).requests("Health", done_whole, health);
            slice = slice.leaf(|leaf| match load {
                Load::Ramp(..) | Load::RampAndRest(..) => {
                    (leaf.arrivals_due, leaf.started, leaf.ended) = (asked_whole, asked_whole, done_whole)
                }
                Load::Users(..) => (leaf.users_asked, leaf.users_active, leaf.ended) = (users, users, done_whole),
            });
            slices.push(slice.done());
            ended.push(done);
            open.push(done * (self.base + wait));
        }
        let profile = match load {
            Load::Ramp(from, to, seconds) | Load::RampAndRest(from, to, seconds, _) => {
                LoadProfile::Open { stages: vec![OpenStage::Rate { from, to, duration_ns: seconds * SECOND, timing: Timing::Even }] }
            }
            Load::Users(from, to, seconds) => LoadProfile::Closed { stages: vec![ClosedStage { from, to, duration_ns: seconds * SECOND }] },
        };
        FluidRun { run: synthetic::run_of(synthetic::plan(profile), slices), ended, open }
    }
}

/// Seconds of constant load in which requests have the given times and failures.
pub(crate) fn constant(seconds: u32, rate: u64, second: impl Fn(u32) -> (u64, u64)) -> Run {
    let slice = |number: u32| -> Snapshot {
        let (service, failed) = second(number);
        let mut slice = Slice::new(number).arrivals(rate);
        for index in 0..rate {
            let outcome = if index < failed { Outcome::Status } else { Outcome::Passed };
            slice = slice.request("Order", 0, service, outcome);
        }
        slice.done()
    };
    synthetic::run_of(synthetic::plan(synthetic::open(rate as f64, u64::from(seconds))), (0..seconds).map(slice).collect())
}
