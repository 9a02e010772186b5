//! A small discrete-event simulator of targets with known limits, to check the findings.
//!
//! Stations serve in order of arrival with a number of slots; a plain delay is a station with unlimited slots. A request acquires and
//! releases slots, in sequence or nested. An iteration visits its steps in sequence. Load is open (arrivals at a rate) or closed (users in
//! a loop).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use loadstone_metrics::{Outcome, Phases, Recorder, Sample, SeriesId, SeriesKind};
use loadstone_plan::{ClosedStage, LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::draws::Draws;
use crate::synthetic::{self, SECOND};

/// Seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Service {
    Fixed(f64),
    Exponential(f64),
    LogUniform(f64, f64),
    /// `(share of the second, first, second)`.
    Bimodal(f64, f64, f64),
}

impl Service {
    pub(crate) fn draw(self, draws: &mut Draws) -> f64 {
        match self {
            Service::Fixed(seconds) => seconds,
            Service::Exponential(mean) => draws.exponential(mean),
            Service::LogUniform(from, to) => from * (to / from).powf(draws.uniform()),
            Service::Bimodal(share, a, b) => {
                if draws.uniform() < share {
                    b
                } else {
                    a
                }
            }
        }
    }
}

/// A part of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Hop {
    /// Waits for a slot of a station, and holds it.
    Take(usize),
    Pass(Service),
    Give(usize),
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) hops: Vec<Hop>,
    /// Share of the iterations that send only this request; 0: each sends all requests in sequence.
    pub(crate) share: f64,
    /// Probability that an iteration with all requests sends this one. The first is always sent.
    pub(crate) chance: f64,
    /// The user's action before the request.
    pub(crate) pause: Option<Service>,
}

/// Time on the network and in code that is not limited. Seconds.
const AROUND: f64 = 0.0005;

/// A request that holds a slot of the station for all of its time except [`AROUND`].
pub(crate) fn step(name: &'static str, station: usize, service: Service) -> Step {
    let hops = vec![Hop::Pass(Service::Fixed(AROUND)), Hop::Take(station), Hop::Pass(service), Hop::Give(station)];
    Step { name, hops, share: 0.0, chance: 1.0, pause: None }
}

/// Slots per station.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) slots: Vec<usize>,
    pub(crate) steps: Vec<Step>,
}

pub(crate) const UNLIMITED: usize = usize::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival,
    /// The user of an iteration has paused.
    Request(usize),
    /// The request continues.
    Hop(usize),
    Level,
}

struct Iteration {
    step: usize,
    /// The next part of the request.
    hop: usize,
    first: usize,
    is_asked: bool,
    scheduled: u64,
    started: u64,
    open: bool,
}

struct Simulation<'a> {
    target: &'a Target,
    draws: Draws,
    recorder: Recorder,
    ids: Vec<SeriesId>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    order: u64,
    busy: Vec<usize>,
    waiting: Vec<VecDeque<usize>>,
    iterations: Vec<Iteration>,
    now: u64,
    users: u64,
    active: u64,
    asked: u64,
}

impl Simulation<'_> {
    fn at(&mut self, delay: f64, event: Event) {
        self.order += 1;
        self.events.push(Reverse((self.now + (delay * 1e9) as u64, self.order, event)));
    }

    fn begin(&mut self, scheduled: u64, open: bool) {
        let step = self.first_step();
        self.iterations.push(Iteration { step, hop: 0, first: step, is_asked: false, scheduled, started: self.now, open });
        self.active += 1;
        let (now, active) = (self.now, self.active);
        self.recorder.leaf(0).started += 1;
        self.recorder.users_active(0, now, active);
        self.approach(self.iterations.len() - 1);
    }

    fn first_step(&mut self) -> usize {
        let all: f64 = self.target.steps.iter().map(|step| step.share).sum();
        let drawn = if all > 0.0 { self.draws.uniform() * all } else { 0.0 };
        let mut until = 0.0;
        let mut ends = self.target.steps.iter().map(|step| {
            until += step.share;
            until
        });
        ends.position(|end| drawn < end).unwrap_or(0)
    }

    /// The pause before the request, then the request itself.
    fn approach(&mut self, iteration: usize) {
        match self.target.steps[self.iterations[iteration].step].pause {
            Some(pause) => {
                let seconds = pause.draw(&mut self.draws);
                self.at(seconds, Event::Request(iteration));
            }
            None => self.request(iteration),
        }
    }

    fn request(&mut self, iteration: usize) {
        self.recorder.request_began(self.now);
        let now = self.now;
        let it = &mut self.iterations[iteration];
        (it.hop, it.is_asked, it.started) = (0, true, now);
        self.go_on(iteration);
    }

    /// Continues until the request has to wait, or ends.
    fn go_on(&mut self, iteration: usize) {
        let target = self.target;
        loop {
            let Iteration { step, hop, .. } = self.iterations[iteration];
            let Some(next) = target.steps[step].hops.get(hop) else { return self.answered(iteration) };
            self.iterations[iteration].hop += 1;
            match *next {
                Hop::Pass(service) => {
                    let seconds = service.draw(&mut self.draws);
                    return self.at(seconds, Event::Hop(iteration));
                }
                Hop::Take(station) if self.busy[station] < target.slots[station] => self.busy[station] += 1,
                Hop::Take(station) => return self.waiting[station].push_back(iteration),
                Hop::Give(station) => match self.waiting[station].pop_front() {
                    Some(next) => self.go_on(next),
                    None => self.busy[station] -= 1,
                },
            }
        }
    }

    /// The run is over: open requests are cut off.
    fn interrupt(&mut self) {
        for index in 0..self.iterations.len() {
            if self.iterations[index].step < self.target.steps.len() {
                if self.iterations[index].is_asked {
                    self.record(index, Outcome::Interrupted);
                }
                self.recorder.leaf(0).interrupted += 1;
                self.active -= 1;
            }
        }
        self.recorder.users_active(0, self.now, self.active);
    }

    fn answered(&mut self, index: usize) {
        self.record(index, Outcome::Passed);
        let steps = &self.target.steps;
        let Iteration { step, first, .. } = self.iterations[index];
        let mut next = if steps[first].share > 0.0 { steps.len() } else { step + 1 };
        while next < steps.len() && steps[next].chance < 1.0 && self.draws.uniform() > steps[next].chance {
            next += 1;
        }
        let iteration = &mut self.iterations[index];
        (iteration.step, iteration.started, iteration.is_asked) = (next, self.now, false);
        if next < steps.len() {
            self.approach(index);
            return;
        }
        let open = iteration.open;
        self.active -= 1;
        let (now, active) = (self.now, self.active);
        self.recorder.leaf(0).ended += 1;
        self.recorder.users_active(0, now, active);
        if !open && self.users <= self.asked {
            self.begin(self.now, false);
        } else if !open {
            self.users -= 1;
        }
    }

    fn record(&mut self, index: usize, outcome: Outcome) {
        self.recorder.request_ended(self.now);
        let iteration = &self.iterations[index];
        let scheduled = if iteration.step == iteration.first && iteration.open { iteration.scheduled } else { iteration.started };
        let sample = Sample {
            scheduled,
            started: iteration.started,
            ended: self.now,
            phases: Phases::default(),
            outcome,
            status: 200,
            bytes_sent: 100,
            bytes_received: 100,
            retried: 0,
            trace: None,
        };
        self.recorder.record(self.ids[iteration.step], &sample);
    }
}

/// Arrivals per second or requested users at a time; `None` past the end.
fn level(profile: &LoadProfile, seconds: f64) -> Option<f64> {
    let stages: Vec<(f64, f64, u64)> = match profile {
        LoadProfile::Open { stages } => stages
            .iter()
            .filter_map(|stage| match stage {
                OpenStage::Rate { from, to, duration_ns, .. } => Some((*from, *to, *duration_ns)),
                OpenStage::Burst { .. } | OpenStage::Replay(_) => None,
            })
            .collect(),
        LoadProfile::Closed { stages } => stages.iter().map(|stage| (stage.from as f64, stage.to as f64, stage.duration_ns)).collect(),
        LoadProfile::Iterations { .. } | LoadProfile::Recorded { .. } => Vec::new(),
    };
    let mut begin = 0.0;
    for (from, to, duration_ns) in stages {
        let length = duration_ns as f64 / 1e9;
        if seconds < begin + length {
            return Some(from + (to - from) * ((seconds - begin) / length));
        }
        begin += length;
    }
    None
}

pub(crate) fn ramp(from: f64, to: f64, seconds: u64, timing: Timing) -> LoadProfile {
    LoadProfile::Open { stages: vec![OpenStage::Rate { from, to, duration_ns: seconds * SECOND, timing }] }
}

pub(crate) fn users(from: u64, to: u64, seconds: u64) -> LoadProfile {
    LoadProfile::Closed { stages: vec![ClosedStage { from, to, duration_ns: seconds * SECOND }] }
}

/// Slots in use and requests that wait for one, of one station at the end of a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StationSecond {
    pub(crate) busy: f64,
    pub(crate) waiting: f64,
}

/// Runs the profile against the target, then lets iterations finish for at most 10 s.
pub(crate) fn simulate(target: &Target, profile: LoadProfile, seed: u64) -> Run {
    simulate_observed(target, profile, seed).0
}

/// The same with the state of each station at the end of each second.
pub(crate) fn simulate_observed(target: &Target, profile: LoadProfile, seed: u64) -> (Run, Vec<Vec<StationSecond>>) {
    let mut recorder = Recorder::new(0, 100);
    let ids = target.steps.iter().map(|step| recorder.series(&synthetic::key(SeriesKind::Request, step.name))).collect();
    let mut simulation = Simulation {
        target,
        draws: Draws::new(seed),
        recorder,
        ids,
        events: BinaryHeap::new(),
        order: 0,
        busy: vec![0; target.slots.len()],
        waiting: vec![VecDeque::new(); target.slots.len()],
        iterations: Vec::new(),
        now: 0,
        users: 0,
        active: 0,
        asked: 0,
    };
    let is_open = profile.is_open();
    simulation.at(0.0, if is_open { Event::Arrival } else { Event::Level });
    let (mut slices, mut stations) = (Vec::new(), vec![Vec::new(); target.slots.len()]);
    let end = profile.duration_ns().unwrap_or(0) + 10 * SECOND;
    while let Some(Reverse((at, _, event))) = simulation.events.pop() {
        while at >= (slices.len() as u64 + 1) * SECOND {
            let number = slices.len() as u64;
            let generator = simulation.recorder.generator();
            (generator.wall_ns, generator.busy_ns) = (SECOND, SECOND / 10);
            slices.push(simulation.recorder.drain(number as u32, number * SECOND, (number + 1) * SECOND));
            for (index, seconds) in stations.iter_mut().enumerate() {
                seconds.push(StationSecond { busy: simulation.busy[index] as f64, waiting: simulation.waiting[index].len() as f64 });
            }
        }
        if at >= end {
            break;
        }
        simulation.now = at;
        match event {
            Event::Arrival => {
                let Some(rate) = level(&profile, at as f64 / 1e9) else { continue };
                simulation.recorder.leaf(0).arrivals_due += 1;
                simulation.begin(at, true);
                let is_poisson = matches!(&profile, LoadProfile::Open { stages } if matches!(stages[0], OpenStage::Rate { timing: Timing::Poisson, .. }));
                let gap = if is_poisson { simulation.draws.exponential(1.0 / rate) } else { 1.0 / rate };
                simulation.at(gap, Event::Arrival);
            }
            Event::Level => {
                let wanted = level(&profile, at as f64 / 1e9).map_or(0, |users| users as u64);
                simulation.asked = wanted;
                simulation.recorder.leaf(0).users_asked = wanted;
                while simulation.users < wanted {
                    simulation.users += 1;
                    simulation.begin(at, false);
                }
                if wanted > 0 {
                    simulation.at(0.1, Event::Level);
                }
            }
            Event::Request(iteration) => simulation.request(iteration),
            Event::Hop(iteration) => simulation.go_on(iteration),
        }
    }
    simulation.interrupt();
    let number = slices.len() as u64;
    slices.push(simulation.recorder.drain(number as u32, number * SECOND, simulation.now.max(number * SECOND + 1)));
    for seconds in &mut stations {
        seconds.push(StationSecond { busy: 0.0, waiting: 0.0 });
    }
    (synthetic::run_of(synthetic::plan(profile), slices), stations)
}
