//! Installs what the tests need and a machine with only Rust, Node and Go may lack.
//!
//! Looks before it installs, so a second run costs nothing. System packages come from apt; where there is no apt, the
//! error names the programs to install by hand.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::web;
use crate::workspace::Workspace;

/// A program the tests start, the Debian package that brings it, and who needs it.
struct Program {
    names: &'static [&'static str],
    /// Where a package puts it if not on the search path; `*` stands for one folder (a version).
    beside: Option<(&'static str, &'static str)>,
    package: &'static str,
    purpose: &'static str,
}

const PROGRAMS: &[Program] = &[
    Program { names: &["cc"], beside: None, package: "gcc", purpose: "compiles the C parts of dependencies" },
    Program { names: &["nginx"], beside: None, package: "nginx-light", purpose: "end-to-end tests, examples, bench" },
    Program {
        names: &["initdb"],
        beside: Some(("/usr/lib/postgresql", "bin/initdb")),
        package: "postgresql",
        purpose: "the example shop, the labs, the PostgreSQL observer",
    },
    Program { names: &["java"], beside: None, package: "default-jre-headless", purpose: "the queue of labs/webhooks" },
    Program { names: &["mvn"], beside: None, package: "maven", purpose: "installs the queue of labs/webhooks" },
    Program { names: &["redis-server"], beside: None, package: "redis-server", purpose: "the Redis observer" },
    Program { names: &["prometheus"], beside: None, package: "prometheus", purpose: "the outputs to Prometheus" },
    Program {
        names: &["chromium", "chromium-browser", "google-chrome"],
        beside: None,
        package: "chromium",
        purpose: "the page in a real browser",
    },
];

/// Folders with a `package-lock.json`. One that does not exist (yet) is passed over.
const NPM_FOLDERS: &[&str] = &["web", "types/test", "examples/shop", "crates/protocol/tests/node", "labs/tickets", "labs/webhooks"];

const HTTPBIN: &str = "github.com/mccutchen/go-httpbin/v2/cmd/go-httpbin";
const HTTPBIN_VERSION: &str = "v2.26.0";

impl Program {
    fn present(&self) -> bool {
        let beside = || self.beside.is_some_and(|(folder, rest)| beside(Path::new(folder), rest));
        self.names.iter().any(|name| process::find(name).is_some()) || beside()
    }
}

fn beside(folder: &Path, rest: &str) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| entry.path().join(rest).is_file())
}

fn missing() -> Vec<&'static Program> {
    PROGRAMS.iter().filter(|program| !program.present()).collect()
}

/// Says what is missing and installs nothing.
pub(crate) fn list(workspace: &Workspace) -> Result<()> {
    for program in missing() {
        println!("missing: {} ({}; Debian package {})", program.names[0], program.purpose, program.package);
    }
    if !httpbin_present(workspace) {
        println!("missing: go-httpbin {HTTPBIN_VERSION} (end-to-end tests; built by `go install` into {})", workspace.tools().display());
    }
    Ok(())
}

pub(crate) fn setup(workspace: &Workspace) -> Result<()> {
    system_packages()?;
    for folder in NPM_FOLDERS.iter().filter(|folder| workspace.root.join(folder).join("package-lock.json").is_file()) {
        web::install(workspace, folder)?;
    }
    httpbin(workspace)?;
    process::run(workspace.command("node").args(["labs/webhooks/start.mjs", "--install"]))?;
    println!("everything the tests need is installed");
    Ok(())
}

fn system_packages() -> Result<()> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|program| program.package).collect();
    if process::find("apt-get").is_none() {
        let needs: Vec<String> = missing.iter().map(|program| format!("{} ({})", program.names[0], program.purpose)).collect();
        bail!("there is no apt-get on this machine; install by hand and run this again: {}", needs.join(", "));
    }
    println!("installing {}", packages.join(" "));
    // Package lists may be missing or old: refresh them only if an install cannot do without.
    if apt(&["install", "--yes", "--no-install-recommends"], &packages).is_err() {
        apt(&["update"], &[])?;
        apt(&["install", "--yes", "--no-install-recommends"], &packages)?;
    }
    let still: Vec<&str> = self::missing().iter().map(|program| program.names[0]).collect();
    if !still.is_empty() {
        bail!("apt-get installed {} and still there is no {}", packages.join(" "), still.join(", "));
    }
    Ok(())
}

/// `apt-get` as root or through sudo, asking nothing.
pub(crate) fn apt(arguments: &[&str], packages: &[&str]) -> Result<()> {
    let root = process::output(Command::new("id").arg("-u"))?.trim() == "0";
    let mut command = if root { Command::new("env") } else { Command::new("sudo") };
    // A package's own questions would wait for a terminal that CI does not have; servers are started by tests, not by packages.
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=120"]);
    process::run(command.args(arguments).args(packages))
}

fn httpbin_present(workspace: &Workspace) -> bool {
    let stamp = workspace.tools().join("go-httpbin.version");
    workspace.tools().join("go-httpbin").is_file() && fs::read_to_string(stamp).is_ok_and(|version| version == HTTPBIN_VERSION)
}

/// A third party's echo server, so that the protocol is tested against what we did not write.
fn httpbin(workspace: &Workspace) -> Result<()> {
    if httpbin_present(workspace) {
        return Ok(());
    }
    if process::find("go").is_none() {
        bail!("go-httpbin is built with Go (1.22 or later), which is not installed: https://go.dev/doc/install");
    }
    let tools = workspace.tools();
    fs::create_dir_all(&tools).with_context(|| format!("creating {}", tools.display()))?;
    println!("building go-httpbin {HTTPBIN_VERSION}");
    process::run(Command::new("go").arg("install").arg(format!("{HTTPBIN}@{HTTPBIN_VERSION}")).env("GOBIN", &tools))?;
    fs::write(tools.join("go-httpbin.version"), HTTPBIN_VERSION)?;
    Ok(())
}
