//! The fleet's dedicated NATS server: one pod without storage, with TLS, and two users with minimal permissions.

use serde_json::{Value, json};

use super::credentials::{Credentials, FOLDER, PORT};
use super::fleet_in_cluster::FleetInCluster;
use super::object::{confine, container_security, labels, object, pods, resources, secret};

/// Pinned, so that `fleet up` always creates the same server.
const IMAGE: &str = "docker.io/library/nats:2.10.22-alpine";

impl FleetInCluster {
    pub(super) fn nats_secret(&self, credentials: &Credentials) -> Value {
        let configuration = credentials.configuration();
        let entries = [("nats.conf", &*configuration), ("tls.crt", &credentials.certificate), ("tls.key", &credentials.key)];
        secret(self, &self.nats_name(), "nats", &entries)
    }

    pub(super) fn nats_service(&self) -> Value {
        let mut service = object(self, "v1", "Service", &self.nats_name(), "nats");
        let port = json!({ "name": "nats", "port": PORT, "targetPort": "nats", "protocol": "TCP" });
        service["spec"] = json!({ "type": "ClusterIP", "selector": pods(self, "nats")["matchLabels"], "ports": [port] });
        service
    }

    pub(super) fn nats_deployment(&self) -> Value {
        let mut deployment = object(self, "apps/v1", "Deployment", &self.nats_name(), "nats");
        // Two servers at the same time would split the fleet.
        deployment["spec"] = json!({
            "replicas": 1, "strategy": { "type": "Recreate" }, "selector": pods(self, "nats"),
            "template": { "metadata": { "labels": labels(self, "nats") }, "spec": self.nats_pod() },
        });
        deployment
    }

    fn nats_pod(&self) -> Value {
        let mut pod = json!({});
        confine(self, &mut pod);
        pod["containers"] = json!([{
            "name": "nats", "image": IMAGE, "imagePullPolicy": "IfNotPresent", "args": ["--config", format!("{FOLDER}/nats.conf")],
            "ports": [{ "name": "nats", "containerPort": PORT, "protocol": "TCP" }],
            // Agents that have no server for 10 s are lost, so a restarted server must be found quickly.
            "readinessProbe": { "tcpSocket": { "port": "nats" }, "periodSeconds": 1 },
            "volumeMounts": [{ "name": "configuration", "mountPath": FOLDER, "readOnly": true }],
            "resources": resources(1, "512Mi"), "securityContext": container_security(),
        }]);
        pod["volumes"] = json!([{ "name": "configuration", "secret": { "secretName": self.nats_name(), "defaultMode": 0o440 } }]);
        pod
    }
}
