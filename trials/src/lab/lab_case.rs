//! The cases of a lab: which are chosen, what is concluded of each, and whether that is what must be.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::machine;
use clap::Args;

use super::conclusion::Concluded;
use super::{figures, proof};

#[derive(Args)]
pub(crate) struct CaseOptions {
    /// Only cases whose name contains this. May be repeated.
    #[arg(long = "only", value_name = "NAME")]
    pub(super) only: Vec<String>,
    /// Minutes of load for each case, as the lab's README says, instead of a short run.
    #[arg(long)]
    pub(super) long: bool,
    /// How often to run each.
    #[arg(long, default_value_t = 1)]
    pub(super) repeat: u32,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "FILE")]
    pub(super) binary: Option<PathBuf>,
}

/// A fault, the load against it, and what must be found.
pub(super) trait LabCase {
    fn name(&self) -> &str;

    fn is_named_by(&self, concluded: &Concluded) -> bool;

    /// The case's line of the lab's table.
    ///
    /// # Errors
    /// When the run lacks what the table shows.
    fn row(&self, concluded: &Concluded, is_right: bool) -> Result<Vec<String>>;

    /// The case whose run before this one is compared with it, and the requests and flows of which numbers are shown. Its own name: the run of the
    /// round before, to see how much runs of one system differ.
    fn baseline(&self) -> Option<(&str, &[&str])> {
        None
    }
}

/// What a lab's cases are judged with.
pub(super) struct LabTable<'a> {
    pub(super) binary: &'a Path,
    /// Where the runs are kept.
    pub(super) runs: &'a Path,
    /// Titles of the columns.
    pub(super) head: &'a [&'a str],
}

/// The binary that was given, or a new one of this workspace.
pub(super) fn binary(workspace: &Workspace, given: Option<&PathBuf>) -> Result<PathBuf> {
    match given {
        Some(binary) => fs::canonicalize(binary).with_context(|| format!("there is no {}", binary.display())),
        None => machine::development_binary(workspace),
    }
}

/// Cases whose name contains one of the words; all where none is given.
///
/// # Errors
/// When no case is called like that.
pub(super) fn chosen<'a, C: LabCase>(cases: &'a [C], words: &[String]) -> Result<Vec<&'a C>> {
    let is_wanted = |case: &&C| words.is_empty() || words.iter().any(|word| case.name().to_lowercase().contains(&word.to_lowercase()));
    let found: Vec<&C> = cases.iter().filter(is_wanted).collect();
    if found.is_empty() {
        let names: Vec<&str> = cases.iter().map(LabCase::name).collect();
        bail!("no case is called like that; there are: {}", names.join("; "));
    }
    Ok(found)
}

/// Performs each case as often as asked, and prints the table.
///
/// # Errors
/// If a case did not run, or its fault was not reported as it must be.
pub(super) fn judge<C: LabCase>(cases: &[&C], rounds: u32, table: &LabTable<'_>, perform: impl Fn(&C) -> Result<Concluded>) -> Result<()> {
    let mut rows = vec![titles(table.head)];
    let mut proofs = vec![titles(&proof::HEAD)];
    let mut last_runs: HashMap<&str, String> = HashMap::new();
    let mut wrong = 0;
    for round in 1..=rounds {
        for case in cases {
            eprintln!("round {round}: {}", case.name());
            let concluded = match perform(case) {
                Ok(concluded) => concluded,
                // What the others found is not lost with it.
                Err(error) => {
                    eprintln!("  did not run: {error:#}");
                    wrong += 1;
                    rows.push(vec![case.name().to_owned(), "did not run".to_owned()]);
                    continue;
                }
            };
            for (rule, claim) in concluded.findings() {
                eprintln!("  {rule}: {claim}");
            }
            let is_right = case.is_named_by(&concluded);
            wrong += usize::from(!is_right);
            rows.push(case.row(&concluded, is_right)?);
            let before = case.baseline().and_then(|(name, subjects)| Some((name, subjects, last_runs.get(name)?)));
            if let Some((name, subjects, before)) = before {
                let title = format!("{} against {name}", case.name());
                match proof::rows(table.binary, table.runs, (before, concluded.id()), &title, subjects) {
                    Ok(compared) => proofs.extend(compared),
                    Err(error) => eprintln!("  was not compared: {error:#}"),
                }
            }
            last_runs.insert(case.name(), concluded.id().to_owned());
        }
    }
    println!("{}", figures::table(&rows));
    if proofs.len() > 1 {
        println!("{}", figures::table(&proofs));
    }
    println!("runs are in {}", table.runs.display());
    if wrong > 0 {
        bail!("{wrong} of {} runs did not name what was expected", rows.len() - 1);
    }
    Ok(())
}

fn titles(of: &[&str]) -> Vec<String> {
    of.iter().map(|&title| title.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(&'static str);

    impl LabCase for Named {
        fn name(&self) -> &str {
            self.0
        }

        fn is_named_by(&self, _: &Concluded) -> bool {
            false
        }

        fn row(&self, _: &Concluded, _: bool) -> Result<Vec<String>> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn cases_are_chosen_by_part_of_their_name() {
        let cases = [Named("ORDER=none"), Named("POOL=5")];
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            chosen(&cases, &words).map(|found| found.iter().map(|case| case.0).collect::<Vec<_>>())
        };
        assert_eq!(names(&["order"]).unwrap(), ["ORDER=none"]);
        assert_eq!(names(&[]).unwrap(), ["ORDER=none", "POOL=5"]);
        assert!(names(&["nothing"]).unwrap_err().to_string().contains("there are: ORDER=none; POOL=5"));
    }
}
