//! What happens after a try's iterations: journeys that finish later, and calls from the system to stubs.

use std::rc::Rc;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{FlowSlice, Nanos, Snapshot};
use loadstone_plan::TestPlan;
use loadstone_script::{ConsumedCount, Stubs};
use loadstone_session::FlowTracking;

/// Follows flows and stubs until the try ends.
pub(super) struct Aftermath {
    flows: FlowTracking,
    /// By flow.
    journeys: Vec<FlowSlice>,
    stubs: Option<Rc<Stubs>>,
    /// One line for each called route and for each consumed topic.
    calls: Vec<String>,
}

impl Aftermath {
    pub(super) fn new(plan: &TestPlan, stubs: Option<Rc<Stubs>>) -> Self {
        Self { flows: FlowTracking::new(plan, stubs.clone()), journeys: Vec::new(), stubs, calls: Vec::new() }
    }

    /// The iterations begin.
    pub(super) fn begin(&mut self, zero: Monotonic) {
        if let Some(stubs) = &self.stubs {
            stubs.begin(zero);
        }
    }

    /// All iterations have ended.
    pub(super) fn load_ended(&mut self, at: Nanos) {
        self.flows.load_ended(at);
    }

    /// Adds one second. Returns whether there is nothing left to wait for.
    pub(super) fn snapshot(&mut self, snapshot: &mut Snapshot, is_last: bool) -> bool {
        if is_last {
            // The last second of the flows stops the stubs.
            self.calls = self.stubs.as_ref().map(|stubs| calls(stubs)).unwrap_or_default();
        }
        let is_drained = self.flows.complete(snapshot, is_last);
        for flow in &snapshot.flows {
            match self.journeys.iter_mut().find(|known| known.name == flow.name) {
                Some(known) => known.merge(flow),
                None => self.journeys.push(flow.clone()),
            }
        }
        is_drained
    }

    /// Journeys that did not finish.
    pub(super) fn unfinished(&self) -> u64 {
        self.journeys.iter().map(|flow| flow.timed_out + flow.left_open).sum()
    }

    /// One line for each flow, each called route of a stub, and each consumed topic.
    pub(super) fn lines(&self) -> Vec<String> {
        self.journeys.iter().map(journey).chain(self.calls.iter().cloned()).collect()
    }
}

fn journey(flow: &FlowSlice) -> String {
    let mut text = format!("flow {}: {} started, {} finished", flow.name, loadstone_units::counted(flow.started, "journey"), flow.finished);
    if flow.finished > 0 {
        text.push_str(&format!(", the slowest in {}", loadstone_units::seconds(flow.time.max() as f64 / 1e9)));
    }
    let others =
        [(flow.timed_out, "timed out"), (flow.left_open, "did not finish"), (flow.unmatched, "with a key that no journey started with")];
    for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!(", {count} {what}"));
    }
    text
}

fn calls(stubs: &Stubs) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, recording) in stubs.recordings() {
        for route in recording.routes.iter().filter(|route| route.requests > 0) {
            let mut ends: Vec<String> = route.endings().collect();
            if route.abandoned > 0 {
                ends.push(format!("{} abandoned by the caller", route.abandoned));
            }
            lines.push(format!(
                "stub:{name} {}: {}, answered {}",
                route.route,
                loadstone_units::counted(route.requests, "call"),
                ends.join(", ")
            ));
        }
        if recording.unmatched > 0 {
            let unmatched = loadstone_units::counted(recording.unmatched, "call");
            lines.push(format!("stub:{name}: {unmatched} that none of its routes matched, answered 404 (gRPC: UNIMPLEMENTED)"));
        }
    }
    let consumed =
        |consumed: ConsumedCount| format!("{}: {} consumed", consumed.source, loadstone_units::counted(consumed.count, consumed.unit));
    lines.extend(stubs.consumed().into_iter().map(consumed));
    lines
}
