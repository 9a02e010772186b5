//! The controller's thread, between the engine's coordinator and the bus.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use loadstone_engine::{AgentCommand, AgentReport, LoadControl, LoadHandle, StopReason};
use loadstone_metrics::Nanos;
use loadstone_metrics::clock::Monotonic;

use crate::bus::{Bus, BusError, exchange};
use crate::controller::{Controller, FleetNews};
use crate::facts::AgentFacts;
use crate::keys::FleetKey;
use crate::nats::{NatsBus, NatsServer, Nudge};
use crate::share::{LabelShare, ShareError, workers_by_share};
use crate::signed_bus::{ControllerGuard, SignedBus};

/// How long one turn waits for packets.
pub(crate) const TURN_WAIT_MAX: Duration = Duration::from_millis(50);

/// What happens to a run when it loses an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossPolicy {
    /// The others continue, and the run reports what is missing.
    Continue,
    /// The run ends as failed.
    Stop,
    /// The others take over its load.
    Replace,
}

/// The process that runs the test. It holds the state that the test's users on all agents share. Its methods are called on the thread that leads the
/// fleet, in the order in which messages arrived.
pub trait TestHost: Send {
    /// Handles a line that the test printed.
    fn line(&mut self, text: String);

    /// Answers a question of a user on this agent.
    fn ask(&mut self, agent: usize, question: &str) -> String;

    fn receive(&mut self, agent: usize, text: &str);

    /// Returns new messages for agents. They arrive before the answer to any later question.
    fn news(&mut self) -> Vec<(usize, String)>;
}

/// Agents that wait for their share of a run.
pub struct GatheredFleet {
    controller: Controller,
    bus: ControllerBus,
    agents: Vec<AgentFacts>,
    orders: (SyncSender<Order>, Receiver<Order>),
}

/// Why the fleet could not be gathered.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error("{found} of {wanted} agents joined within {waited_s} s{refused}: start more with `loadstone agent --join ADDRESS`")]
    TooFew {
        found: usize,
        wanted: usize,
        waited_s: u64,
        /// Why an agent was refused, in brackets. May be empty.
        refused: String,
    },
}

type ControllerBus = SignedBus<NatsBus, ControllerGuard>;

/// This machine's CLOCK_MONOTONIC.
pub(crate) fn now() -> Nanos {
    Monotonic::start().origin_ns()
}

impl GatheredFleet {
    /// Waits until this many agents have joined. `run`: a unique id. `key`: signs what the controller sends.
    ///
    /// # Errors
    /// [`GatherError`]
    pub fn gather(server: &NatsServer, key: FleetKey, run: &str, wanted: usize, wait: Duration) -> Result<Self, GatherError> {
        let mut controller = Controller::new(run.to_owned(), wanted);
        let bus = NatsBus::connect(server, controller.subjects().to_vec())?;
        let mut bus = SignedBus::new(bus, key, ControllerGuard::default(), now);
        let (deadline, mut refused) = (now() + wait.as_nanos() as u64, String::new());
        loop {
            exchange(&mut controller, &mut bus, TURN_WAIT_MAX, now);
            for news in controller.take_news() {
                match news {
                    FleetNews::Gathered(agents) => return Ok(Self { controller, bus, agents, orders: sync_channel(1024) }),
                    FleetNews::Refused(why) => refused = format!(" ({why})"),
                    FleetNews::Report { .. } | FleetNews::Line(_) | FleetNews::Asked { .. } | FleetNews::HostMessage { .. } => {}
                }
            }
            if now() > deadline {
                controller.dismiss("too few agents joined");
                controller.take_outgoing().into_iter().for_each(|packet| bus.publish(packet));
                return Err(GatherError::TooFew { found: controller.joined(), wanted, waited_s: wait.as_secs(), refused });
            }
        }
    }

    /// Divides the load by the agents' labels.
    ///
    /// # Errors
    /// [`ShareError`]: the agents lack the required workers or labels.
    pub fn divide(&mut self, shares: &[LabelShare]) -> Result<(), ShareError> {
        let workers = workers_by_share(&self.agents, shares).inspect_err(|_| {
            self.controller.dismiss("its load cannot be divided by the requested shares");
            self.controller.take_outgoing().into_iter().for_each(|packet| self.bus.publish(packet));
        })?;
        self.controller.use_workers(&workers);
        self.agents.iter_mut().zip(workers).for_each(|(agent, workers)| agent.workers = workers);
        Ok(())
    }

    /// Informs the agents which seconds they need not keep any more.
    pub fn on_disk(&self) -> WrittenSeconds {
        WrittenSeconds(self.orders.0.clone())
    }

    /// The agents, in their order.
    pub fn agents(&self) -> &[AgentFacts] {
        &self.agents
    }

    /// Number of threads on all agents.
    pub fn workers(&self) -> u32 {
        self.agents.iter().map(|agent| agent.workers).sum()
    }

    /// Sends the test to the agents, and from now on forwards messages between the load and the agents. Returns the senders of commands, one per
    /// agent. The fleet is led until the second value is dropped.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn lead(
        mut self,
        test: &str,
        load: LoadHandle,
        policy: LossPolicy,
        mut host: Box<dyn TestHost>,
    ) -> std::io::Result<(Vec<AgentCommandSender>, LedFleet)> {
        if policy == LossPolicy::Replace {
            self.controller.replace_lost();
        }
        self.controller.assign(test);
        let (sender, orders) = self.orders;
        let nudge = self.bus.bus().nudge();
        let senders = (0..self.agents.len()).map(|agent| command_sender(agent, sender.clone(), nudge.clone())).collect();
        let thread = std::thread::Builder::new().name("fleet".to_owned());
        let thread = thread.spawn(move || lead(&mut self.controller, &mut self.bus, &orders, &load, policy, &mut *host))?;
        Ok((senders, LedFleet { orders: sender, nudge, thread: Some(thread) }))
    }
}

/// Informs the fleet which seconds are on disk.
pub struct WrittenSeconds(SyncSender<Order>);

impl WrittenSeconds {
    /// All seconds of an agent before this one are on disk.
    pub fn written(&self, agent: u32, before: u32) {
        // The message may be late or dropped; the agent then keeps the seconds longer.
        let _ = self.0.try_send(Order::Written { agent: agent as usize, before });
    }
}

/// Sends commands to one agent.
pub type AgentCommandSender = Box<dyn Fn(AgentCommand)>;

fn command_sender(agent: usize, orders: SyncSender<Order>, nudge: Nudge) -> AgentCommandSender {
    Box::new(move |command| {
        // The thread outlives the load. If it has ended, its agents were dismissed.
        let _ = orders.send(Order::Command { agent, command });
        nudge.nudge();
    })
}

enum Order {
    Command { agent: usize, command: AgentCommand },
    Written { agent: usize, before: u32 },
    End,
}

/// A fleet during a run.
pub struct LedFleet {
    orders: SyncSender<Order>,
    nudge: Nudge,
    thread: Option<JoinHandle<()>>,
}

impl Drop for LedFleet {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::End);
        self.nudge.nudge();
        // A panic of the thread has already been printed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn lead(
    controller: &mut Controller,
    bus: &mut ControllerBus,
    orders: &Receiver<Order>,
    load: &LoadHandle,
    policy: LossPolicy,
    host: &mut dyn TestHost,
) {
    loop {
        for order in orders.try_iter() {
            match order {
                Order::Command { agent, command } => controller.send_command(agent, &command),
                Order::Written { agent, before } => controller.written(agent, before),
                Order::End => {
                    controller.dismiss("the run is over");
                    controller.take_outgoing().into_iter().for_each(|packet| bus.publish(packet));
                    return;
                }
            }
        }
        exchange(controller, bus, TURN_WAIT_MAX, now);
        for news in controller.take_news() {
            match news {
                FleetNews::Report { agent, report } => {
                    if let (AgentReport::Lost { why, .. }, LossPolicy::Stop) = (&report, policy) {
                        load.send(LoadControl::Stop(StopReason::Failure(why.clone())));
                    }
                    load.report(agent, report);
                }
                FleetNews::Line(text) => host.line(text),
                FleetNews::HostMessage { agent, text } => host.receive(agent, &text),
                FleetNews::Asked { agent, id, text } => {
                    let answer = host.ask(agent, &text);
                    host.news().into_iter().for_each(|(agent, text)| controller.inform(agent, text));
                    controller.answer(agent, id, answer);
                }
                FleetNews::Gathered(_) | FleetNews::Refused(_) => {}
            }
        }
        host.news().into_iter().for_each(|(agent, text)| controller.inform(agent, text));
        // Answers are sent at once, and do not wait for the next turn.
        controller.tick(now());
        controller.take_outgoing().into_iter().for_each(|packet| bus.publish(packet));
    }
}
