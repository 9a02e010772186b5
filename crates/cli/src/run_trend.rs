//! A test over its runs, as the folder has them. Read [`TestHistory`].

use std::path::Path;

use analysis::{Grade, RunTrend, Summary, TrendInput, TrendRun};
use plan::TestPlan;
use run_directory::{History, HistoryEntry, Reader, RunEnd};

use crate::exit::UsageError;

/// The complete and valid runs of a test under the load of its newest, the oldest first.
pub(crate) struct TestHistory {
    test: String,
    inputs: Vec<TrendInput>,
    left_out: LeftOut,
}

/// Runs of the test that are no part of its trend.
#[derive(Debug, Default)]
struct LeftOut {
    other_load: usize,
    cut_short: usize,
    invalid: usize,
    unreadable: usize,
}

impl TestHistory {
    /// `test`: its name; by default that of the newest run. `last`: how many runs at most, the newest.
    ///
    /// # Errors
    /// [`UsageError`]: the folder cannot be read, or has no such run.
    pub(crate) fn read(folder: &Path, test: Option<&str>, last: usize) -> Result<Self, UsageError> {
        let history = History::of(folder).map_err(|error| UsageError(error.to_string()))?;
        let mut name = test.map(str::to_owned);
        let mut newest: Option<TestPlan> = None;
        let mut left_out = LeftOut::default();
        let mut inputs = Vec::new();
        for entry in history.entries() {
            let Ok(entry) = entry else {
                left_out.unreadable += 1;
                continue;
            };
            if *name.get_or_insert_with(|| entry.test.clone()) != entry.test {
                continue;
            }
            inputs.extend(kept(&entry, &mut newest, &mut left_out));
            if inputs.len() >= last {
                break;
            }
        }
        let Some(name) = name.filter(|_| !inputs.is_empty()) else {
            let of = test.map_or_else(String::new, |test| format!(" of \"{test}\""));
            return Err(UsageError(format!("there is no complete run{of} in {}", folder.display())));
        };
        inputs.reverse();
        Ok(Self { test: name, inputs, left_out })
    }

    pub(crate) fn trend(&self) -> RunTrend {
        RunTrend::of(&self.test, &self.inputs)
    }

    /// Which runs are no part of it, and why: `2 cut short, 1 invalid`; `None`: all are.
    pub(crate) fn left_out(&self) -> Option<String> {
        let LeftOut { other_load, cut_short, invalid, unreadable } = self.left_out;
        let parts = [
            (other_load, "under another load"),
            (cut_short, "cut short"),
            (invalid, "invalid"),
            (unreadable, "without a summary that can be read"),
        ];
        let told: Vec<String> = parts.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }
}

fn kept(entry: &HistoryEntry, newest: &mut Option<TestPlan>, left_out: &mut LeftOut) -> Option<TrendInput> {
    if entry.end != Some(RunEnd::Completed) {
        left_out.cut_short += 1;
        return None;
    }
    let summary = entry.summary.as_ref().and_then(|value| serde_json::from_value::<Summary>(value.clone()).ok());
    let (Some(summary), Ok(reader)) = (summary, Reader::open(&entry.directory)) else {
        left_out.unreadable += 1;
        return None;
    };
    if summary.verdict.validity.grade == Grade::Invalid {
        left_out.invalid += 1;
        return None;
    }
    if !analysis::same_load(newest.get_or_insert_with(|| reader.plan().clone()), reader.plan()) {
        left_out.other_load += 1;
        return None;
    }
    let info = &entry.info;
    let run = TrendRun { id: info.id.clone(), started: info.started.clone(), commit: info.commit.clone(), tags: info.tags.clone() };
    Some(TrendInput { run, summary })
}
