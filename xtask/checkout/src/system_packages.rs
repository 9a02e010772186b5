//! Installing packages of the system.

use std::process::Command;

use anyhow::Result;

use crate::process;

/// Runs `apt-get` as root or through sudo, without questions.
pub fn apt(arguments: &[&str], packages: &[&str]) -> Result<()> {
    let root = process::output(Command::new("id").arg("-u"))?.trim() == "0";
    let mut command = if root { Command::new("env") } else { Command::new("sudo") };
    // Questions of a package would wait for a terminal, which CI does not have.
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=120"]);
    process::run_aside(command.args(arguments).args(packages))
}
