//! A load over agents that goes forward step by step, on a clock of the caller's: for simulations of a fleet.

use metrics::Nanos;
use metrics::clock::Clock;
use plan::TestPlan;

use crate::active_load::{ActiveLoad, Pacing, Post};
use crate::agent_messages::{AgentCommand, AgentReport};
use crate::control::{LoadControl, LoadEnding, LoadEvent};
use crate::messages::CoordinatorInput;

/// The load of [`Coordinator::run_agents`](crate::Coordinator::run_agents), without its thread and its queue.
pub struct SteppedLoad<'a>(ActiveLoad<'a>);

impl<'a> SteppedLoad<'a> {
    /// `agents`: how each is told. `lead_ns`: time between telling them and what they are told to begin.
    pub fn new(
        plan: &TestPlan,
        agents: Vec<Box<dyn Fn(AgentCommand)>>,
        clock: Clock,
        lead_ns: Nanos,
        on_event: &'a mut dyn FnMut(LoadEvent) -> Option<LoadControl>,
    ) -> Self {
        let posts = agents.into_iter().map(Post::Agent).collect();
        Self(ActiveLoad::new(plan, posts, Pacing { clock, lead_ns }, false, on_event))
    }

    pub fn report(&mut self, agent: usize, report: AgentReport) {
        self.0.take(CoordinatorInput::Report { from: agent, report: report.into() });
    }

    pub fn control(&mut self, control: LoadControl) {
        self.0.take(CoordinatorInput::Control(control));
    }

    /// Call it about twice a second.
    pub fn tick(&mut self) {
        self.0.look_for_late();
    }

    /// Every agent has ended or was lost.
    pub fn is_over(&self) -> bool {
        self.0.is_over()
    }

    pub fn end(self) -> LoadEnding {
        self.0.end()
    }
}
