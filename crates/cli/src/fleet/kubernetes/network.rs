//! Network policies: agents may connect to NATS and the target, nothing may connect to agents, and only agents and a controller to NATS.

use serde_json::{Value, json};

use super::credentials::PORT;
use super::fleet_in_cluster::FleetInCluster;
use super::object::{object, pods, pods_of_any};

impl FleetInCluster {
    pub(super) fn agents_policy(&self) -> Value {
        let mut policy = object(self, "networking.k8s.io/v1", "NetworkPolicy", &self.agents_name(), "agent");
        let egress = if self.egress.is_empty() { json!([{}]) } else { self.egress_rules() };
        policy["spec"] = json!({
            "podSelector": pods(self, "agent"), "policyTypes": ["Ingress", "Egress"], "ingress": [], "egress": egress,
        });
        policy
    }

    fn egress_rules(&self) -> Value {
        let port = |protocol: &str, port: u16| json!({ "protocol": protocol, "port": port });
        let networks: Vec<Value> = self.egress.iter().map(|network| json!({ "ipBlock": { "cidr": network } })).collect();
        let nats = match &self.nats {
            None => json!({ "to": [{ "podSelector": pods(self, "nats") }], "ports": [port("TCP", PORT)] }),
            // A policy cannot name hosts, so the server may be anywhere.
            Some(nats) => {
                let given = url::Url::parse(&nats.address).ok().and_then(|address| address.port());
                json!({ "ports": [port("TCP", given.unwrap_or(PORT))] })
            }
        };
        json!([{ "to": networks }, nats, { "ports": [port("UDP", 53), port("TCP", 53)] }])
    }

    pub(super) fn nats_policy(&self) -> Value {
        let mut policy = object(self, "networking.k8s.io/v1", "NetworkPolicy", &self.nats_name(), "nats");
        let from = json!([{ "podSelector": pods_of_any(self, &["agent", "controller"]) }]);
        policy["spec"] = json!({
            "podSelector": pods(self, "nats"), "policyTypes": ["Ingress", "Egress"],
            "ingress": [{ "from": from, "ports": [{ "protocol": "TCP", "port": PORT }] }], "egress": [],
        });
        policy
    }
}
