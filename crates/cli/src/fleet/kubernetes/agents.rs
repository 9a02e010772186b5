//! The agents: an Indexed Job that never completes, with one pod per index.

use serde_json::{Value, json};

use super::fleet_in_cluster::FleetInCluster;
use super::object::{confine, container_security, labels, object, pods, resources};
use crate::fleet::is_open;

/// Path in the pods of the authorities that verify their NATS server.
const SECRETS_FOLDER: &str = "/etc/loadstone";
/// Labels of nodes, and the agent label for each. Pods have the node's labels since Kubernetes 1.35 (KEP-4742).
const TOPOLOGY_LABELS: [(&str, &str, &str); 2] =
    [("topology.kubernetes.io/region", "region", "NODE_REGION"), ("topology.kubernetes.io/zone", "zone", "NODE_ZONE")];
/// Space for a test's files (at most 64 MB) and its output.
const SCRATCH_SIZE: &str = "256Mi";

impl FleetInCluster {
    pub(super) fn agents_job(&self) -> Value {
        let mut job = object(self, "batch/v1", "Job", &self.agents_name(), "agent");
        job["spec"] = json!({
            "completionMode": "Indexed",
            "completions": self.agents,
            "parallelism": self.agents,
            // Kubernetes restarts an agent whose process ended in place, and replaces a lost pod with a new pod of the same index, without a retry limit.
            "backoffLimit": i32::MAX,
            "template": { "metadata": { "labels": labels(self, "agent") }, "spec": self.agent_pod() },
        });
        job
    }

    fn agent_pod(&self) -> Value {
        let mut pod = json!({ "restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 10 });
        confine(self, &mut pod);
        if !self.node_selector.is_empty() {
            let selected = self.node_selector.iter().map(|(key, value)| (key.clone(), json!(value)));
            pod["nodeSelector"] = Value::Object(selected.collect());
        }
        // Two agents on one node would share its cores and its network.
        pod["topologySpreadConstraints"] = json!([{
            "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": pods(self, "agent"),
        }]);
        pod["containers"] = json!([self.agent_container()]);
        pod["volumes"] = json!([{ "name": "scratch", "emptyDir": { "sizeLimit": SCRATCH_SIZE } }]);
        if self.brings_authorities() {
            let items = json!([{ "key": "ca.crt", "path": "ca.crt" }]);
            let volume = json!({ "name": "authorities", "secret": { "secretName": self.secret_name(), "items": items } });
            pod["volumes"].as_array_mut().into_iter().for_each(|volumes| volumes.push(volume.clone()));
        }
        pod
    }

    fn agent_container(&self) -> Value {
        let mut arguments =
            vec!["agent".to_owned(), "--name=agent-$(JOB_COMPLETION_INDEX)".to_owned(), format!("--workers={}", self.cores)];
        let field = |name: &str, path: &str| json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": path } } });
        let address = json!({ "secretKeyRef": { "name": self.secret_name(), "key": "agent" } });
        let mut environment = vec![json!({ "name": "LOADSTONE_FLEET", "valueFrom": address }), field("NODE_NAME", "spec.nodeName")];
        arguments.push("--label=node=$(NODE_NAME)".to_owned());
        for (of_node, label, variable) in TOPOLOGY_LABELS {
            match self.node_selector.iter().find(|(key, _)| key == of_node) {
                _ if self.labels.iter().any(|(key, _)| key == label) => {}
                Some((_, value)) => arguments.push(format!("--label={label}={value}")),
                None => {
                    environment.push(field(variable, &format!("metadata.labels['{of_node}']")));
                    arguments.push(format!("--label={label}=$({variable})"));
                }
            }
        }
        arguments.extend(self.labels.iter().map(|(key, value)| format!("--label={key}={value}")));
        // The user named the open server for this fleet.
        if self.nats.as_ref().is_some_and(|elsewhere| is_open(&elsewhere.address)) {
            environment.push(json!({ "name": "LOADSTONE_INSECURE_BUS", "value": "true" }));
        }
        // Without keys, the server's users decide who leads the agents. At the fleet's own server, that is the controller's password.
        environment.push(match self.controllers.is_empty() {
            true => json!({ "name": "LOADSTONE_ANY_CONTROLLER", "value": "true" }),
            false => {
                let keys: Vec<String> = self.controllers.iter().map(ToString::to_string).collect();
                json!({ "name": "LOADSTONE_CONTROLLER_KEY", "value": keys.join(",") })
            }
        });
        let mut mounts = vec![json!({ "name": "scratch", "mountPath": "/tmp" })];
        if self.brings_authorities() {
            environment.push(json!({ "name": "LOADSTONE_FLEET_CA", "value": format!("{SECRETS_FOLDER}/ca.crt") }));
            mounts.push(json!({ "name": "authorities", "mountPath": SECRETS_FOLDER, "readOnly": true }));
        }
        json!({
            "name": "agent", "image": self.image, "imagePullPolicy": "IfNotPresent",
            "args": arguments, "env": environment, "volumeMounts": mounts,
            "resources": resources(self.cores, &self.memory), "securityContext": container_security(),
        })
    }

    fn brings_authorities(&self) -> bool {
        self.nats.as_ref().is_none_or(|nats| nats.authorities.is_some())
    }
}
