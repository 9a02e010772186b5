//! Holds every dependency that is compiled for a platform we ship to against deny.toml: its licence, its name, where it comes from.
//!
//! deny.toml is in cargo-deny's format, so that cargo-deny reads it too; what it says is held here, from what cargo says alone, so that nothing has to be
//! installed for it. A rule in deny.toml that is not known here is an error. Start with [`licences`].

mod dependency;
mod expression;
mod policy;

use std::fs;

use anyhow::{Context, Result, bail};

use crate::metadata;
use crate::workspace::Workspace;
use dependency::ExternalPackage;
use policy::Policy;

const POLICY: &str = "deny.toml";

pub(crate) fn licences(workspace: &Workspace) -> Result<()> {
    let text = fs::read_to_string(workspace.root.join(POLICY)).with_context(|| format!("reading {POLICY}"))?;
    let policy = Policy::parse(&text).context(POLICY)?;
    let packages = dependency::compiled(workspace, &policy.platforms)?;
    let mut complaints: Vec<String> = packages.iter().flat_map(|package| judge(&policy, package)).collect();
    complaints.extend(unused_licences(&policy, &packages));
    for package in metadata::packages(workspace)? {
        let any_version = package.dependencies.iter().filter(|dependency| dependency.requirement == "*" && !dependency.is_path);
        complaints.extend(any_version.map(|dependency| format!("{}: takes any version of {}", package.name, dependency.package)));
    }
    if !complaints.is_empty() {
        bail!("{} violations of {POLICY}:\n  {}", complaints.len(), complaints.join("\n  "));
    }
    println!("{} dependencies, all as {POLICY} allows", packages.len());
    Ok(())
}

fn judge(policy: &Policy, package: &ExternalPackage) -> Vec<String> {
    let ExternalPackage { name, version, licence, source, brought_by } = package;
    let mut complaints = Vec::new();
    match licence {
        None => complaints.push("names no licence".to_owned()),
        Some(licence) => match expression::is_granted(licence, &|one| policy.allows(one)) {
            Ok(true) => {}
            Ok(false) => complaints.push(format!("its licence `{licence}` is not allowed")),
            Err(problem) => complaints.push(format!("its licence `{licence}` cannot be read: {problem}")),
        },
    }
    if let Some(reason) = policy.banned.get(name) {
        complaints.push(format!("is banned: {reason}"));
    }
    if !policy::is_known_source(source) {
        complaints.push(format!("comes from {source}"));
    }
    complaints.into_iter().map(|complaint| format!("{name} {version} (of {}): {complaint}", brought_by.join(", "))).collect()
}

/// A licence that no dependency has need not be allowed.
fn unused_licences(policy: &Policy, packages: &[ExternalPackage]) -> Vec<String> {
    let named: Vec<String> = packages.iter().filter_map(|package| package.licence.as_deref()).flat_map(expression::licences).collect();
    let unused = policy.allowed.iter().filter(|licence| !named.contains(licence));
    unused.map(|licence| format!("{licence} is allowed, and no dependency has it; remove the line")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

    fn policy() -> Policy {
        let text = "[licenses]\nallow = [\"MIT\", \"Zlib\"]\n[bans]\ndeny = [{ crate = \"ring\", reason = \"one provider\" }]\n";
        Policy::parse(text).unwrap()
    }

    fn package(name: &str, licence: Option<&str>, source: &str) -> ExternalPackage {
        let text = str::to_owned;
        ExternalPackage {
            name: text(name),
            version: text("1.0.0"),
            licence: licence.map(text),
            source: text(source),
            brought_by: vec![text("xtask")],
        }
    }

    #[test]
    fn a_dependency_is_judged_by_licence_name_and_source() {
        assert!(judge(&policy(), &package("a", Some("MIT OR GPL-3.0"), CRATES_IO)).is_empty());
        assert_eq!(
            judge(&policy(), &package("a", Some("GPL-3.0"), CRATES_IO)),
            ["a 1.0.0 (of xtask): its licence `GPL-3.0` is not allowed"]
        );
        assert_eq!(judge(&policy(), &package("a", None, CRATES_IO)), ["a 1.0.0 (of xtask): names no licence"]);
        assert_eq!(judge(&policy(), &package("ring", Some("MIT"), CRATES_IO)), ["ring 1.0.0 (of xtask): is banned: one provider"]);
        assert_eq!(judge(&policy(), &package("a", Some("MIT"), "git+https://example.com/a")).len(), 1);
    }

    #[test]
    fn a_licence_that_no_dependency_has_need_not_be_allowed() {
        let found = unused_licences(&policy(), &[package("a", Some("MIT"), CRATES_IO)]);
        assert_eq!(found, ["Zlib is allowed, and no dependency has it; remove the line"]);
    }
}
