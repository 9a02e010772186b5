//! The requested fleet, and the names derived from it.

use loadstone_fleet::PublicFleetKey;

/// A requested fleet.
#[derive(Debug, Clone)]
pub(crate) struct FleetInCluster {
    /// Prefix of the names of its objects.
    pub(crate) name: String,
    /// `None`: the namespace of kubectl's context.
    pub(crate) namespace: Option<String>,
    pub(crate) image: String,
    pub(crate) agents: u32,
    /// Per agent.
    pub(crate) cores: u32,
    /// Per agent, as a Kubernetes quantity: "1Gi".
    pub(crate) memory: String,
    pub(crate) node_selector: Vec<(String, String)>,
    /// Labels of the agents.
    pub(crate) labels: Vec<(String, String)>,
    /// Networks (CIDR) that agents may reach in addition to NATS and name servers. Empty: all.
    pub(crate) egress: Vec<String>,
    /// The user's NATS server. `None`: a dedicated one.
    pub(crate) nats: Option<NatsElsewhere>,
    /// Public keys of the controllers that may lead the agents. Empty: every controller at the server.
    pub(crate) controllers: Vec<PublicFleetKey>,
}

/// An existing NATS server.
#[derive(Debug, Clone)]
pub(crate) struct NatsElsewhere {
    pub(crate) address: String,
    /// Certificates (PEM) of the authorities that verify it. `None`: those of the image.
    pub(crate) authorities: Option<String>,
}

impl FleetInCluster {
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
