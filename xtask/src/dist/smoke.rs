//! `--smoke`: unpacks each archive and does the main job with its binary: the demo, findings of a recorded run, the report.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use checkout::Workspace;
use checkout::process;
use serde_json::Value;

use super::release::Release;
use super::target::ReleaseTarget;

/// The right answer of the demo, whose check-outs share four connections.
const RULE: &str = "effective-concurrency";

/// An emulated generator is too slow to be judged by its own demo. Each binary must find the answer in the run that this machine's own binary recorded.
pub(super) fn run(workspace: &Workspace, release: &Release, targets: &[ReleaseTarget]) -> Result<()> {
    let work = workspace.target.join("smoke");
    fs::remove_dir_all(&work).ok();
    fs::create_dir_all(&work)?;
    let (mut ordered, foreign): (Vec<ReleaseTarget>, Vec<ReleaseTarget>) = targets.iter().partition(|target| target.is_runnable());
    for target in foreign {
        println!("──── {}: not tried, because it does not run on this machine", target.name());
    }
    ordered.sort_by_key(|target| !target.is_own());
    let recorded = format!("runs-{}", ordered.first().context("nothing was built that runs here")?.name());
    for target in ordered {
        let archive = release.folder.join(format!("{}.tar.gz", release.archive_name(target)));
        process::run(Command::new("tar").current_dir(&work).arg("-xzf").arg(&archive))?;
        let binary = work.join(release.archive_name(target)).join("loadstone");
        let command = |arguments: &[&str]| -> Result<Command> {
            let mut command = target.start(&binary)?;
            command.current_dir(&work).args(arguments);
            Ok(command)
        };
        println!("──── {}: {}", target.name(), process::output(&mut command(&["--version"])?)?.trim());
        process::run(&mut command(&["demo", "--quiet", "--runs", &format!("runs-{}", target.name())])?)?;
        let summary = process::output(&mut command(&["show", "--runs", &recorded, "--json"])?)?;
        let summary = serde_json::from_str(&summary).context("`loadstone show --json` did not write JSON")?;
        let found = rules(&summary).context("`loadstone show --json` has no `verdict.findings.findings`")?;
        ensure!(found.iter().any(|rule| rule == RULE), "{} found {found:?} in the demo, not {RULE}", target.name());
        process::run(&mut command(&["report", "--runs", &recorded, "--output", &format!("{}.html", target.name())])?)?;
    }
    Ok(())
}

/// The rules of a run's findings, the most important first; `None` if the summary has another structure than docs/summary-json.md states.
fn rules(summary: &Value) -> Option<Vec<String>> {
    let findings = summary["verdict"]["findings"]["findings"].as_array()?;
    findings.iter().map(|finding| finding["rule"].as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_summary_without_findings_differs_from_one_of_another_structure() {
        let summary = |findings: Value| json!({ "schema": 2, "verdict": { "findings": { "findings": findings } } });
        assert_eq!(rules(&summary(json!([{ "rule": RULE }, { "rule": "change" }]))), Some(vec![RULE.to_owned(), "change".to_owned()]));
        assert_eq!(rules(&summary(json!([]))), Some(Vec::new()));
        assert_eq!(rules(&json!({ "schema": 1, "findings": [{ "rule": RULE }] })), None);
    }
}
