//! hotelReservation while it runs: its stores, its services, and the path between them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use checkout::Workspace;

use super::change::SystemChange;
use super::delayed_path::DelayedPath;
use super::services::{self, POSTGRES, POSTGRES_PORT, SYSTEM};
use crate::external_measure::MeasureFolders;
use crate::external_measure::service_processes::{RunningServices, ServiceProcess, SystemOfServices};

/// Time for the services to find each other after all of them listen.
const SETTLE: Duration = Duration::from_secs(3);

pub(super) struct HotelSystem<'a> {
    pub(super) system: SystemOfServices<'a>,
    pub(super) path: &'a DelayedPath,
    services: RunningServices,
    _postgres: RunningServices,
}

impl<'a> HotelSystem<'a> {
    /// Starts the system with an empty database, to which the services add their data.
    pub(super) fn start(
        workspace: &Workspace,
        folders: &'a MeasureFolders,
        path: &'a DelayedPath,
        changes: &[&SystemChange],
    ) -> Result<Self> {
        path.set_delay(0);
        let config = serde_json::to_string_pretty(&services::config(changes))?;
        fs::write(folders.logs.join("config.json"), config).context("writing config.json")?;
        let system = SystemOfServices { name: "hotel", built: &folders.logs, logs: &folders.logs, has_cpu_groups: true, settle: SETTLE };
        let lab = workspace.root.join("labs/hotel");
        let surround = |service: &ServiceProcess, command: &mut Command| {
            command.env("BUILT", &folders.built).env("LAB", &lab).envs(services::environment(service.name, changes));
        };
        let postgres = system.start(&[&POSTGRES], surround)?;
        create_database()?;
        let services = system.start(&SYSTEM.iter().collect::<Vec<_>>(), surround)?;
        Ok(Self { system, path, services, _postgres: postgres })
    }

    /// The process of a service.
    pub(super) fn process_id(&self, service: &str) -> Result<libc::pid_t> {
        let supervisor = self.services.process_id(service).with_context(|| format!("no service {service} was started"))?;
        let children = PathBuf::from(format!("/proc/{supervisor}/task/{supervisor}/children"));
        let children = fs::read_to_string(&children).with_context(|| format!("reading {}", children.display()))?;
        children.trim().parse().with_context(|| format!("{service} does not run: its children are {children:?}"))
    }
}

fn create_database() -> Result<()> {
    let status = Command::new("psql")
        .args(["-h", "127.0.0.1", "-p", &POSTGRES_PORT.to_string(), "-U", "postgres", "-d", "postgres", "-q"])
        .args(["-c", "SET client_min_messages = error", "-c", "DROP DATABASE IF EXISTS hotel", "-c", "CREATE DATABASE hotel"])
        .status()
        .context("cannot start psql")?;
    if !status.success() {
        bail!("psql cannot create the database `hotel` on port {POSTGRES_PORT}: {status}");
    }
    Ok(())
}
