//! The fleet lab: `loadstone fleet` and runs over it in a real Kubernetes of several nodes on this machine, with pods that are killed and evicted in mid-run.
//!
//! Read [`cases`]; `user` does what a user would, `cluster` is what it is done to: etcd, the control plane and kubelets with containerd, as processes.
//! Deliberately absent: stand-ins. What a cloud would add (a network plugin that enforces policies, a registry, separate machines) is not there.

mod cases;
mod cluster;
mod control_plane;
mod daemon;
mod images;
mod network;
mod node;
mod programs;
mod target;
mod user;

use std::path::PathBuf;

use anyhow::{Result, bail};
use checkout::Workspace;
use clap::Args;

use self::cases::{CASES, FleetCase, Observed};
use self::cluster::Cluster;
use self::programs::Programs;
use self::target::Target;
use self::user::FleetUser;
use super::{figures, lab_case};

#[derive(Args)]
pub(crate) struct FleetLabOptions {
    /// Only cases whose name contains this; the fleet is started and ended in any case. May be repeated.
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
    /// How often to do all of it, with a new fleet each time.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Leave the cluster up when all is done, until Enter is pressed.
    #[arg(long)]
    keep: bool,
}

pub(crate) fn fleet(workspace: &Workspace, options: &FleetLabOptions) -> Result<()> {
    let is_wanted = |case: &&FleetCase| options.only.is_empty() || options.only.iter().any(|word| case.name.contains(word.as_str()));
    let chosen: Vec<&FleetCase> = CASES.iter().filter(is_wanted).collect();
    if chosen.is_empty() {
        bail!("no case is called like that; there are: {}", CASES.iter().map(|case| case.name).collect::<Vec<_>>().join("; "));
    }
    let programs = Programs::find(workspace)?;
    let binary = lab_case::binary(workspace, options.binary.as_ref())?;
    let folder = workspace.target.join("lab/fleet");
    let (logs, runs) = (folder.join("logs"), folder.join("runs"));
    eprintln!("starting Kubernetes {}", programs.kubernetes);
    let cluster = Cluster::start(programs, &binary, &logs)?;
    let target = Target::start(&cluster::folder().join("target"), &logs)?;
    let mut user = FleetUser::new(cluster, target, &binary, &workspace.root.join("labs/fleet"), (&runs, &logs))?;
    let mut rows = vec![["round", "case", "what", "expected", "seen", "right"].map(str::to_owned).to_vec()];
    let mut wrong = 0;
    for round in 1..=options.repeat {
        let ends = [FleetCase { name: "up", perform: cases::up }, FleetCase { name: "down", perform: cases::down }];
        for case in [&ends[0]].into_iter().chain(chosen.iter().copied()).chain([&ends[1]]) {
            eprintln!("round {round}: {}", case.name);
            let seen = (case.perform)(&mut user)
                .unwrap_or_else(|error| vec![cases::observed("the case itself", "performed", format!("{error:#}"), false)]);
            wrong += seen.iter().filter(|observed| !observed.is_right).count();
            rows.extend(seen.iter().map(|observed| row(round, case, observed)));
        }
    }
    println!("{}", figures::table(&rows));
    println!("runs are in {}, logs in {}", runs.display(), logs.display());
    if options.keep {
        println!("the cluster is up until Enter is pressed: KUBECONFIG={}", user.cluster.kubeconfig()?.display());
        std::io::stdin().read_line(&mut String::new())?;
    }
    if wrong > 0 {
        bail!("{wrong} of {} observations were not as expected", rows.len() - 1);
    }
    Ok(())
}

fn row(round: u32, case: &FleetCase, observed: &Observed) -> Vec<String> {
    let Observed { what, expected, seen, is_right } = observed;
    let right = if *is_right { "yes" } else { "NO" };
    vec![round.to_string(), case.name.to_owned(), what.clone(), expected.clone(), seen.clone(), right.to_owned()]
}
