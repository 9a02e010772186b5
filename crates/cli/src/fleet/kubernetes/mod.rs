//! A fleet in a Kubernetes cluster: an Indexed Job of agents and, unless the user names a NATS server, a dedicated NATS server.
//!
//! Read [`FleetInCluster`]. `agents`, `nats`, `network` and `credentials` create the objects, [`Kubectl`] applies them, and [`FleetState`] reads their
//! state. Deliberately absent: an operator and an API client. `kubectl` has the user's context, permissions and plugins.

mod agents;
mod credentials;
mod fleet_in_cluster;
mod kubectl;
mod nats;
mod network;
mod object;
mod objects;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use fleet_in_cluster::{FleetInCluster, NatsElsewhere};
pub(crate) use kubectl::{Kubectl, KubectlError};
pub(crate) use objects::{KINDS, yaml};
pub(crate) use state::FleetState;
