//! What a reader can do with a finding: read the documentation of its rule, and prove it with an experiment. The pages of docs/findings are part of the
//! binary.

use std::path::Path;

use loadstone_analysis::{Finding, Rule, rules};
use serde::Serialize;

/// Pages by name, sorted.
static PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/explanations.rs"));

/// The file that a run of `loadstone demo` records. `loadstone experiment` has its own test for the same shop.
const DEMO: &str = "demo";
/// Where commands look for runs if nothing else is given.
const RUNS: &str = "runs";

/// A finding's rule, explained.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct FindingExplanation {
    /// The name under which `loadstone explain` shows its page.
    pub page: String,
    /// Its text, as Markdown: headings, paragraphs, lists, tables and quotes.
    pub markdown: String,
    /// The command that would prove or refute the finding, if a setting of the system can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
}

/// The text of a page, as Markdown, without the notes for those who edit it.
pub fn explanation(page: &str) -> Option<String> {
    let (_, text) = PAGES.iter().find(|(name, _)| *name == page)?;
    let is_for_readers = |paragraph: &&str| !paragraph.starts_with("Written by `cargo xtask gen`") && !paragraph.starts_with("![");
    Some(text.trim_end().split("\n\n").filter(is_for_readers).collect::<Vec<_>>().join("\n\n"))
}

/// The pages of every rule that a name selects: the page itself, or all that report findings of this id.
pub fn pages_named(name: &str) -> Vec<&'static Rule> {
    let page: Vec<&Rule> = rules().iter().filter(|rule| rule.page == name).collect();
    if page.is_empty() { rules().iter().filter(|rule| rule.ids.contains(&name)).collect() } else { page }
}

/// The name under which `loadstone explain` shows a finding's page: its rule, or the page if several pages describe findings of that rule. Empty: the finding
/// was concluded by an older version.
pub(crate) fn explained_as(finding: &Finding) -> &str {
    let rule = finding.rule.as_str();
    match pages_named(rule)[..] {
        [only] if only.page == finding.page => rule,
        _ => &finding.page,
    }
}

/// Explains each finding of a run. `file`: the test as the run recorded it, `run`: the run's id.
pub(crate) fn of_findings(findings: &[Finding], file: Option<&str>, run: &str) -> Vec<FindingExplanation> {
    let explained = findings.iter().zip(1..).map(|(finding, number)| FindingExplanation {
        page: explained_as(finding).to_owned(),
        markdown: explanation(&finding.page).unwrap_or_default(),
        experiment: experiment(finding, number, file, run),
    });
    explained.collect()
}

/// The command that would prove the finding. `None` if no setting changes what it explains, or if the run has no test that can declare one.
pub(crate) fn experiment(finding: &Finding, number: usize, file: Option<&str>, run: &str) -> Option<String> {
    let rule = rules().iter().find(|rule| rule.page == finding.page).filter(|rule| !rule.settings.is_empty());
    match (rule, file?) {
        (Some(_), DEMO) => Some("loadstone experiment demo".to_owned()),
        (Some(_), file) if file.ends_with(".load.ts") || file.ends_with(".load.js") => {
            Some(format!("loadstone experiment {} --finding {number} --run {}", quoted(file), quoted(run)))
        }
        _ => None,
    }
}

/// What `--run` takes: the run's id where commands look for runs, and its folder elsewhere. `places`: the written files.
pub(crate) fn run_argument<'a>(places: &'a [(&str, String)], id: &'a str) -> &'a str {
    let folder = places.iter().find(|(what, _)| *what == "Run").map(|(_, place)| place.as_str());
    folder.filter(|folder| Path::new(folder).parent() != Some(Path::new(RUNS))).unwrap_or(id)
}

/// As a word of a shell.
fn quoted(word: &str) -> String {
    let is_plain = word.chars().all(|c| c.is_alphanumeric() || "/._-+:@".contains(c));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use loadstone_analysis::{Confidence, RuleId, Subject};

    use super::*;

    fn finding(page: &str) -> Finding {
        Finding { page: page.to_owned(), ..Finding::new(RuleId::new("workers"), Subject::Whole, Confidence::High, String::new()) }
    }

    #[test]
    fn every_rule_has_a_page_of_its_own_and_every_page_a_rule() {
        let mut pages: Vec<&str> = rules().iter().map(|rule| rule.page).collect();
        pages.sort_unstable();
        assert_eq!(pages, PAGES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        for (rule, text) in rules().iter().filter_map(|rule| Some((rule, explanation(rule.page)?))) {
            assert!(text.starts_with(&format!("# {}\n\nRule `{}`", rule.title, rule.ids[0])), "{}: {text}", rule.page);
        }
    }

    #[test]
    fn a_name_is_a_page_or_an_id_that_several_rules_report() {
        let pages = |name| pages_named(name).iter().map(|rule| rule.page).collect::<Vec<_>>();
        assert_eq!(pages("connection-pool"), ["connection-pool"]);
        assert_eq!(pages("workers"), ["lock", "connection-pool"]);
        assert_eq!(pages("delaying-limit"), ["delaying-limit"]);
        assert!(pages("nothing").is_empty());
    }

    #[test]
    fn a_finding_is_explained_by_the_name_of_its_rule_if_that_selects_its_page() {
        let named = |rule, page: &str| {
            let finding = Finding { rule: RuleId::new(rule), ..finding(page) };
            explained_as(&finding).to_owned()
        };
        assert_eq!(["cpu", "descriptors", "ports"].map(|rule| named(rule, "cpu")), ["cpu", "descriptors", "ports"]);
        assert_eq!(named("lost-journeys", "failures"), "lost-journeys");
        // Two pages describe findings of these rules.
        assert_eq!(named("rate-limit", "delaying-limit"), "delaying-limit");
        assert_eq!(named("workers", "connection-pool"), "connection-pool");
        assert_eq!(named("cpu", ""), "");
        for name in ["descriptors", "lost-journeys"] {
            assert_eq!(pages_named(name).len(), 1, "{name}");
        }
    }

    #[test]
    fn a_run_is_named_by_its_folder_where_commands_do_not_look_for_runs() {
        let of = |place: &str| run_argument(&[("Report", "x/report.html".to_owned()), ("Run", place.to_owned())], "0421-shop").to_owned();
        assert_eq!(of("runs/0421-shop"), "0421-shop");
        assert_eq!(of("other/0421-shop"), "other/0421-shop");
        assert_eq!(run_argument(&[], "0421-shop"), "0421-shop");
    }

    #[test]
    fn an_experiment_is_offered_where_a_setting_can_prove_the_finding() {
        let of = |page, file| experiment(&finding(page), 2, file, "0421-shop");
        let command = "loadstone experiment tests/shop.load.ts --finding 2 --run 0421-shop";
        assert_eq!(of("connection-pool", Some("tests/shop.load.ts")).as_deref(), Some(command));
        assert_eq!(of("connection-pool", Some("my shop.load.ts")).unwrap(), command.replace("tests/shop.load.ts", "'my shop.load.ts'"));
        assert_eq!(of("connection-pool", Some("demo")).as_deref(), Some("loadstone experiment demo"));
        assert_eq!(of("outage", Some("shop.load.ts")), None, "no setting of the system ends an outage");
        assert_eq!(of("connection-pool", Some("script.js")), None, "a k6 script declares no knob");
        assert_eq!(of("connection-pool", None), None, "neither does a URL");
    }
}
