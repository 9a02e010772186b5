//! The state of a fleet, as the cluster reports it.

use std::fmt::Write as _;

use serde_json::Value;

/// The existing parts of a fleet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FleetState {
    /// `(ready, wanted)` of the NATS server. `None`: the fleet has no dedicated one.
    nats: Option<(u64, u64)>,
    /// `(ready, wanted)` of the agents. `None`: there is no fleet.
    agents: Option<(u64, u64)>,
    /// Pods that are not ready, with the reason, and restart counts of ready pods.
    remarks: Vec<String>,
}

impl FleetState {
    /// From `kubectl get job,deployment,pod -o json`.
    pub(crate) fn of(list: &Value) -> Self {
        let mut state = Self::default();
        for item in list["items"].as_array().map_or(&[][..], Vec::as_slice) {
            let (status, spec) = (&item["status"], &item["spec"]);
            let number = |value: &Value| value.as_u64().unwrap_or(0);
            match item["kind"].as_str() {
                Some("Job") => state.agents = Some((number(&status["ready"]), number(&spec["parallelism"]))),
                Some("Deployment") => state.nats = Some((number(&status["readyReplicas"]), number(&spec["replicas"]))),
                Some("Pod") => state.remarks.extend(remark(item)),
                _ => {}
            }
        }
        state.remarks.sort();
        state
    }

    /// Whether the fleet, or a part of it, exists.
    pub(crate) fn exists(&self) -> bool {
        *self != Self::default()
    }

    pub(crate) fn is_ready(&self) -> bool {
        let all = |part: Option<(u64, u64)>| part.is_none_or(|(ready, wanted)| ready >= wanted);
        self.agents.is_some() && all(self.agents) && all(self.nats)
    }

    /// For people.
    pub(crate) fn text(&self, name: &str) -> String {
        let part =
            |part: Option<(u64, u64)>, none: &str| part.map_or(none.to_owned(), |(ready, wanted)| format!("{ready} of {wanted} ready"));
        let mut text = format!("Fleet   {name}\nNATS    {}\n", part(self.nats, "elsewhere"));
        // Formatting into a string cannot fail.
        let _ = writeln!(text, "Agents  {}", part(self.agents, "none"));
        for remark in &self.remarks {
            let _ = writeln!(text, "  {remark}");
        }
        text
    }
}

/// Why a pod is not ready, or what is unusual about a ready pod.
fn remark(pod: &Value) -> Option<String> {
    let name = pod["metadata"]["name"].as_str().unwrap_or("?");
    let status = &pod["status"];
    let containers = status["containerStatuses"].as_array().map_or(&[][..], Vec::as_slice);
    let restarts: u64 = containers.iter().filter_map(|container| container["restartCount"].as_u64()).sum();
    if containers.iter().any(|container| container["ready"] == true) {
        return (restarts > 0).then(|| format!("{name}: ready, started again {restarts} times"));
    }
    let phase = status["phase"].as_str().unwrap_or("unknown");
    let waiting = containers.iter().map(|container| &container["state"]["waiting"]).find(|waiting| waiting.is_object());
    let unmet = || status["conditions"].as_array().into_iter().flatten().find(|condition| condition["status"] == "False");
    let cause = waiting.or_else(unmet).unwrap_or(status);
    let words = [cause["reason"].as_str(), cause["message"].as_str()];
    let why = words.into_iter().flatten().collect::<Vec<_>>().join(": ");
    Some(if why.is_empty() { format!("{name}: {phase}") } else { format!("{name}: {phase}, {why}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_fleet_is_ready_when_all_of_it_is() {
        let job = |ready: u64| json!({ "kind": "Job", "spec": { "parallelism": 2 }, "status": { "active": 2, "ready": ready } });
        let nats = |ready: u64| json!({ "kind": "Deployment", "spec": { "replicas": 1 }, "status": { "readyReplicas": ready } });
        let state = |items: Vec<Value>| FleetState::of(&json!({ "items": items }));
        assert!(state(vec![job(2), nats(1)]).is_ready());
        assert!(state(vec![job(2)]).is_ready(), "NATS is elsewhere");
        assert!(!state(vec![job(1), nats(1)]).is_ready());
        assert!(!state(vec![job(2), nats(0)]).is_ready());
        assert!(state(vec![nats(1)]).exists() && !state(vec![nats(1)]).is_ready(), "a part of one");
        assert!(!state(vec![]).exists() && !state(vec![]).is_ready());
        assert_eq!(state(vec![job(1), nats(1)]).text("x"), "Fleet   x\nNATS    1 of 1 ready\nAgents  1 of 2 ready\n");
    }

    #[test]
    fn a_pod_that_is_not_ready_has_a_reason() {
        let pod = |status: Value| remark(&json!({ "metadata": { "name": "p" }, "status": status }));
        let waiting = json!({ "reason": "ImagePullBackOff", "message": "Back-off pulling image" });
        let pulling = json!({ "phase": "Pending", "containerStatuses": [{ "ready": false, "state": { "waiting": waiting } }] });
        assert_eq!(pod(pulling).unwrap(), "p: Pending, ImagePullBackOff: Back-off pulling image");
        let condition =
            json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes: Insufficient cpu" });
        let unscheduled = json!({ "phase": "Pending", "conditions": [condition] });
        assert_eq!(pod(unscheduled).unwrap(), "p: Pending, Unschedulable: 0/3 nodes: Insufficient cpu");
        let evicted = json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory" });
        assert_eq!(pod(evicted).unwrap(), "p: Failed, Evicted: low on memory");
        let ready = |restarts: u64| json!({ "phase": "Running", "containerStatuses": [{ "ready": true, "restartCount": restarts }] });
        assert_eq!(pod(ready(0)), None);
        assert_eq!(pod(ready(2)).unwrap(), "p: ready, started again 2 times");
    }
}
