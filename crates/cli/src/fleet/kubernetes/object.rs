//! Common parts of all objects of a fleet: labels and container confinement.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::fleet_in_cluster::FleetInCluster;

/// Label that names the fleet of an object.
pub(super) const NAME_LABEL: &str = "app.kubernetes.io/instance";
const COMPONENT_LABEL: &str = "app.kubernetes.io/component";
/// Label of all objects that `fleet up` created.
pub(super) const MANAGED_LABELS: &str = "app.kubernetes.io/managed-by=loadstone,app.kubernetes.io/part-of=loadstone-fleet";

/// `nobody` in Debian, the user of the image.
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

/// A secret. Base64, because `stringData` does not work well with server-side apply.
pub(super) fn secret(fleet: &FleetInCluster, name: &str, component: &str, entries: &[(&str, &str)]) -> Value {
    let mut secret = object(fleet, "v1", "Secret", name, component);
    let data: Map<String, Value> = entries.iter().map(|(key, value)| ((*key).to_owned(), json!(STANDARD.encode(value)))).collect();
    secret["data"] = Value::Object(data);
    secret
}

/// Labels of an object, and of the pods that it creates.
pub(super) fn labels(fleet: &FleetInCluster, component: &str) -> Value {
    let mut labels: Map<String, Value> = MANAGED_LABELS.split(',').filter_map(|label| label.split_once('=')).map(owned).collect();
    labels.extend([owned(("app.kubernetes.io/name", "loadstone")), owned((NAME_LABEL, &fleet.name)), owned((COMPONENT_LABEL, component))]);
    Value::Object(labels)
}

fn owned((key, value): (&str, &str)) -> (String, Value) {
    (key.to_owned(), json!(value))
}

/// Selects the pods of a component.
pub(super) fn pods(fleet: &FleetInCluster, component: &str) -> Value {
    json!({ "matchLabels": { NAME_LABEL: fleet.name, COMPONENT_LABEL: component } })
}

/// Selects the pods of any of these components.
pub(super) fn pods_of_any(fleet: &FleetInCluster, components: &[&str]) -> Value {
    let any = json!([{ "key": COMPONENT_LABEL, "operator": "In", "values": components }]);
    json!({ "matchLabels": { NAME_LABEL: fleet.name }, "matchExpressions": any })
}

/// Drops every privilege that a container does not need, as the pod security standard "restricted" requires.
pub(super) fn container_security() -> Value {
    json!({
        "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] },
        "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" },
    })
}

/// The same for a pod, with a service account that has no permissions.
pub(super) fn confine(fleet: &FleetInCluster, pod: &mut Value) {
    pod["serviceAccountName"] = json!(fleet.name);
    pod["automountServiceAccountToken"] = json!(false);
    // The container needs no variables for the namespace's services.
    pod["enableServiceLinks"] = json!(false);
    pod["securityContext"] = json!({
        "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER, "seccompProfile": { "type": "RuntimeDefault" },
    });
}

/// Requests equal limits: an agent's load must not depend on what its neighbours leave.
pub(super) fn resources(cores: u32, memory: &str) -> Value {
    let amount = json!({ "cpu": cores.to_string(), "memory": memory });
    json!({ "requests": amount, "limits": amount })
}
