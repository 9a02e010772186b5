//! Exceptions to the rules, each with its reason: `xtask/tidy-exceptions.txt`.
//!
//! An unneeded exception is a complaint, too.

use std::cell::Cell;
use std::fs;

use anyhow::{Context, Result, bail};
use checkout::Workspace;

pub(super) const FILE: &str = "xtask/tidy-exceptions.txt";

/// A rule that allows exceptions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ExceptionRule {
    LongFile,
    Circle,
    TypeName,
    UnusedDependency,
    UnusedFile,
    Prose,
}

impl ExceptionRule {
    const ALL: [ExceptionRule; 6] = [
        ExceptionRule::LongFile,
        ExceptionRule::Circle,
        ExceptionRule::TypeName,
        ExceptionRule::UnusedDependency,
        ExceptionRule::UnusedFile,
        ExceptionRule::Prose,
    ];

    /// The word that a line begins with.
    fn word(self) -> &'static str {
        match self {
            ExceptionRule::LongFile => "long",
            ExceptionRule::Circle => "circle",
            ExceptionRule::TypeName => "name",
            ExceptionRule::UnusedDependency => "dependency",
            ExceptionRule::UnusedFile => "file",
            ExceptionRule::Prose => "prose",
        }
    }
}

struct Exception {
    rule: ExceptionRule,
    subject: String,
    was_needed: Cell<bool>,
}

pub(super) struct Exceptions {
    all: Vec<Exception>,
}

impl Exceptions {
    pub(super) fn read(workspace: &Workspace) -> Result<Self> {
        let text = fs::read_to_string(workspace.root.join(FILE)).with_context(|| format!("reading {FILE}"))?;
        Self::parse(&text)
    }

    /// Lines `RULE SUBJECT  REASON`, with two spaces before the reason; `#` begins a comment.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut all = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let Some(rule) = ExceptionRule::ALL.into_iter().find(|rule| rule.word() == word) else {
                bail!("{FILE}: `{word}` is not a rule; expected one of {}", ExceptionRule::ALL.map(ExceptionRule::word).join(", "));
            };
            let (subject, reason) = rest.trim_start().split_once("  ").unwrap_or((rest, ""));
            if subject.trim().is_empty() || reason.trim().is_empty() {
                bail!("{FILE}: `{line}` has no reason; write it after the subject and two spaces");
            }
            all.push(Exception { rule, subject: subject.to_owned(), was_needed: Cell::new(false) });
        }
        Ok(Self { all })
    }

    /// Whether there is an exception for a subject. Call it only for a subject that violates the rule, since the exception then counts as needed.
    pub(super) fn allow(&self, rule: ExceptionRule, subject: &str) -> bool {
        let exception = self.all.iter().find(|exception| exception.rule == rule && exception.subject == subject);
        exception.is_some_and(|exception| {
            exception.was_needed.set(true);
            true
        })
    }

    /// Complaints about exceptions that nothing needed. Call this after all rules.
    pub(super) fn stale(&self) -> Vec<String> {
        let unneeded = self.all.iter().filter(|exception| !exception.was_needed.get());
        unneeded
            .map(|exception| format!("{FILE}: `{} {}` is no longer needed; remove the line", exception.rule.word(), exception.subject))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_read_with_their_rule() {
        let exceptions =
            Exceptions::parse("# words\n\nlong types/a.d.ts  one file by design\nname    Outcome  of a request, here and there\n").unwrap();
        assert!(exceptions.allow(ExceptionRule::LongFile, "types/a.d.ts") && !exceptions.allow(ExceptionRule::Circle, "types/a.d.ts"));
        assert_eq!(exceptions.stale(), ["xtask/tidy-exceptions.txt: `name Outcome` is no longer needed; remove the line"]);
        assert!(exceptions.allow(ExceptionRule::TypeName, "Outcome") && exceptions.stale().is_empty());
    }

    #[test]
    fn an_exception_needs_a_rule_and_a_reason() {
        let error = |line: &str| Exceptions::parse(line).err().unwrap().to_string();
        assert!(error("long types/a.d.ts").ends_with("`long types/a.d.ts` has no reason; write it after the subject and two spaces"));
        assert!(error("lng a.rs  because").contains("`lng` is not a rule; expected one of long, circle"));
    }
}
