//! The controller's thread: between the engine's coordinator and the bus.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use loadstone_engine::{AgentCommand, AgentReport, LoadControl, LoadHandle, StopReason};
use loadstone_metrics::Nanos;
use loadstone_metrics::clock::Monotonic;

use crate::bus::{Bus, BusError, exchange};
use crate::controller::{Controller, FleetNews};
use crate::facts::AgentFacts;
use crate::nats::{NatsBus, NatsServer, Nudge};
use crate::share::{LabelShare, ShareError, workers_by_share};

/// How long a turn waits for packets.
pub(crate) const TURN: Duration = Duration::from_millis(50);

/// What becomes of a run when one of its agents is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossPolicy {
    /// The others go on, and the run says what is missing.
    Continue,
    /// It ends as failed.
    Stop,
    /// The others make its part, too.
    Replace,
}

/// Whoever runs the test: keeps what its users on all agents have in common. Called on the thread that leads the fleet, in the order in which what
/// they say arrived.
pub trait TestHost: Send {
    /// A line that the test printed.
    fn line(&mut self, text: String);

    /// A question of a user on this agent. The answer.
    fn ask(&mut self, agent: usize, question: &str) -> String;

    fn tell(&mut self, agent: usize, text: &str);

    /// What agents are to know by now. It reaches them before the answer to any later question.
    fn news(&mut self) -> Vec<(usize, String)>;
}

/// Agents that wait for their part of a run.
pub struct GatheredFleet {
    controller: Controller,
    bus: NatsBus,
    agents: Vec<AgentFacts>,
    orders: (SyncSender<Order>, Receiver<Order>),
}

/// The agents did not come together.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error("{found} of {wanted} agents came within {waited_s} s{refused}: start more with `loadstone agent --join ADDRESS`")]
    TooFew {
        found: usize,
        wanted: usize,
        waited_s: u64,
        /// Why one that came was not taken, in brackets; or nothing.
        refused: String,
    },
}

/// This machine's CLOCK_MONOTONIC.
pub(crate) fn now() -> Nanos {
    Monotonic::start().origin_ns()
}

impl GatheredFleet {
    /// Waits until so many agents have come. `run`: an id like no other run's.
    ///
    /// # Errors
    /// [`GatherError`]
    pub fn gather(server: &NatsServer, run: &str, wanted: usize, wait: Duration) -> Result<Self, GatherError> {
        let mut controller = Controller::new(run.to_owned(), wanted);
        let mut bus = NatsBus::connect(server, controller.subjects().to_vec())?;
        let (deadline, mut refused) = (now() + wait.as_nanos() as u64, String::new());
        loop {
            exchange(&mut controller, &mut bus, TURN, now);
            for news in controller.take_news() {
                match news {
                    FleetNews::Gathered(agents) => return Ok(Self { controller, bus, agents, orders: sync_channel(1024) }),
                    FleetNews::Refused(why) => refused = format!(" ({why})"),
                    FleetNews::Report { .. } | FleetNews::Line(_) | FleetNews::Asked { .. } | FleetNews::Told { .. } => {}
                }
            }
            if now() > deadline {
                controller.dismiss("too few agents came together");
                controller.take_outgoing().into_iter().for_each(|packet| bus.publish(packet));
                return Err(GatherError::TooFew { found: controller.joined(), wanted, waited_s: wait.as_secs(), refused });
            }
        }
    }

    /// Divides the load by the agents' labels.
    ///
    /// # Errors
    /// [`ShareError`]: the agents have not the workers, or the labels, for it.
    pub fn divide(&mut self, shares: &[LabelShare]) -> Result<(), ShareError> {
        let workers = workers_by_share(&self.agents, shares).inspect_err(|_| {
            self.controller.dismiss("its load cannot be shared as it was asked for");
            self.controller.take_outgoing().into_iter().for_each(|packet| self.bus.publish(packet));
        })?;
        self.controller.use_workers(&workers);
        self.agents.iter_mut().zip(workers).for_each(|(agent, workers)| agent.workers = workers);
        Ok(())
    }

    /// By which agents are told what they need not keep any more.
    pub fn on_disk(&self) -> WrittenSeconds {
        WrittenSeconds(self.orders.0.clone())
    }

    /// In their order.
    pub fn agents(&self) -> &[AgentFacts] {
        &self.agents
    }

    /// Threads of all agents.
    pub fn workers(&self) -> u32 {
        self.agents.iter().map(|agent| agent.workers).sum()
    }

    /// Hands out the test, and carries from now on what the load and the agents tell each other. Returns how each agent is told. The fleet is
    /// led until the second value is dropped.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn lead(
        mut self,
        test: &str,
        load: LoadHandle,
        policy: LossPolicy,
        mut host: impl TestHost + 'static,
    ) -> std::io::Result<(Vec<AgentPost>, LedFleet)> {
        if policy == LossPolicy::Replace {
            self.controller.replace_lost();
        }
        self.controller.assign(test);
        let (sender, orders) = self.orders;
        let nudge = self.bus.nudge();
        let posts = (0..self.agents.len()).map(|agent| post(agent, sender.clone(), nudge.clone())).collect();
        let thread = std::thread::Builder::new().name("fleet".to_owned());
        let thread = thread.spawn(move || lead(&mut self.controller, &mut self.bus, &orders, &load, policy, &mut host))?;
        Ok((posts, LedFleet { orders: sender, nudge, thread: Some(thread) }))
    }
}

/// Tells the fleet what is on disk.
pub struct WrittenSeconds(SyncSender<Order>);

impl WrittenSeconds {
    /// All seconds of an agent before this one.
    pub fn written(&self, agent: u32, before: u32) {
        // It may be told later, or not at all: the agent keeps them for longer then.
        let _ = self.0.try_send(Order::Written { agent: agent as usize, before });
    }
}

/// Tells one agent.
pub type AgentPost = Box<dyn Fn(AgentCommand)>;

fn post(agent: usize, orders: SyncSender<Order>, nudge: Nudge) -> AgentPost {
    Box::new(move |command| {
        // The thread outlives the load; should it be gone, its agents were dismissed.
        let _ = orders.send(Order::Tell { agent, command });
        nudge.nudge();
    })
}

enum Order {
    Tell { agent: usize, command: AgentCommand },
    Written { agent: usize, before: u32 },
    End,
}

/// A fleet at work.
pub struct LedFleet {
    orders: SyncSender<Order>,
    nudge: Nudge,
    thread: Option<JoinHandle<()>>,
}

impl Drop for LedFleet {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::End);
        self.nudge.nudge();
        // One that panicked has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn lead(
    controller: &mut Controller,
    bus: &mut NatsBus,
    orders: &Receiver<Order>,
    load: &LoadHandle,
    policy: LossPolicy,
    host: &mut dyn TestHost,
) {
    loop {
        for order in orders.try_iter() {
            match order {
                Order::Tell { agent, command } => controller.tell(agent, &command),
                Order::Written { agent, before } => controller.written(agent, before),
                Order::End => {
                    controller.dismiss("the run is over");
                    controller.take_outgoing().into_iter().for_each(|packet| bus.publish(packet));
                    return;
                }
            }
        }
        exchange(controller, bus, TURN, now);
        for news in controller.take_news() {
            match news {
                FleetNews::Report { agent, report } => {
                    if let (AgentReport::Lost { why, .. }, LossPolicy::Stop) = (&report, policy) {
                        load.send(LoadControl::Stop(StopReason::Failure(why.clone())));
                    }
                    load.report(agent, report);
                }
                FleetNews::Line(text) => host.line(text),
                FleetNews::Told { agent, text } => host.tell(agent, &text),
                FleetNews::Asked { agent, id, text } => {
                    let answer = host.ask(agent, &text);
                    host.news().into_iter().for_each(|(agent, text)| controller.inform(agent, text));
                    controller.answer(agent, id, answer);
                }
                FleetNews::Gathered(_) | FleetNews::Refused(_) => {}
            }
        }
        host.news().into_iter().for_each(|(agent, text)| controller.inform(agent, text));
        // Answers need not wait for the next turn.
        controller.tick(now());
        controller.take_outgoing().into_iter().for_each(|packet| bus.publish(packet));
    }
}
