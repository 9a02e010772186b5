//! The table "Allowed edges" of ARCHITECTURE.md: which crate may use which.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};

const HEADING: &str = "## Allowed edges";
/// In the first column: the row applies to all crates, or to the tests of all.
const EVERY_CRATE: &str = "every crate";
const TESTS: &str = "tests of every crate";
/// In the second column.
const NONE: &str = "none of ours";
const ALL: &str = "all";

/// Crates by the names of their folders: `run-directory`, `cli`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct EdgeTable {
    rows: BTreeMap<String, BTreeSet<String>>,
    every_crate: BTreeSet<String>,
    tests: BTreeSet<String>,
}

impl EdgeTable {
    /// Reads the table, whose rows are `| plan, metrics | none of ours |`, `| engine | plan, metrics (a note) |`, `| cli | all |`. A row
    /// `every crate` adds to all others, and `tests of every crate` to what their tests may use.
    ///
    /// # Errors
    ///
    /// If there is no such table, a crate has no row or two, or a row names one that is not among `crates`.
    pub(super) fn parse(document: &str, crates: &BTreeSet<String>) -> Result<Self> {
        let (_, section) = document.split_once(HEADING).with_context(|| format!("there is no `{HEADING}`"))?;
        let lines = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
        let mut table = Self::default();
        // The first two lines are the head and the rule below it.
        for line in lines.skip(2) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [left, right] = cells[..] else { bail!("expected two columns in `{line}`") };
            let allowed = targets(right, crates).with_context(|| format!("in `{line}`"))?;
            match left {
                EVERY_CRATE => table.every_crate = allowed,
                TESTS => table.tests = allowed,
                _ => {
                    for name in names(left, crates).with_context(|| format!("in `{line}`"))? {
                        ensure!(!table.rows.contains_key(&name), "{name} has two rows");
                        table.rows.insert(name, allowed.clone());
                    }
                }
            }
        }
        ensure!(!table.rows.is_empty(), "there is no table below `{HEADING}`");
        let missing: Vec<&str> = crates.iter().filter(|name| !table.rows.contains_key(*name)).map(String::as_str).collect();
        ensure!(missing.is_empty(), "there is no row for {}", missing.join(", "));
        if let Some(name) = table.rows.keys().find(|name| table.reaches(name, name, &mut BTreeSet::new())) {
            bail!("{name} may use itself through other crates");
        }
        Ok(table)
    }

    pub(super) fn allows(&self, from: &str, to: &str, in_tests: bool) -> bool {
        self.allowed(from).any(|allowed| allowed == to) || (in_tests && self.tests.contains(to))
    }

    fn allowed(&self, from: &str) -> impl Iterator<Item = &String> {
        // What everybody may use may not use itself.
        let shared = self.every_crate.iter().filter(|_| !self.every_crate.contains(from));
        self.rows.get(from).into_iter().flatten().chain(shared).filter({
            let from = from.to_owned();
            move |to| **to != from
        })
    }

    fn reaches(&self, from: &str, goal: &str, seen: &mut BTreeSet<String>) -> bool {
        self.allowed(from).any(|next| next == goal || (seen.insert(next.clone()) && self.reaches(next, goal, seen)))
    }
}

/// `engine (its traits only), plan` → both names. A note in parentheses is for readers.
fn names(cell: &str, crates: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let mut plain = String::new();
    let mut depth = 0_u32;
    for letter in cell.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    let names: BTreeSet<String> = plain.split(',').map(|name| name.trim().trim_matches('`').to_owned()).collect();
    match names.iter().find(|name| !crates.contains(*name)) {
        Some(unknown) => bail!("there is no crate `{unknown}`"),
        None => Ok(names),
    }
}

fn targets(cell: &str, crates: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    match cell {
        NONE => Ok(BTreeSet::new()),
        ALL => Ok(crates.clone()),
        _ => names(cell, crates),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(rows: &str) -> Result<EdgeTable> {
        let crates = ["units", "plan", "metrics", "engine", "stub", "cli"].map(str::to_owned).into();
        EdgeTable::parse(
            &format!("# A\n\n| other | table |\n\n## Allowed edges\n\nWords.\n\n| crate | may use |\n|---|---|\n{rows}\n\n## B\n"),
            &crates,
        )
    }

    const ROWS: &str =
        "| units, plan, stub | none of ours |\n| metrics | none of ours |\n| engine | plan (its traits, only), `metrics` |\n| cli | all |";

    #[test]
    fn rows_are_lists_none_or_all() {
        let table = parse(ROWS).unwrap();
        assert!(table.allows("engine", "plan", false) && table.allows("engine", "metrics", false) && table.allows("cli", "engine", false));
        assert!(!table.allows("engine", "stub", false) && !table.allows("plan", "metrics", false) && !table.allows("engine", "stub", true));
    }

    #[test]
    fn some_may_be_used_by_all_or_by_tests() {
        let table = parse(&format!("{ROWS}\n| every crate | units |\n| tests of every crate | stub |")).unwrap();
        assert!(table.allows("plan", "units", false) && !table.allows("units", "units", false));
        assert!(table.allows("engine", "stub", true) && !table.allows("engine", "stub", false));
    }

    #[test]
    fn every_crate_has_one_row_and_every_name_is_a_crate() {
        let error = |rows: &str| format!("{:#}", parse(rows).unwrap_err());
        assert_eq!(error(&ROWS.replace("| metrics |", "| fleet |")), "in `| fleet | none of ours |`: there is no crate `fleet`");
        assert!(error(&ROWS.replace("`metrics` |", "fleet |")).ends_with("there is no crate `fleet`"));
        assert_eq!(error(&ROWS.replace("plan, stub", "plan")), "there is no row for stub");
        assert_eq!(error(&format!("{ROWS}\n| plan | metrics |")), "plan has two rows");
        assert_eq!(error(""), "there is no table below `## Allowed edges`");
    }

    #[test]
    fn no_crate_may_use_itself_through_others() {
        let rows = ROWS.replace("| metrics | none of ours |", "| metrics | engine |");
        assert_eq!(parse(&rows).unwrap_err().to_string(), "engine may use itself through other crates");
    }
}
