//! A run of a k6 script: `loadstone run script.js`.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Context;
use clap::Args;
use loadstone_analysis::{Summary, ThresholdResult, ThresholdState};
use loadstone_engine::{Coordinator, LoadEnding, WorkerContext};
use loadstone_k6::{EndedRun, K6Inputs, K6Sinks, K6Test, K6Users, SummaryFile, stages, summary_export};
use loadstone_report::terminal::ColorChoice;
use loadstone_run_directory::Run;
use loadstone_units::text;
use serde_json::{Map, Value};

use crate::argument;
use crate::command_run::{CommandRun, OwnOutput};
use crate::exit::{self, Exit, UsageError};
use crate::flags::{K6OptionArgs, K6ScriptArgs, OutputArgs, ParameterArgs};
use crate::fleet::LedTest;
use crate::k6_codes::{self, ScriptActions};
use crate::k6_source::{K6Source, LoadFailure, PreparedK6, print_notes, sinks};

/// Flags of `k6 run`, for k6 scripts.
#[derive(Debug, Args)]
#[command(next_help_heading = "k6 scripts")]
pub(crate) struct K6Args {
    #[command(flatten)]
    pub(crate) script: K6ScriptArgs,
    #[command(flatten)]
    pub(crate) options: K6OptionArgs,
    /// VUs; overrides the script's.
    #[arg(short = 'u', long, value_name = "N")]
    vus: Option<u64>,
    /// Iterations of all VUs together; replaces the script's load.
    #[arg(short = 'i', long, value_name = "N")]
    iterations: Option<u64>,
    /// Duration; replaces the script's load. `-d` works, too.
    #[arg(long = "duration", value_name = "DURATION")]
    k6_duration: Option<String>,
    /// A stage such as 30s:10; replaces the script's load. Can be repeated.
    #[arg(short = 's', long = "stage", value_name = "DURATION:TARGET")]
    stages: Vec<String>,
    /// How names are looked up, such as ttl=5m,select=first,policy=preferIPv4; as the script's option `dns`.
    #[arg(long, value_name = "SETTINGS")]
    dns: Option<String>,
    /// The tags that k6 adds to values, such as status,method,url; as the script's option `systemTags`.
    #[arg(long, value_name = "TAGS")]
    system_tags: Option<String>,
    /// Generate only this part of the load, such as 1/4:1/2 or 25%. The other parts run on other machines.
    #[arg(long, value_name = "FROM:TO")]
    execution_segment: Option<String>,
    /// The parts of all machines, such as 0,1/4,1/2,1.
    #[arg(long, value_name = "POINTS")]
    execution_segment_sequence: Option<String>,
    /// Write k6's summary of metrics, checks and groups to this file as JSON.
    #[arg(long, value_name = "FILE")]
    summary_export: Option<PathBuf>,
    /// Use k6's exit codes: 99 a threshold failed, 100 setup or 101 teardown took too long, 104 wrong option, 105 interrupted,
    /// 107 the script threw, 108 exec.test.abort(), 110 exec.test.fail().
    /// As in k6, an invalid measurement or an unreachable target is no failure.
    #[arg(long)]
    k6_exit_codes: bool,
}

impl K6Args {
    /// The first of these flags that is set.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        [
            (self.vus.is_some(), "--vus"),
            (self.iterations.is_some(), "--iterations"),
            (self.k6_duration.is_some(), "--duration"),
            (!self.stages.is_empty(), "--stage"),
            (self.dns.is_some(), "--dns"),
            (self.system_tags.is_some(), "--system-tags"),
            (self.execution_segment.is_some(), "--execution-segment"),
            (self.execution_segment_sequence.is_some(), "--execution-segment-sequence"),
            (self.summary_export.is_some(), "--summary-export"),
            (self.k6_exit_codes, "--k6-exit-codes"),
        ]
        .into_iter()
        .find_map(|(given, flag)| given.then_some(flag))
        .or_else(|| self.options.first_set())
        .or_else(|| self.script.first_set())
    }

    /// Checks whether the requested file can be written.
    pub(crate) fn check_files(&self, runs: &Path) -> Result<(), UsageError> {
        argument::check_files(runs, &[("--summary-export", self.summary_export.as_deref())])
    }

    /// The inputs of the script at `path`. `short_duration`: the value of `-d`. `tags`: labels of the run; those that are NAME=VALUE become tags of k6.
    pub(crate) fn inputs(
        &self,
        path: &Path,
        params: &ParameterArgs,
        short_duration: Option<&str>,
        seed: Option<u64>,
        tags: &[String],
    ) -> Result<K6Inputs, UsageError> {
        let mut inputs = self.script.inputs(path, params, seed)?;
        if !self.options.passes_environment() {
            let set_by_flag = inputs.set_by_flag.clone();
            inputs.variables.retain(|name, _| set_by_flag.contains(name));
        }
        let mut flags = self.options.tier()?;
        let tags: Map<String, Value> =
            tags.iter().filter_map(|tag| tag.split_once('=')).map(|(name, value)| (name.to_owned(), value.into())).collect();
        if !tags.is_empty() {
            flags.insert("tags".to_owned(), Value::Object(tags));
        }
        let duration = self.k6_duration.as_deref().or(short_duration);
        flags.extend(self.vus.map(|vus| ("vus".to_owned(), Value::from(vus))));
        flags.extend(self.iterations.map(|iterations| ("iterations".to_owned(), Value::from(iterations))));
        flags.extend(duration.map(|duration| ("duration".to_owned(), Value::from(duration))));
        let texts = [
            ("dns", &self.dns),
            ("systemTags", &self.system_tags),
            ("executionSegment", &self.execution_segment),
            ("executionSegmentSequence", &self.execution_segment_sequence),
        ];
        flags.extend(texts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::from(value.as_deref()?)))));
        if !self.stages.is_empty() {
            flags.insert("stages".to_owned(), stages(&self.stages).map_err(|problem| UsageError(format!("--stage: {problem}")))?);
        }
        inputs.tiers.push(flags);
        inputs.exports_summary = self.summary_export.is_some();
        Ok(inputs)
    }
}

pub(crate) struct K6Run<'a> {
    pub(crate) k6: &'a K6Args,
    pub(crate) source: K6Source<'a>,
}

impl K6Run<'_> {
    pub(crate) fn perform(self, output: &OutputArgs, stops_with_stdin: bool, color: ColorChoice) -> anyhow::Result<Exit> {
        let test = match self.source.load() {
            Ok(mut test) => {
                test.notes.extend(self.k6.options.notes());
                test
            }
            Err(LoadFailure { error, is_of_options }) if self.k6.k6_exit_codes => {
                exit::print(&error);
                return Ok(if is_of_options { Exit::K6InvalidConfig } else { Exit::K6ScriptException });
            }
            Err(failure) => return Err(failure.error),
        };
        print_notes(&test)?;
        if let Some(fleet) = &self.source.fleet {
            fleet.check_secrets(&test.plan)?;
        }
        let PreparedK6 { test, mut session, sender, aborted } = self.source.prepare(test, output.runs.clone())?;
        session.finds_early = output.live;
        let limits = &self.source.network.limits;
        let declared = session.plan.thresholds.clone();
        limits.check_plan(&session.plan)?;
        let summarize = |run: &Run, summary: &Summary| self.summarize(&test, run, summary);
        let codes = |exit: Exit, ending: &LoadEnding, summary: &Summary| {
            let script = ScriptActions {
                aborted: aborted.load(Ordering::Relaxed),
                marked_failed: test.is_marked_failed(),
                tear_down_threw: test.tear_down_threw(),
                set_up_cut_off: test.set_up_was_cut_off(),
                tear_down_cut_off: test.tear_down_was_cut_off(),
            };
            match (self.k6.k6_exit_codes, exit) {
                (true, exit) => k6_codes::of_run(exit, ending, summary, &declared, script),
                (false, Exit::Passed) if script.marked_failed => Exit::ThresholdsFailed,
                (false, exit) => exit,
            }
        };
        let run = CommandRun { output, stops_with_stdin, color, summarize: Some(&summarize), exit_codes: Some(&codes), limits };
        match &self.source.fleet {
            Some(fleet) => {
                let led = LedTest::of_k6(&test, &self.source.inputs, sender, Arc::clone(&aborted))?;
                run.perform_with(session, |session, subscribers| fleet.perform(led, session, subscribers))
            }
            None => run.perform(session, |context: &WorkerContext| {
                K6Users::new(&test, context, sinks(&sender, &aborted)).map_err(|error| error.render())
            }),
        }
    }

    /// k6's summary: the file of `--summary-export`, and what `handleSummary` returns.
    fn summarize(&self, test: &Arc<K6Test>, run: &Run, summary: &Summary) -> anyhow::Result<OwnOutput> {
        let mut own = OwnOutput::default();
        if self.k6.summary_export.is_none() && !test.handles_summary() {
            return Ok(own);
        }
        let (began, ended) = (run.slices.first().map_or(0, |slice| slice.start), run.slices.last().map_or(0, |slice| slice.end));
        let result = |result: &'_ ThresholdResult| result.state == ThresholdState::Passed;
        let thresholds = &summary.verdict.thresholds;
        let data = test.summary_data(&EndedRun {
            slices: &run.slices,
            thresholds: thresholds.iter().map(|threshold| (threshold.threshold.label.as_str(), result(threshold))).collect(),
            duration_ns: ended.saturating_sub(began),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
        });
        let secrets = test.plan.all_secrets();
        let hidden = |content: Vec<u8>| match String::from_utf8(content) {
            Ok(text) => secrets.hide(&text).into_owned().into_bytes(),
            Err(binary) => binary.into_bytes(),
        };
        if let Some(path) = &self.k6.summary_export {
            let exported = serde_json::to_string_pretty(&summary_export(&data))?;
            own.files.push((path.display().to_string(), hidden(exported.into_bytes())));
        }
        if test.handles_summary() {
            let shown = secrets.clone();
            let plan = test.summary_plan(&data);
            let make = |context: &WorkerContext| {
                let shown = shown.clone();
                let print = move |line: &str| _ = writeln!(std::io::stderr(), "{}", text::printable(&shown.hide(line)));
                let sinks = K6Sinks { console: Some(Rc::new(print)), ..K6Sinks::default() };
                K6Users::new(test, context, sinks).map_err(|error| error.render())
            };
            if let LoadEnding::Broke(problem) = Coordinator::new(plan, 1).run(make, |_| None) {
                anyhow::bail!("handleSummary: {problem}");
            }
            let files = test.summary_files().context("handleSummary failed, so its files are not written")?;
            for SummaryFile { destination, content } in files {
                match destination.as_str() {
                    "stdout" => own.stdout.extend(hidden(content)),
                    "stderr" => own.stderr.extend(hidden(content)),
                    _ => own.files.push((destination, hidden(content))),
                }
            }
        }
        Ok(own)
    }
}
