//! Results of experiments and searches in the runs folder, and results over several runs. Read [`AnswerArchive`].

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use loadstone_report::capacity::{CapacityView, RampView};
use loadstone_report::experiment::ExperimentView;
use loadstone_report::trend::TrendView;
use loadstone_report::{AnswerSource, Tone};
use loadstone_run_directory::History;
use serde::Serialize;

use super::archive::ArchiveError;
use crate::answers::{AnswerFolder, FoundAnswer};
use crate::comparison::ConcludedRun;
use crate::run_trend::TestHistory;

/// Maximum number of runs in a trend.
const TREND_RUNS_MAX: usize = 200;

/// An experiment or a search, as listed on the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct AnswerRow {
    /// Path of its folder, relative to the runs folder.
    pub(crate) id: String,
    #[cfg_attr(test, ts(type = "\"experiment\" | \"capacity\""))]
    kind: &'static str,
    test: String,
    /// The knob with its values, or the objectives.
    about: String,
    /// Time of its last change. Milliseconds since 1970.
    changed_ms: u64,
    word: String,
    tone: Tone,
    headline: String,
}

/// The runs folder, for everything in it other than runs.
pub(crate) struct AnswerArchive {
    runs: PathBuf,
}

impl AnswerArchive {
    pub(crate) fn new(runs: &Path) -> Self {
        Self { runs: runs.to_owned() }
    }

    /// Newest first. Unreadable entries are left out.
    pub(crate) fn rows(&self) -> Vec<AnswerRow> {
        let mut rows: Vec<AnswerRow> = AnswerFolder::all(&self.runs).into_iter().filter_map(row).collect();
        rows.sort_by(|a, b| b.changed_ms.cmp(&a.changed_ms).then_with(|| a.id.cmp(&b.id)));
        rows
    }

    /// The folder of an experiment or a search. `None` if the path is neither.
    pub(crate) fn folder(&self, id: &str) -> Option<PathBuf> {
        self.named(id).map(|folder| folder.directory)
    }

    /// The page's data, as JSON.
    pub(crate) fn page(&self, id: &str) -> Result<Vec<u8>, ArchiveError> {
        let missing = || ArchiveError::Missing(format!("there is no experiment and no search {id} in {}", self.runs.display()));
        let read = self.named(id).ok_or_else(missing)?.read();
        match read.map_err(|problem| ArchiveError::Wrong(format!("{problem:#}")))?.ok_or_else(missing)? {
            FoundAnswer::Experiment(experiment) => json("experiment", &ExperimentView::of(&experiment)),
            FoundAnswer::Capacity(capacity) => json("capacity", &CapacityView::of(&capacity)),
        }
    }

    /// The trend of a test, as JSON.
    pub(crate) fn trend(&self, test: &str) -> Result<Vec<u8>, ArchiveError> {
        let history =
            TestHistory::read(&self.runs, Some(test), TREND_RUNS_MAX).map_err(|problem| ArchiveError::Missing(problem.to_string()))?;
        json("trend", &TrendView::of(&history.trend()).without(history.left_out()))
    }

    /// The highest throughput that a run with a rising load shows, as JSON.
    pub(crate) fn ramp(&self, name: &str) -> Result<Vec<u8>, ArchiveError> {
        let history = History::of(&self.runs)?;
        let run = ConcludedRun::read(&history.named(name)?).map_err(|problem| ArchiveError::Wrong(format!("{problem:#}")))?;
        let (estimate, summary) = run.as_ramp();
        json("ramp", &RampView::of(&estimate, summary))
    }

    /// A comparison of two runs, as JSON.
    pub(crate) fn comparison(&self, baseline: &str, candidate: &str) -> Result<Vec<u8>, ArchiveError> {
        let history = History::of(&self.runs)?;
        let read = |name: &str| {
            let run = ConcludedRun::read(&history.named(name)?);
            run.map_err(|problem| ArchiveError::Wrong(format!("{problem:#}")))
        };
        let compared = read(baseline)?.compare_with(&read(candidate)?, loadstone_analysis::EFFECT, &[]);
        json("comparison", &compared)
    }

    fn named(&self, id: &str) -> Option<AnswerFolder> {
        AnswerFolder::all(&self.runs).into_iter().find(|folder| folder.id == id)
    }
}

fn row(folder: AnswerFolder) -> Option<AnswerRow> {
    let answer = folder.read().ok()??;
    let changed = std::fs::metadata(&folder.directory).and_then(|facts| facts.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let changed_ms = changed.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let id = folder.id;
    Some(match answer {
        FoundAnswer::Experiment(of) => {
            let ExperimentView { test, knob, values, word, tone, headline, .. } = ExperimentView::of(&of);
            let about = format!("{knob}: {}", values.join(", "));
            AnswerRow { id, kind: "experiment", test, about, changed_ms, word, tone, headline }
        }
        FoundAnswer::Capacity(of) => {
            let CapacityView { test, word, tone, headline, .. } = CapacityView::of(&of);
            AnswerRow { id, kind: "capacity", test, about: of.objectives.join(" and "), changed_ms, word, tone, headline }
        }
    })
}

fn json(feed: &str, answer: &impl Serialize) -> Result<Vec<u8>, ArchiveError> {
    serde_json::to_vec(&AnswerSource { feed, answer }).map_err(|problem| ArchiveError::Wrong(problem.to_string()))
}
