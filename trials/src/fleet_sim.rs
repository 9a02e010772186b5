//! `cargo xtask fleet-sim`: the simulation of fleets that is part of the tests, with as many seeds as wanted.

use std::process::Command;

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;
use clap::Args;

#[derive(Args)]
pub(crate) struct FleetSimOptions {
    /// How many seeds, from 0 on; or FROM..TO.
    #[arg(long, value_name = "N|FROM..TO", default_value = "10000")]
    seeds: String,
}

pub(crate) fn fleet_sim(workspace: &Workspace, options: &FleetSimOptions) -> Result<()> {
    let mut command = Command::new("cargo");
    command.current_dir(&workspace.root).args(["test", "--package", "loadstone-fleet", "--test", "it", "nothing_is_lost"]);
    process::run(command.env("LOADSTONE_SEEDS", &options.seeds)).context("a seed failed, see above")
}
