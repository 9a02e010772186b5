//! Packages for Debian and for distributions with RPM, written by nfpm from one description.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;
use serde_json::{Value, json};

use super::release::{NOTICES, Release, SHELLS};
use super::target::ReleaseTarget;

const NFPM: &str = "github.com/goreleaser/nfpm/v2/cmd/nfpm";
const NFPM_VERSION: &str = "v2.43.4";

/// Where packages put completions, in the order of [`SHELLS`]: on Debian, and on systems with rpm, whose zsh reads another folder.
const COMPLETIONS: [[&str; 2]; 3] = [
    ["/usr/share/bash-completion/completions/loadstone"; 2],
    ["/usr/share/zsh/vendor-completions/_loadstone", "/usr/share/zsh/site-functions/_loadstone"],
    ["/usr/share/fish/vendor_completions.d/loadstone.fish"; 2],
];
const FORMATS: [&str; 2] = ["deb", "rpm"];

/// The path of nfpm, which is built if it is missing.
pub(crate) fn nfpm(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.tools().join(format!("nfpm-{NFPM_VERSION}"));
    let program = folder.join("nfpm");
    if !program.is_file() {
        eprintln!("building nfpm {NFPM_VERSION}");
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        process::run_aside(Command::new("go").arg("install").arg(format!("{NFPM}@{NFPM_VERSION}")).env("GOBIN", &folder))?;
    }
    Ok(program)
}

pub(crate) fn has_nfpm(workspace: &Workspace) -> bool {
    workspace.tools().join(format!("nfpm-{NFPM_VERSION}/nfpm")).is_file()
}

/// For a target of Linux.
pub(super) fn write(nfpm: &Path, release: &Release, target: ReleaseTarget) -> Result<()> {
    let description = release.folder.join("nfpm.json");
    // nfpm reads YAML, which JSON is a part of.
    fs::write(&description, describe(release, target)?.to_string())?;
    for format in FORMATS {
        let mut command = Command::new(nfpm);
        command.args(["package", "--packager", format, "--config"]).arg(&description).arg("--target").arg(&release.folder);
        process::run_aside(command.env("SOURCE_DATE_EPOCH", &release.time))?;
    }
    Ok(fs::remove_file(description)?)
}

fn describe(release: &Release, target: ReleaseTarget) -> Result<Value> {
    let tree = release.tree(target);
    let mut contents = vec![
        file(&tree.join("loadstone"), "/usr/bin/loadstone", 0o755),
        file(&tree.join("LICENSE"), "/usr/share/doc/loadstone/copyright", 0o644),
        file(&tree.join(NOTICES), &format!("/usr/share/doc/loadstone/{NOTICES}"), 0o644),
    ];
    for page in fs::read_dir(tree.join("man"))? {
        let page = page?;
        contents.push(file(&page.path(), &format!("/usr/share/man/man1/{}", page.file_name().to_string_lossy()), 0o644));
    }
    for ((_, name), of_formats) in SHELLS.iter().zip(COMPLETIONS) {
        for (format, to) in FORMATS.iter().zip(of_formats) {
            let mut completion = file(&tree.join("completions").join(name), to, 0o644);
            completion["packager"] = Value::from(*format);
            contents.push(completion);
        }
    }
    let time = jiff::Timestamp::from_second(release.time.parse().context("the commit's time is in seconds")?)?.to_string();
    contents.iter_mut().for_each(|content| content["file_info"]["mtime"] = Value::from(&*time));
    Ok(json!({
        "name": "loadstone", "version": release.version, "arch": target.processor.go_name(), "platform": "linux", "section": "net", "priority": "optional",
        "maintainer": "The Loadstone developers <loadstone@localhost>", "license": "Apache-2.0", "mtime": time, "contents": contents,
        "description": "Load tests that tell you why\n\
            Runs load tests written in TypeScript, checks that the measurement was valid,\njudges thresholds, and finds what limits the system.",
        "rpm": { "buildhost": "localhost" },
    }))
}

fn file(from: &Path, to: &str, mode: u32) -> Value {
    json!({ "src": from, "dst": to, "file_info": { "mode": mode, "owner": "root", "group": "root" } })
}
