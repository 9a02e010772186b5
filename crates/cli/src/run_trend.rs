//! A test over its runs in a folder. Read [`TestHistory`].

mod index;

use std::path::Path;

use loadstone_analysis::{Grade, LoadShape, RunTrend, TrendInput};
use loadstone_run_directory::History;

use crate::exit::UsageError;
use index::{IndexedRun, TrendIndex};

/// Maximum number of other tests to list if the requested one has no runs.
const LISTED_TESTS_MAX: usize = 8;

/// The complete, valid runs of a test with the same load as its newest run, oldest first.
pub(crate) struct TestHistory {
    test: String,
    inputs: Vec<TrendInput>,
    left_out: LeftOut,
}

/// Runs of the test that are excluded from its trend.
#[derive(Debug, Default)]
struct LeftOut {
    other_load: usize,
    cut_short: usize,
    invalid: usize,
    unreadable: usize,
}

impl TestHistory {
    /// `test`: its name, by default that of the newest run. `last`: the maximum number of newest runs.
    ///
    /// # Errors
    /// [`UsageError`]: the folder cannot be read, or has no such run.
    pub(crate) fn read(folder: &Path, test: Option<&str>, last: usize) -> Result<Self, UsageError> {
        let history = History::of(folder).map_err(|error| UsageError(error.to_string()))?;
        let mut name = test.map(str::to_owned);
        let mut newest: Option<LoadShape> = None;
        let mut left_out = LeftOut::default();
        let mut inputs = Vec::new();
        let mut others: Vec<String> = Vec::new();
        let mut index = TrendIndex::open(folder);
        for directory in history.names() {
            let Some(run) = index.run(directory) else {
                left_out.unreadable += 1;
                continue;
            };
            if *name.get_or_insert_with(|| run.test.clone()) != run.test {
                if others.len() < LISTED_TESTS_MAX && !others.contains(&run.test) {
                    others.push(run.test.clone());
                }
                continue;
            }
            inputs.extend(trend_input(run, &mut newest, &mut left_out));
            if inputs.len() >= last {
                break;
            }
        }
        index.keep(history.names());
        let Some(name) = name.filter(|_| !inputs.is_empty()) else {
            let of = test.map_or_else(String::new, |test| format!(" of \"{test}\""));
            let tests = if others.is_empty() { String::new() } else { format!("; these tests have runs: {}", others.join(", ")) };
            return Err(UsageError(format!("there is no complete run{of} in {}{tests}", folder.display())));
        };
        inputs.reverse();
        Ok(Self { test: name, inputs, left_out })
    }

    pub(crate) fn trend(&self) -> RunTrend {
        RunTrend::of(&self.test, &self.inputs)
    }

    /// Excluded runs with the reasons: `2 cut short, 1 invalid`. `None` if there are none.
    pub(crate) fn left_out(&self) -> Option<String> {
        let LeftOut { other_load, cut_short, invalid, unreadable } = self.left_out;
        let parts = [
            (other_load, "under a different load"),
            (cut_short, "cut short"),
            (invalid, "invalid"),
            (unreadable, "without a readable summary"),
        ];
        let reasons: Vec<String> = parts.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect();
        (!reasons.is_empty()).then(|| reasons.join(", "))
    }
}

fn trend_input(run: IndexedRun, newest: &mut Option<LoadShape>, left_out: &mut LeftOut) -> Option<TrendInput> {
    let IndexedRun { is_complete, load, run, concluded, .. } = run;
    let Some(concluded) = concluded.filter(|_| is_complete) else {
        *(if is_complete { &mut left_out.unreadable } else { &mut left_out.cut_short }) += 1;
        return None;
    };
    if concluded.grade == Grade::Invalid {
        left_out.invalid += 1;
        return None;
    }
    if *newest.get_or_insert_with(|| load.clone()) != load {
        left_out.other_load += 1;
        return None;
    }
    Some(TrendInput { run, numbers: concluded.numbers })
}
