//! What the objects of a fleet have in common: their labels, and how their containers are confined.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::fleet_in_cluster::FleetInCluster;

/// Which fleet an object is of.
pub(super) const NAME_LABEL: &str = "app.kubernetes.io/instance";
const COMPONENT_LABEL: &str = "app.kubernetes.io/component";
/// What only objects have that `fleet up` made.
pub(super) const MADE_BY_US: &str = "app.kubernetes.io/managed-by=loadstone,app.kubernetes.io/part-of=loadstone-fleet";

/// `nobody` of Debian, whom the image runs as.
const USER: u32 = 65534;

/// An object without its content.
pub(super) fn object(fleet: &FleetInCluster, version: &str, kind: &str, name: &str, component: &str) -> Value {
    let mut metadata = json!({ "name": name });
    if let Some(namespace) = &fleet.namespace {
        metadata["namespace"] = json!(namespace);
    }
    metadata["labels"] = labels(fleet, component);
    json!({ "apiVersion": version, "kind": kind, "metadata": metadata })
}

/// A secret. In base64, since plain text (`stringData`) does not go well with what is applied on the server's side.
pub(super) fn secret(fleet: &FleetInCluster, name: &str, component: &str, entries: &[(&str, &str)]) -> Value {
    let mut secret = object(fleet, "v1", "Secret", name, component);
    let data: Map<String, Value> = entries.iter().map(|(key, value)| ((*key).to_owned(), json!(STANDARD.encode(value)))).collect();
    secret["data"] = Value::Object(data);
    secret
}

/// Labels of an object, and of the pods that it makes.
pub(super) fn labels(fleet: &FleetInCluster, component: &str) -> Value {
    let mut labels: Map<String, Value> = MADE_BY_US.split(',').filter_map(|label| label.split_once('=')).map(owned).collect();
    labels.extend([owned(("app.kubernetes.io/name", "loadstone")), owned((NAME_LABEL, &fleet.name)), owned((COMPONENT_LABEL, component))]);
    Value::Object(labels)
}

fn owned((key, value): (&str, &str)) -> (String, Value) {
    (key.to_owned(), json!(value))
}

/// By which pods of a component are found.
pub(super) fn pods(fleet: &FleetInCluster, component: &str) -> Value {
    json!({ "matchLabels": { NAME_LABEL: fleet.name, COMPONENT_LABEL: component } })
}

/// By which pods of any of these components are found.
pub(super) fn pods_of_any(fleet: &FleetInCluster, components: &[&str]) -> Value {
    let any = json!([{ "key": COMPONENT_LABEL, "operator": "In", "values": components }]);
    json!({ "matchLabels": { NAME_LABEL: fleet.name }, "matchExpressions": any })
}

/// What no container needs is taken from it: the pod security standard "restricted" asks for no more.
pub(super) fn container_security() -> Value {
    json!({
        "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] },
        "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" },
    })
}

/// The same for a pod, and its account without rights.
pub(super) fn confine(fleet: &FleetInCluster, pod: &mut Value) {
    pod["serviceAccountName"] = json!(fleet.name);
    pod["automountServiceAccountToken"] = json!(false);
    // Variables for every service of the namespace tell a container what it need not know.
    pod["enableServiceLinks"] = json!(false);
    pod["securityContext"] = json!({
        "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER, "seccompProfile": { "type": "RuntimeDefault" },
    });
}

/// As much as it asks for and no more: the load of an agent must not hang on what its neighbours leave.
pub(super) fn resources(cores: u32, memory: &str) -> Value {
    let amount = json!({ "cpu": cores.to_string(), "memory": memory });
    json!({ "requests": amount, "limits": amount })
}
