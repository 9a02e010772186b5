//! A load over agents that the caller advances step by step, on its own clock: for simulations of a fleet.

use loadstone_metrics::Nanos;
use loadstone_metrics::clock::Clock;
use loadstone_plan::TestPlan;

use crate::active_load::{ActiveLoad, CommandSink, Pacing};
use crate::agent_messages::{AgentCommand, AgentReport};
use crate::control::{LoadControl, LoadEnding, LoadEvent};
use crate::messages::CoordinatorInput;

/// The load of [`Coordinator::run_agents`](crate::Coordinator::run_agents), without its thread and its queue.
pub struct SteppedLoad<'a>(ActiveLoad<'a>);

impl<'a> SteppedLoad<'a> {
    /// `agents`: the function that sends each agent its commands. `lead_ns`: time between a command and the instant at which it takes effect.
    pub fn new(
        plan: &TestPlan,
        agents: Vec<Box<dyn Fn(AgentCommand)>>,
        clock: Clock,
        lead_ns: Nanos,
        on_event: &'a mut dyn FnMut(LoadEvent) -> Option<LoadControl>,
    ) -> Self {
        let senders = agents.into_iter().map(CommandSink::Agent).collect();
        Self(ActiveLoad::new(plan, senders, Pacing { clock, lead_ns }, false, on_event))
    }

    pub fn report(&mut self, agent: usize, report: AgentReport) {
        self.0.take(CoordinatorInput::Report { from: agent, report: report.into() });
    }

    pub fn control(&mut self, control: LoadControl) {
        self.0.take(CoordinatorInput::Control(control));
    }

    /// Call it about twice a second.
    pub fn tick(&mut self) {
        self.0.forward_late();
    }

    /// Every agent has ended or was lost.
    pub fn is_over(&self) -> bool {
        self.0.is_over()
    }

    pub fn end(self) -> LoadEnding {
        self.0.end()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::control::StopReason;
    use loadstone_plan::{Load, LoadProfile, RunRole, ScenarioId, ScenarioRun};

    #[test]
    fn a_set_up_that_was_lost_with_its_agent_has_failed() {
        let set_up = ScenarioRun { role: RunRole::SetUp, ..ScenarioRun::new(ScenarioId(0), LoadProfile::burst(1)) };
        let load = ScenarioRun::new(ScenarioId(1), LoadProfile::burst(2));
        let plan = TestPlan::new("t", ["up", "load"], Load::Sequence(vec![Load::Run(set_up), Load::Run(load)]));
        for (lost, is_failure) in [(0, true), (1, false)] {
            let begun = Rc::new(RefCell::new(Vec::new()));
            let post = |_| -> Box<dyn Fn(AgentCommand)> {
                let begun = Rc::clone(&begun);
                Box::new(move |command| {
                    if let AgentCommand::Begin { leaf, .. } = command {
                        begun.borrow_mut().push(leaf);
                    }
                })
            };
            let mut on_event = |_| None;
            let mut stepped = SteppedLoad::new(&plan, (0..2).map(post).collect(), Clock::virtual_time(), 0, &mut on_event);
            (0..2).for_each(|agent| stepped.report(agent, AgentReport::Ready));
            assert_eq!(*begun.borrow(), [0, 0]);
            stepped.report(lost, AgentReport::Lost { why: "gone".to_owned(), started_before: None });
            stepped.report(1 - lost, AgentReport::LeafEnded { leaf: 0, threw: false });
            assert_eq!(begun.borrow().contains(&1), !is_failure, "the load begins only after a successful set-up");
            stepped.report(1 - lost, AgentReport::Done);
            let ending = stepped.end();
            assert_eq!(matches!(&ending, LoadEnding::Stopped(StopReason::SetUp(of)) if of == "up"), is_failure, "{ending:?}");
        }
    }
}
