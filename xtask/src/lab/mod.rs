//! `cargo xtask lab NAME`: a system with a known fault, the load test that a user would run against it, and whether the fault was named.
//!
//! Each lab is a list of [`case::Case`]s: faults to switch on, parameters of the load, and what must be found. Read [`webhooks`] first.
//! Deliberately absent: any knowledge of the faults in the test or the binary; they see what a user's would.

mod case;
mod system;
mod tickets;
mod webhooks;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    lab: Lab,
}

#[derive(Subcommand)]
enum Lab {
    /// Payments, a queue, and a service that tells subscribers: is each fault named first, with the right number?
    Webhooks(webhooks::Options),
    /// Tickets over REST and their validation over WebSocket, at thousands of users.
    Tickets(tickets::Options),
}

pub(crate) fn lab(workspace: &Workspace, options: &Options) -> Result<()> {
    match &options.lab {
        Lab::Webhooks(options) => webhooks::webhooks(workspace, options),
        Lab::Tickets(options) => tickets::tickets(workspace, options),
    }
}
