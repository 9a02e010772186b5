//! A fleet as the user wants it, and the names that follow from that.

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
