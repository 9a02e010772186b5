//! Flags that several commands share, one file per group.

mod against;
mod k6_options;
mod k6_script;
mod limits;
mod network;
mod observers;
mod output;
mod parameters;
mod permissions;
mod stored_run;

pub(crate) use against::{AgainstArgs, ComparisonArgs};
pub(crate) use k6_options::K6OptionArgs;
pub(crate) use k6_script::{K6ScriptArgs, of_process as k6_inputs_of_process, system_file};
pub(crate) use limits::{LimitArgs, LimitDefaults, RateGuard};
pub(crate) use network::NetworkArgs;
pub(crate) use observers::{ObserverArgs, observers_of};
pub(crate) use output::OutputArgs;
pub(crate) use parameters::ParameterArgs;
pub(crate) use permissions::PermissionArgs;
pub(crate) use stored_run::{RunsFolderArgs, StoredRunArgs, find};
