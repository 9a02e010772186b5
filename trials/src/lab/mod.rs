//! `cargo xtask lab NAME`: a system with a known fault, the load test that a user would run against it, and whether the fault was named.
//!
//! Each lab is a list of [`lab_case::LabCase`]s: faults to switch on, parameters of the load, and what must be found. Read [`webhooks`] first.
//! Deliberately absent: any knowledge of the faults in the test or the binary; they see what a user's would.

mod capacity;
pub(crate) mod conclusion;
mod decisions;
mod email;
pub(crate) mod figures;
mod fleet;
mod lab_case;
mod payments;
mod proof;
mod runtimes;
pub(crate) mod system;
mod tickets;
mod webhooks;

use anyhow::Result;
use checkout::Workspace;
use clap::{Args, Subcommand};

#[derive(Args)]
pub(crate) struct LabOptions {
    #[command(subcommand)]
    lab: LabName,
}

#[derive(Subcommand)]
enum LabName {
    /// Payments, a queue, and a service that notifies subscribers: is each fault named first, with the right number?
    Webhooks(webhooks::WebhookOptions),
    /// A payment service that commits ten times for each payment: is that named first, and what helps?
    Payments(lab_case::CaseOptions),
    /// A service that is fast for minutes and then is not: is what fills up named, and is a run that is too short known as one?
    Decisions(lab_case::CaseOptions),
    /// From a content change to an e-mail for each subscriber: which of four layers is too slow, and why?
    Email(lab_case::CaseOptions),
    /// How near a search for the capacity comes, on servers whose capacity is known.
    Capacity(capacity::CapacityOptions),
    /// Agents in a real Kubernetes on this machine, with pods that are killed and evicted in mid-run. Needs root.
    Fleet(fleet::FleetLabOptions),
    /// What looking into a runtime costs the service, on healthy ones.
    Runtimes(runtimes::RuntimeOptions),
    /// Tickets over REST and their validation over WebSocket, at thousands of users.
    Tickets(tickets::TicketOptions),
}

pub(crate) fn lab(workspace: &Workspace, options: &LabOptions) -> Result<()> {
    match &options.lab {
        LabName::Webhooks(options) => webhooks::webhooks(workspace, options),
        LabName::Payments(options) => payments::payments(workspace, options),
        LabName::Decisions(options) => decisions::decisions(workspace, options),
        LabName::Email(options) => email::email(workspace, options),
        LabName::Capacity(options) => capacity::capacity(workspace, options),
        LabName::Fleet(options) => fleet::fleet(workspace, options),
        LabName::Runtimes(options) => runtimes::runtimes(workspace, options),
        LabName::Tickets(options) => tickets::tickets(workspace, options),
    }
}
