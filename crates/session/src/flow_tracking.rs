//! Follows the journeys of a run: once a second, it combines the reports of scenarios, stubs and observers. After the load, the run waits for open
//! journeys.

use std::rc::Rc;

use loadstone_metrics::{FlowBook, FlowDefinition, FlowEvent, Mark, MarkKind, Nanos, Snapshot};
use loadstone_plan::{FlowSpec, TestPlan};
use loadstone_script::Stubs;

/// Follows all flows of a plan.
pub struct FlowTracking {
    flows: Vec<FlowSpec>,
    book: FlowBook,
    stubs: Option<Rc<Stubs>>,
    load_end: Option<Nanos>,
    /// Marks for the next second.
    marks: Vec<Mark>,
    released: bool,
}

impl FlowTracking {
    pub fn new(plan: &TestPlan, stubs: Option<Rc<Stubs>>) -> Self {
        let definition = |flow: &FlowSpec| FlowDefinition {
            name: flow.name.as_str().into(),
            timeout_ns: flow.timeout_ns,
            stages: flow.stages.iter().map(|stage| stage.as_str().into()).collect(),
        };
        let book = FlowBook::new(plan.flows.iter().map(definition));
        Self { flows: plan.flows.clone(), book, stubs, load_end: None, marks: Vec::new(), released: false }
    }

    /// All load has ended.
    pub fn load_ended(&mut self, at: Nanos) {
        self.load_end = Some(at);
        self.marks.push(Mark { at, kind: MarkKind::LoadEnded, text: "the load has ended; waiting for open journeys".to_owned() });
    }

    /// Adds the events that observers found.
    pub fn take(&mut self, events: Vec<FlowEvent>) {
        if !self.flows.is_empty() {
            self.book.take(events);
        }
    }

    /// Adds a second's flows to its snapshot. Returns whether there is nothing left to wait for. The last second stops the stubs, so that no event follows
    /// it.
    pub fn complete(&mut self, snapshot: &mut Snapshot, is_last: bool) -> bool {
        snapshot.marks.append(&mut self.marks);
        if self.flows.is_empty() {
            return true;
        }
        self.book.take(std::mem::take(&mut snapshot.flow_events));
        if let Some(stubs) = &self.stubs {
            if is_last {
                stubs.stop();
            }
            let mut events = stubs.flow_events();
            if is_last {
                // Stubs continue to serve for a while. Calls after the run are not part of it.
                events.retain(|event| event.at <= snapshot.end);
            }
            self.book.take(events);
        }
        snapshot.flows = if is_last { self.book.close(snapshot.end) } else { self.book.drain(snapshot.end) };
        let Some(load_end) = self.load_end.filter(|_| !self.released) else { return false };
        let drained = self.drained(load_end, snapshot.end);
        if let Some(text) = drained.clone().or_else(|| is_last.then(|| "stopped waiting".to_owned())) {
            self.released = true;
            snapshot.marks.push(Mark { at: snapshot.end, kind: MarkKind::Drained, text });
        }
        drained.is_some()
    }

    /// Why the run need not wait any longer. `None` while it must wait.
    fn drained(&self, load_end: Nanos, now: Nanos) -> Option<String> {
        let open = self.book.open();
        let waited_ns = now.saturating_sub(load_end);
        if open.iter().zip(&self.flows).any(|((_, open), flow)| *open > 0 && waited_ns < flow.drain_ns) {
            return None;
        }
        let left: Vec<String> = open
            .iter()
            .filter(|(_, open)| *open > 0)
            .map(|(name, open)| format!("{name}: {} left open", loadstone_units::count(*open)))
            .collect();
        let waited = loadstone_units::seconds(waited_ns as f64 / 1e9);
        Some(if left.is_empty() {
            format!("no open journeys left, {waited} after the load")
        } else {
            format!("waited {waited}; {}", left.join(", "))
        })
    }
}
