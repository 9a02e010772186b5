//! Holds the table of allowed edges between the project's crates against `cargo metadata`.
//!
//! The table is the architecture: data flows asked → measured → concluded, and no edge runs against it.
//! ARCHITECTURE.md shows the same table and says why; a new edge is a decision, taken there and here.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;
use crate::workspace::Workspace;

/// Package, then the packages of this workspace it may depend on.
const MAY_USE: &[(&str, &[&str])] = &[
    ("loadstone-secrets", &[]),
    ("loadstone-plan", &["loadstone-secrets"]),
    ("loadstone-metrics", &["loadstone-secrets"]),
    ("loadstone-stub", &[]),
    ("loadstone-engine", &["loadstone-plan", "loadstone-metrics"]),
    ("loadstone-protocol", &["loadstone-metrics"]),
    ("loadstone-observe", &["loadstone-metrics"]),
    // Of the engine only the VirtualUser trait.
    ("loadstone-script", &["loadstone-engine", "loadstone-protocol", "loadstone-stub", "loadstone-plan", "loadstone-metrics"]),
    ("loadstone-run-directory", &["loadstone-plan", "loadstone-metrics", "loadstone-secrets"]),
    ("loadstone-analysis", &["loadstone-run-directory", "loadstone-plan", "loadstone-metrics"]),
    ("loadstone-report", &["loadstone-analysis", "loadstone-run-directory", "loadstone-plan", "loadstone-metrics", "loadstone-secrets"]),
    ("loadstone-outputs", &["loadstone-plan", "loadstone-metrics"]),
    (
        "loadstone-session",
        &[
            "loadstone-analysis",
            "loadstone-engine",
            "loadstone-metrics",
            "loadstone-observe",
            "loadstone-outputs",
            "loadstone-plan",
            "loadstone-protocol",
            "loadstone-run-directory",
            "loadstone-script",
            "loadstone-secrets",
            "loadstone-stub",
            "loadstone-units",
        ],
    ),
    ("loadstone-fleet", &["loadstone-plan", "loadstone-metrics", "loadstone-run-directory"]),
    (
        "loadstone",
        &[
            "loadstone-analysis",
            "loadstone-engine",
            "loadstone-fleet",
            "loadstone-metrics",
            "loadstone-observe",
            "loadstone-outputs",
            "loadstone-plan",
            "loadstone-protocol",
            "loadstone-report",
            "loadstone-run-directory",
            "loadstone-script",
            "loadstone-secrets",
            "loadstone-session",
            "loadstone-stub",
        ],
    ),
    ("xtask", &[]),
];

/// What any crate's tests may use besides: the only server in our own tests.
const TESTS_MAY_USE: &[&str] = &["loadstone-stub"];

pub(crate) fn edges(workspace: &Workspace) -> Result<()> {
    let text = process::output(workspace.command("cargo").args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let edges = read(&serde_json::from_str(&text).context("`cargo metadata` did not write JSON")?)?;
    let wrong = violations(&edges);
    if !wrong.is_empty() {
        bail!("{} forbidden edges:\n  {}\nThe table stands in xtask/src/edges.rs and ARCHITECTURE.md.", wrong.len(), wrong.join("\n  "));
    }
    println!("{} edges between {} crates, all allowed", edges.values().map(Vec::len).sum::<usize>(), edges.len());
    Ok(())
}

/// Package → the packages of the workspace it names, each with whether only its tests do.
type Edges = BTreeMap<String, Vec<Edge>>;

struct Edge {
    to: String,
    tests_only: bool,
}

fn read(metadata: &Value) -> Result<Edges> {
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let names: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut edges = Edges::new();
    for package in packages {
        let from = package["name"].as_str().context("a package without a name")?;
        let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
        let ours = dependencies.iter().filter_map(|dependency| {
            let to = dependency["name"].as_str().filter(|to| names.contains(to))?;
            Some(Edge { to: to.to_owned(), tests_only: dependency["kind"] == "dev" })
        });
        edges.insert(from.to_owned(), ours.collect());
    }
    Ok(edges)
}

fn violations(edges: &Edges) -> Vec<String> {
    let mut wrong = Vec::new();
    for (from, to) in edges {
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| name == from) else {
            wrong.push(format!("{from} does not stand in the table"));
            continue;
        };
        for edge in to {
            let name = edge.to.as_str();
            let fine = allowed.contains(&name) || (edge.tests_only && TESTS_MAY_USE.contains(&name));
            if !fine {
                wrong.push(format!("{from} → {name}{}", if edge.tests_only { " (in tests)" } else { "" }));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(from: &str, to: &str, kind: Option<&str>) -> Vec<String> {
        let metadata = json!({ "packages": [
            { "name": from, "dependencies": [{ "name": to, "kind": kind }, { "name": "serde", "kind": null }] },
            { "name": to, "dependencies": [] },
        ]});
        violations(&read(&metadata).unwrap())
    }

    #[test]
    fn the_table_decides() {
        assert!(check("loadstone-engine", "loadstone-plan", None).is_empty());
        assert_eq!(check("loadstone-observe", "loadstone-engine", None), ["loadstone-observe → loadstone-engine"]);
    }

    #[test]
    fn tests_may_use_the_stub_and_nothing_else_beyond_the_table() {
        assert!(check("loadstone-protocol", "loadstone-stub", Some("dev")).is_empty());
        assert_eq!(check("loadstone-protocol", "loadstone-stub", None), ["loadstone-protocol → loadstone-stub"]);
        assert_eq!(
            check("loadstone-protocol", "loadstone-run-directory", Some("dev")),
            ["loadstone-protocol → loadstone-run-directory (in tests)"]
        );
    }

    #[test]
    fn an_unknown_crate_is_a_decision_to_take() {
        assert_eq!(check("loadstone-new", "loadstone-plan", None)[0], "loadstone-new does not stand in the table");
    }

    #[test]
    fn the_table_has_no_cycle() {
        fn reaches(from: &str, goal: &str) -> bool {
            let next = MAY_USE.iter().find(|(name, _)| *name == from).map_or(&[][..], |(_, to)| to);
            next.iter().any(|to| *to == goal || reaches(to, goal))
        }
        for (name, _) in MAY_USE {
            assert!(!reaches(name, name), "{name} reaches itself");
        }
    }
}
