//! What the lab's cluster is made of: programs of Debian, and of Go modules that are built once and kept in `target/lab/fleet`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::process;

/// Programs that must be on the search path, and the Debian packages that have them.
const OF_DEBIAN: &[(&str, &str)] = &[
    ("etcd", "etcd-server"),
    ("containerd", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("iptables", "iptables"),
    ("conntrack", "conntrack"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("openssl", "openssl"),
    ("nginx", "nginx-light"),
    ("go", "golang-go"),
];
/// Where Debian's `containernetworking-plugins` has the plugins that give pods their addresses.
pub(super) const CNI: &str = "/usr/lib/cni";

/// Kubernetes itself.
const KUBERNETES: GoModule = GoModule { folder: "kubernetes", packages: &["tool"] };
/// A name server, NATS in the version of `fleet up`, and the pods' pause process.
const SUPPORT: GoModule = GoModule { folder: "support", packages: &["tool", "./dns", "./pause"] };

/// A module of `labs/fleet`, and the packages built from it.
struct GoModule {
    folder: &'static str,
    packages: &'static [&'static str],
}

pub(super) struct Programs {
    built: PathBuf,
    /// Of Kubernetes, as the module requires it: `v1.34.4`.
    pub(super) kubernetes: String,
    /// Of the NATS server.
    pub(super) nats: String,
}

impl Programs {
    /// Builds what is not built yet, at idle priority: minutes, the first time.
    pub(super) fn find(workspace: &Workspace) -> Result<Self> {
        let mut missing: Vec<&str> =
            OF_DEBIAN.iter().filter(|(program, _)| process::find(program).is_none()).map(|(_, package)| *package).collect();
        if !Path::new(CNI).join("ptp").is_file() {
            missing.push("containernetworking-plugins");
        }
        missing.dedup();
        if !missing.is_empty() {
            bail!("install what this lab needs: apt-get install --no-install-recommends {}", missing.join(" "));
        }
        let folder = workspace.target.join("lab/fleet");
        let built = folder.join("bin");
        let (kubernetes, nats) = (version(workspace, &KUBERNETES, "k8s.io/kubernetes")?, version(workspace, &SUPPORT, "nats-server/v2")?);
        // The compiler's cache is as large as a hundred programs.
        let cache = folder.join("go-cache");
        for module in [&KUBERNETES, &SUPPORT] {
            build(workspace, module, &kubernetes, &built, &cache)?;
        }
        if cache.exists() {
            fs::remove_dir_all(cache)?;
        }
        Ok(Self { built, kubernetes, nats })
    }

    /// One that was built.
    pub(super) fn path(&self, program: &str) -> PathBuf {
        self.built.join(program)
    }
}

/// The version that a module requires of another.
fn version(workspace: &Workspace, module: &GoModule, wanted: &str) -> Result<String> {
    let file = workspace.root.join("labs/fleet").join(module.folder).join("go.mod");
    let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    required(&text, wanted).with_context(|| format!("{} does not require {wanted}", file.display()))
}

fn required(text: &str, wanted: &str) -> Option<String> {
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let is_it = |words: &Vec<&str>| words.iter().any(|word| word.ends_with(wanted)) && !words.contains(&"=>");
    words.filter(is_it).find_map(|words| words.iter().find(|word| word.starts_with('v') && word.contains('.')).map(|&word| word.to_owned()))
}

fn build(workspace: &Workspace, module: &GoModule, kubernetes: &str, built: &Path, cache: &Path) -> Result<()> {
    let folder = workspace.root.join("labs/fleet").join(module.folder);
    let (stamp, wanted) = (built.join(format!("{}.sum", module.folder)), fs::read_to_string(folder.join("go.mod"))?);
    if fs::read_to_string(&stamp).is_ok_and(|of| of == wanted) {
        return Ok(());
    }
    eprintln!("building {}: minutes, the first time", module.folder);
    fs::create_dir_all(built)?;
    let mut go = Command::new("nice");
    go.args(["-n", "19", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", &linker_flags(kubernetes), "-o"]).arg(built);
    go.current_dir(&folder).args(module.packages).env("CGO_ENABLED", "0").env("GOCACHE", cache);
    process::run_aside(&mut go)?;
    Ok(fs::write(stamp, wanted)?)
}

/// Kubernetes' programs are built without a version by default, and some refuse to work without one.
fn linker_flags(version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let of = "k8s.io/component-base/version";
    format!("-s -w -X {of}.gitVersion={version} -X {of}.gitMajor={major} -X {of}.gitMinor={minor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_that_which_is_required() {
        let text = "module m\n\nrequire k8s.io/kubernetes v1.34.4\n\n\
                    require (\n\tk8s.io/api v0.34.4 // indirect\n)\n\nreplace (\n\tk8s.io/api => k8s.io/api v0.1.0\n)\n";
        assert_eq!(required(text, "k8s.io/kubernetes").as_deref(), Some("v1.34.4"));
        assert_eq!(required(text, "k8s.io/api").as_deref(), Some("v0.34.4"));
        assert_eq!(required(text, "k8s.io/kubelet"), None);
        assert!(linker_flags("v1.34.4").ends_with("gitMajor=1 -X k8s.io/component-base/version.gitMinor=34"));
    }
}
