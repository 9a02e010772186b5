//! A fleet in a Kubernetes cluster: an Indexed Job of agents and, where none is named, a NATS server for them.
//!
//! Read [`FleetInCluster`]. `agents`, `nats`, `network` and `credentials` make the objects, [`Kubectl`] brings them into the cluster and
//! [`FleetState`] reads how they do. Deliberately absent: an operator and a client of the API: `kubectl` has the user's context, rights and plugins.

mod agents;
mod credentials;
mod kubectl;
mod nats;
mod network;
mod object;
mod state;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub(crate) use kubectl::{Kubectl, KubectlError};
pub(crate) use state::FleetState;

use credentials::Credentials;
use object::{NAME_LABEL, object, secret};

/// Kinds of the objects of a fleet, as kubectl has them. Pods go with what made them.
pub(crate) const KINDS: &str = "job,deployment,service,networkpolicy,serviceaccount,secret";

/// A fleet as it is to be.
#[derive(Debug, Clone)]
pub(crate) struct FleetInCluster {
    /// What the names of its objects begin with.
    pub(crate) name: String,
    /// `None`: that of kubectl's context.
    pub(crate) namespace: Option<String>,
    pub(crate) image: String,
    pub(crate) agents: u32,
    /// Of each agent.
    pub(crate) cores: u32,
    /// Of each agent, as Kubernetes writes quantities: "1Gi".
    pub(crate) memory: String,
    pub(crate) node_selector: Vec<(String, String)>,
    /// Labels that the agents give themselves.
    pub(crate) labels: Vec<(String, String)>,
    /// Networks (CIDR) that agents may reach beside NATS and name servers; none: all.
    pub(crate) egress: Vec<String>,
    /// A server of the user's; `None`: one of the fleet's own.
    pub(crate) nats: Option<NatsElsewhere>,
}

/// A NATS server that is there already.
#[derive(Debug, Clone)]
pub(crate) struct NatsElsewhere {
    pub(crate) address: String,
    /// Certificates of the authorities that it is trusted by, as PEM; `None`: those of the image.
    pub(crate) authorities: Option<String>,
}

impl FleetInCluster {
    /// All its objects, with new credentials.
    ///
    /// # Errors
    /// The system gives no random bytes.
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

    /// By which all objects of this fleet are found.
    pub(crate) fn selector(name: &str) -> String {
        format!("{},{NAME_LABEL}={name}", object::MADE_BY_US)
    }

    fn service_account(&self) -> Value {
        let mut account = object(self, "v1", "ServiceAccount", &self.name, "fleet");
        // No role is bound to it, and no pod gets its token.
        account["automountServiceAccountToken"] = json!(false);
        account
    }

    /// Where agents find NATS, and the controller through a forwarded port.
    fn secret_of_agents(&self, agent: &str, authorities: Option<&str>, controller: Option<&str>) -> Value {
        let entries = [("agent", Some(agent)), ("ca.crt", authorities), ("controller", controller)];
        let entries: Vec<(&str, &str)> = entries.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        secret(self, &self.secret_name(), "fleet", &entries)
    }

    pub(crate) fn secret_name(&self) -> String {
        format!("{}-fleet", self.name)
    }

    pub(crate) fn nats_name(&self) -> String {
        format!("{}-nats", self.name)
    }

    pub(crate) fn agents_name(&self) -> String {
        format!("{}-agents", self.name)
    }
}

/// As `kubectl apply -f` reads them.
pub(crate) fn yaml(objects: &[Value]) -> anyhow::Result<String> {
    let documents: Result<Vec<String>, _> = objects.iter().map(serde_yaml_ng::to_string).collect();
    Ok(documents?.join("---\n"))
}
