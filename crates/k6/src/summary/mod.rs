//! The end-of-test summary by k6's definitions: the argument of `handleSummary`, the files that it returns, and `--summary-export`.
//!
//! Read [`K6Test::summary_data`]. `metrics` computes values from the run's seconds.

mod export;
mod metrics;

use std::sync::Arc;

use loadstone_metrics::Nanos;
use loadstone_plan::{Load, LoadProfile, ScenarioId, ScenarioRun, TestPlan};
use serde_json::{Value, json};

pub use export::summary_export;

use crate::ended_run::{EndedRun, SummaryFile};
use crate::test::K6Test;

/// Time limit of `handleSummary`, as in k6.
const HANDLING_NS_MAX: Nanos = 120_000_000_000;
const HANDLE_SUMMARY: &str = "handleSummary()";

impl K6Test {
    /// Whether the script exports `handleSummary`, and its options do not disable it.
    pub fn handles_summary(&self) -> bool {
        self.handles_summary
    }

    /// The argument of `handleSummary`.
    pub fn summary_data(&self, run: &EndedRun<'_>) -> Value {
        let set_up = self.shared.set_up.get().and_then(|json| serde_json::from_str::<Value>(json).ok());
        let mut data = json!({
            "root_group": self.all_steps().tree(),
            "options": {
                "summaryTrendStats": self.settings.trend_stats,
                "summaryTimeUnit": self.settings.time_unit,
                "noColor": false,
            },
            "state": {
                "isStdOutTTY": run.stdout_is_terminal,
                "isStdErrTTY": run.stderr_is_terminal,
                "testRunDurationMs": run.duration_ns as f64 / 1e6,
            },
            "metrics": metrics::values(self, run),
        });
        // As in k6, it is undefined without a set-up.
        if let Some(set_up) = set_up {
            data["setup_data"] = set_up;
        }
        data
    }

    /// A plan whose single iteration calls `handleSummary`. The caller runs it with [`K6Users`](crate::K6Users) of this test.
    pub fn summary_plan(&self, data: &Value) -> Arc<TestPlan> {
        // The last call counts.
        if let Ok(mut stored) = self.shared.summary_data.lock() {
            *stored = data.to_string();
        }
        let mut names: Vec<String> = self.plan.scenarios.iter().map(|scenario| scenario.name.clone()).collect();
        let run = ScenarioRun::new(ScenarioId(names.len() as u32), LoadProfile::burst(1));
        names.push(HANDLE_SUMMARY.to_owned());
        let load = Load::Run(ScenarioRun { graceful_stop_ns: Some(HANDLING_NS_MAX), ..run });
        Arc::new(TestPlan { options: self.plan.options.clone(), ..TestPlan::new(HANDLE_SUMMARY, names, load) })
    }

    /// The files of the call that `summary_plan` described. `None`: it threw, and the script's console has the error.
    pub fn summary_files(&self) -> Option<Vec<SummaryFile>> {
        self.shared.summary_files.lock().ok()?.take()
    }
}
