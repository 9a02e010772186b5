//! `cargo xtask bench --install`: the other generators, each from its own registry at a fixed version, into the target folder.
//!
//! A generator that cannot be installed is named and left out; the bench runs without it. wrk2 is in no registry: build github.com/giltene/wrk2
//! and put its `wrk` into the folder `tools/bench/bin` of the target folder, or on the search path, as `wrk2`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use checkout::{Workspace, machine, process, system_packages};

const OHA: &str = "1.16.0";
const K6: &str = "go.k6.io/k6@v1.4.2";
const VEGETA: &str = "github.com/tsenart/vegeta/v12@v12.13.0";
const GHZ: &str = "github.com/bojand/ghz/cmd/ghz@v0.120.0";
const LOCUST: &str = "locust==2.47.0";

type Installer = fn(&Workspace, &Path) -> Result<()>;

const GENERATORS: &[(&str, Installer)] = &[
    ("wrk", |_, _| system_packages::apt(&["install", "--yes", "--no-install-recommends"], &["wrk"])),
    ("ab", |_, _| system_packages::apt(&["install", "--yes", "--no-install-recommends"], &["apache2-utils"])),
    ("h2load", |_, _| system_packages::apt(&["install", "--yes", "--no-install-recommends"], &["nghttp2-client"])),
    ("hey", |_, _| system_packages::apt(&["install", "--yes", "--no-install-recommends"], &["hey"])),
    ("oha", oha),
    ("k6", |_, folder| by_go(K6, folder)),
    ("vegeta", |_, folder| by_go(VEGETA, folder)),
    ("ghz", |_, folder| by_go(GHZ, folder)),
    ("locust", locust),
    ("gatling", gatling),
    ("jmeter", jmeter),
];

pub(super) fn install(workspace: &Workspace) -> Result<()> {
    let folder = workspace.tools().join("bench");
    fs::create_dir_all(folder.join("bin")).with_context(|| format!("creating {}", folder.display()))?;
    for (name, installer) in GENERATORS {
        if machine::generator(workspace, name).is_some() {
            println!("{name} is there");
            continue;
        }
        println!("installing {name}");
        if let Err(error) = installer(workspace, &folder) {
            eprintln!("{name} was not installed: {error:#}");
        }
    }
    Ok(())
}

fn oha(_: &Workspace, folder: &Path) -> Result<()> {
    process::run(Command::new("cargo").args(["install", "oha", "--locked", "--version", OHA, "--root"]).arg(folder))
}

fn by_go(package: &str, folder: &Path) -> Result<()> {
    process::run(Command::new("go").args(["install", package]).env("GOBIN", folder.join("bin")))
}

fn locust(_: &Workspace, folder: &Path) -> Result<()> {
    let own = folder.join("locust");
    process::run(Command::new("python3").args(["-m", "venv"]).arg(&own))?;
    process::run(Command::new(own.join("bin/pip")).args(["install", "--quiet", LOCUST]))?;
    symlink(own.join("bin/locust"), folder.join("bin/locust")).context("linking locust")
}

/// JMeter looks for its parts in `bin`, `lib` and `lib/ext` of one folder; the properties of `bin` are in a separate library.
fn jmeter(workspace: &Workspace, folder: &Path) -> Result<()> {
    let own = folder.join("jmeter");
    let (libraries, parts, bin) = (own.join("lib"), own.join("lib/ext"), own.join("bin"));
    for path in [&parts, &own.join("lib/junit"), &bin] {
        fs::create_dir_all(path)?;
    }
    let mut fetch = Command::new("mvn");
    fetch.args(["--quiet", "--batch-mode", "dependency:copy-dependencies", "--file"]).arg(workspace.root.join("bench/jmeter/pom.xml"));
    process::run(fetch.arg(format!("-DoutputDirectory={}", libraries.display())))?;
    for entry in fs::read_dir(&libraries)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("ApacheJMeter_") {
            fs::rename(entry.path(), parts.join(name))?;
        } else if name.starts_with("ApacheJMeter-") {
            fs::rename(entry.path(), bin.join("ApacheJMeter.jar"))?;
        }
    }
    let properties = fs::read_dir(&parts)?.filter_map(Result::ok).find(|entry| entry.file_name().to_string_lossy().contains("_config-"));
    let properties = properties.context("JMeter's library of properties is not there")?.path();
    process::run(Command::new("jar").arg("xf").arg(properties).arg("bin").current_dir(&own))?;
    let start = format!(
        "#!/bin/sh\nexec java -cp '{}/ApacheJMeter.jar' '-Djmeter.home={}' org.apache.jmeter.NewDriver \"$@\"\n",
        bin.display(),
        own.display()
    );
    executable(&folder.join("bin/jmeter"), &start)
}

fn executable(script: &Path, content: &str) -> Result<()> {
    fs::write(script, content)?;
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).with_context(|| format!("making {} executable", script.display()))
}

/// Gatling comes as a heap of libraries; the simulations are compiled once, so that the bench does not pay for it.
fn gatling(workspace: &Workspace, folder: &Path) -> Result<()> {
    let (sources, own) = (workspace.root.join("bench/gatling"), folder.join("gatling"));
    let library = own.join("lib");
    fs::create_dir_all(own.join("classes"))?;
    let mut fetch = Command::new("mvn");
    fetch.args(["--quiet", "--batch-mode", "dependency:copy-dependencies", "--file"]).arg(sources.join("pom.xml"));
    process::run(fetch.arg(format!("-DoutputDirectory={}", library.display())))?;
    let jars = format!("{}/*", library.display());
    let simulations = ["Status.java", "Rate.java"].map(|file| sources.join(file));
    process::run(Command::new("javac").args(["-cp", &jars, "-d"]).arg(own.join("classes")).args(simulations))?;
    // Without it every step is logged.
    fs::copy(sources.join("logback.xml"), own.join("classes/logback.xml"))?;
    let start =
        format!("#!/bin/sh\nexec java --add-opens java.base/java.lang=ALL-UNNAMED -cp '{jars}:{}' \"$@\"\n", own.join("classes").display());
    executable(&folder.join("bin/gatling"), &start)
}
