//! Flags that several commands share, a file for each group.

mod against;
mod network;
mod output;
mod parameters;
mod stored_run;

pub(crate) use against::{AgainstArgs, ComparisonArgs};
pub(crate) use network::NetworkArgs;
pub(crate) use output::OutputArgs;
pub(crate) use parameters::{ParameterArgs, inputs};
pub(crate) use stored_run::{RunsFolderArgs, StoredRunArgs, find};
