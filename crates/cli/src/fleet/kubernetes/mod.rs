//! A fleet in a Kubernetes cluster: an Indexed Job of agents and, where none is named, a NATS server for them.
//!
//! Read [`FleetInCluster`]. `agents`, `nats`, `network` and `credentials` make the objects, [`Kubectl`] brings them into the cluster and
//! [`FleetState`] reads how they do. Deliberately absent: an operator and a client of the API: `kubectl` has the user's context, rights and plugins.

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
