//! All objects of a fleet, in creation order.

use serde_json::{Value, json};

use super::credentials::Credentials;
use super::fleet_in_cluster::FleetInCluster;
use super::object::{self, NAME_LABEL, object, secret};

/// Kinds of the objects of a fleet, as kubectl names them. Pods are deleted with their owners.
pub(crate) const KINDS: &str = "job,deployment,service,networkpolicy,serviceaccount,secret";

impl FleetInCluster {
    /// All its objects, with new credentials.
    ///
    /// # Errors
    /// The system provides no random bytes.
    pub(crate) fn objects(&self) -> anyhow::Result<Vec<Value>> {
        let mut objects = vec![self.service_account()];
        match &self.nats {
            Some(nats) => objects.push(self.secret_of_agents(&nats.address, nats.authorities.as_deref(), None)),
            None => {
                let credentials = Credentials::new(&self.nats_name())?;
                let (agent, controller) = (credentials.address_of_agents(&self.nats_name()), credentials.address_of_controller());
                objects.push(self.secret_of_agents(&agent, Some(&credentials.authority), Some(&controller)));
                objects.extend([self.nats_secret(&credentials), self.nats_service(), self.nats_deployment(), self.nats_policy()]);
            }
        }
        objects.extend([self.agents_policy(), self.agents_job()]);
        Ok(objects)
    }

    /// Selects all objects of this fleet.
    pub(crate) fn selector(name: &str) -> String {
        format!("{},{NAME_LABEL}={name}", object::MANAGED_LABELS)
    }

    fn service_account(&self) -> Value {
        let mut account = object(self, "v1", "ServiceAccount", &self.name, "fleet");
        // No role is bound to it, and no pod gets its token.
        account["automountServiceAccountToken"] = json!(false);
        account
    }

    /// The service where agents find NATS, and the controller through a forwarded port.
    fn secret_of_agents(&self, agent: &str, authorities: Option<&str>, controller: Option<&str>) -> Value {
        let entries = [("agent", Some(agent)), ("ca.crt", authorities), ("controller", controller)];
        let entries: Vec<(&str, &str)> = entries.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        secret(self, &self.secret_name(), "fleet", &entries)
    }
}

/// The format that `kubectl apply -f` reads.
pub(crate) fn yaml(objects: &[Value]) -> anyhow::Result<String> {
    let documents: Result<Vec<String>, _> = objects.iter().map(serde_saphyr::to_string).collect();
    Ok(documents?.join("---\n"))
}
