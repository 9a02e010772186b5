//! Installing packages of the system.

use std::process::Command;

use anyhow::Result;

use crate::process;

/// `apt-get` as root or through sudo, asking nothing.
pub fn apt(arguments: &[&str], packages: &[&str]) -> Result<()> {
    let root = process::output(Command::new("id").arg("-u"))?.trim() == "0";
    let mut command = if root { Command::new("env") } else { Command::new("sudo") };
    // A package's own questions would wait for a terminal that CI does not have; servers are started by tests, not by packages.
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=120"]);
    process::run_aside(command.args(arguments).args(packages))
}
