//! Runs a tool, or follows a record, until its end. Read [`Watch::run`].

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::process::{Command, Stdio};
use std::sync::mpsc::TryRecvError;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loadstone_engine::{LoadControl, LoadControls, LoadEnding, LoadEvent, StopReason, WorkerError};
use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{CommandEnd, Histogram, Nanos, SeriesKind, Snapshot};
use loadstone_observe::OtlpMessages;
use loadstone_plan::{Load, LoadProfile, RecordedLoad, RunOptions, ScenarioId, ScenarioRun, TestPlan};

use crate::error::WatchError;
use crate::formats::proxy::ProxyReader;
use crate::line_source::{LineSource, RecordPlace};
use crate::proxy::HttpProxy;
use crate::reading::{ReadSecond, RecordInput, RecordReading};
use crate::record_format::{ReaderChoices, RecordParts, RecordReader};
use crate::record_source::RecordSource;
use crate::seconds::Counting;
use crate::summaries::{OutputCopy, PrintedTail, SummaryPlace};
use crate::tool_cpu::{CpuUse, ReadLag};
use crate::tool_process::ToolProcess;
use crate::tool_scenarios::ToolScenario;
use crate::tools::{self, PreparedTool, WatchChoices};

/// Time between two checks of controls, seconds and the command.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Time that a command has to end after it was interrupted. Nanoseconds.
const END_GRACE_NS: Nanos = 30_000_000_000;
/// Time for the last output of a command that has ended. Nanoseconds.
const OUTPUT_GRACE_NS: Nanos = 2_000_000_000;
/// Time between two samples of the waits of the tool's threads. Nanoseconds.
const SAMPLE_EVERY_NS: Nanos = 100_000_000;

const S: Nanos = 1_000_000_000;

/// When a watch without a command ends. A watch with a command ends with it, or earlier.
#[derive(Debug, Clone, Copy, Default)]
pub struct WatchLimits {
    /// After this time. Nanoseconds.
    pub duration_ns: Option<u64>,
    /// With this process.
    pub pid: Option<u32>,
    /// An interruption by the user is the planned end.
    pub until_signal: bool,
}

/// How the command ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WatchEnd {
    /// `None`: there was none, or it could not be started.
    pub command: Option<CommandEnd>,
}

/// A tool or a record that is ready to be watched.
pub struct Watch {
    tool: PreparedTool,
    reader: Box<dyn RecordReader>,
    source: RecordSource,
    limits: WatchLimits,
    /// Where the command's output goes: to standard error instead of standard output.
    quiet_stdout: bool,
}

impl Watch {
    /// Finds out what to watch. Nothing is started.
    ///
    /// # Errors
    /// [`WatchError`]
    pub fn prepare(choices: &WatchChoices, limits: WatchLimits) -> Result<Self, WatchError> {
        let mut tool = tools::prepare(choices)?;
        if let Some(pid) = limits.pid
            && ToolProcess::existing(pid).is_none()
        {
            return Err(WatchError::Command { what: format!("--pid {pid}"), problem: "there is no such process".to_owned() });
        }
        if tool.command.is_empty()
            && let Some(path) = &choices.follow
            && !path.exists()
        {
            let problem = std::io::Error::new(std::io::ErrorKind::NotFound, "there is no such file");
            return Err(WatchError::Read { path: path.clone(), problem });
        }
        if let Some(spec) = tool.proxy.clone() {
            let (proxy, records) = HttpProxy::listen(spec)?;
            let reader = Box::new(ProxyReader::new(records, tool.scenarios[0].model));
            return Ok(Self { tool, reader, source: RecordSource::Proxy(Box::new(proxy)), limits, quiet_stdout: false });
        }
        let reader =
            (tool.format.make)(ReaderChoices { log_format: choices.log_format.as_deref(), rate: tool.rate, ..ReaderChoices::default() })?;
        let source = match tool.listen {
            Some(address) => {
                RecordSource::Messages(OtlpMessages::listen(address).map_err(|problem| WatchError::Listen { address, problem })?)
            }
            None => {
                let place = std::mem::replace(&mut tool.place, RecordPlace::Pipe("".into()));
                let shown = choices.follow.clone().unwrap_or_default();
                let source = LineSource::open(place, tool.format.parts == RecordParts::Stream);
                RecordSource::Lines(Box::new(source.map_err(|problem| WatchError::Read { path: shown, problem })?))
            }
        };
        Ok(Self { tool, reader, source, limits, quiet_stdout: false })
    }

    /// Sends the command's output to standard error, because standard output has another purpose.
    pub fn with_quiet_stdout(mut self, is_quiet: bool) -> Self {
        self.quiet_stdout = is_quiet;
        self
    }

    /// The tool, as users name it.
    pub fn tool(&self) -> String {
        self.tool.name()
    }

    /// What the user is to do so that the record arrives. `None`: nothing.
    pub fn hint(&self) -> Option<String> {
        match &self.source {
            RecordSource::Messages(messages) => {
                let address = messages.address();
                Some(format!("Spans are requests: start the services with OTEL_EXPORTER_OTLP_ENDPOINT=http://{address}"))
            }
            RecordSource::Proxy(proxy) => {
                let (own, target) = proxy.urls();
                Some(format!("Requests through the proxy are the record: send them to {own}, in place of {target}"))
            }
            RecordSource::Lines(_) => None,
        }
    }

    /// The plan of a run with this load, and nothing else. `command`: as it may be shown.
    pub fn plan(&self, name: &str, command: Vec<String>) -> TestPlan {
        let format = self.tool.format;
        let mut leaves: Vec<Load> = self.tool.scenarios.iter().zip(0..).map(|(scenario, number)| leaf(scenario, number)).collect();
        let load = if leaves.len() == 1 { leaves.remove(0) } else { Load::Parallel(leaves) };
        TestPlan {
            named_target: self.tool.target(),
            recorded: Some(RecordedLoad {
                tool: self.tool.name(),
                format: format.name.to_owned(),
                command,
                resolution_ns: self.reader.resolution_ns().unwrap_or(format.resolution_ns),
                knows_schedule: self.reader.knows_schedule(),
                planned_requests: self.tool.planned_requests,
                lacks: self.lacks().map(str::to_owned).collect(),
            }),
            ..TestPlan::new(name, self.tool.scenarios.iter().map(|scenario| scenario.name.to_string()), load)
        }
    }

    /// What the record does not contain.
    fn lacks(&self) -> impl Iterator<Item = &'static str> {
        let schedule = match (self.reader.knows_schedule(), self.tool.scenarios.iter().any(ToolScenario::has_pace)) {
            (true, _) => None,
            (false, true) => Some("when each request was due (starts of iterations are compared with the planned rate)"),
            (false, false) => Some("the schedule: when each request was due"),
        };
        schedule.into_iter().chain(self.tool.lacks().iter().copied())
    }

    /// Starts the command, delivers the seconds of its record, and returns when both have ended.
    pub fn run(
        self,
        controls: &LoadControls,
        options: &RunOptions,
        on_event: &mut dyn FnMut(LoadEvent) -> Option<LoadControl>,
    ) -> (LoadEnding, WatchEnd) {
        let zero = Monotonic::start();
        let asked = on_event(LoadEvent::Ready { zero });
        let started = ActiveWatch::start(self, options, zero);
        let mut active = match started {
            Ok(active) => active,
            Err(problem) => return (LoadEnding::Broke(WorkerError::Agent(problem.to_string())), WatchEnd::default()),
        };
        active.apply(asked);
        active.run(controls, on_event)
    }
}

/// A scenario as a part of the plan.
pub(crate) fn leaf(scenario: &ToolScenario, number: u32) -> Load {
    let profile = LoadProfile::Recorded { model: scenario.model };
    Load::Run(ScenarioRun { start_after_ns: scenario.starts_after_ns, ..ScenarioRun::new(ScenarioId(number), profile) })
}

/// Starts to copy the outputs of a command that pass through Loadstone.
fn copies(process: &mut ToolProcess, quiet_stdout: bool, [out, err]: [Arc<Mutex<PrintedTail>>; 2]) -> std::io::Result<Vec<OutputCopy>> {
    let (stdout, stderr) = process.outputs();
    let stdout = stdout.map(|from| match quiet_stdout {
        true => OutputCopy::start(from, std::io::stderr(), out),
        false => OutputCopy::start(from, std::io::stdout(), out),
    });
    let stderr = stderr.map(|from| OutputCopy::start(from, std::io::stderr(), err));
    stdout.into_iter().chain(stderr).collect()
}

/// How late so many requests were read: each window has its part of them, by the work in it.
fn for_requests(lags: &[ReadLag], requests: u64) -> Histogram {
    let mut histogram = Histogram::new();
    let all: f64 = lags.iter().map(|lag| lag.weight).sum();
    let (mut so_far, mut counted) = (0.0, 0);
    for lag in lags {
        so_far += lag.weight;
        let upto = (so_far / all * requests as f64).round() as u64;
        histogram.record_n(lag.late_ns as u64, upto.saturating_sub(counted));
        counted = counted.max(upto);
    }
    histogram
}

/// A command that runs, and its record.
struct ActiveWatch {
    zero: Monotonic,
    reading: RecordReading,
    process: Option<ToolProcess>,
    converter: Option<ToolProcess>,
    /// Of the command's standard output and standard error, where they pass through Loadstone.
    outputs: Vec<OutputCopy>,
    /// When the command had ended.
    ended_at: Option<Nanos>,
    other: Option<ToolProcess>,
    command: Option<CommandEnd>,
    duration_ns: Option<u64>,
    until_signal: bool,
    stop: Option<StopReason>,
    failure: Option<String>,
    /// When the command was interrupted.
    interrupted_at: Option<Nanos>,
    /// CPU use by second, of seconds that are not complete yet.
    cpu: BTreeMap<u32, CpuUse>,
    cpu_second: u32,
    sampled_at: Nanos,
    /// Whether the tool's own delay is part of the record's times.
    is_of_server: bool,
    /// Has the pipes.
    _scratch: Option<tempfile::TempDir>,
}

impl ActiveWatch {
    fn start(watch: Watch, options: &RunOptions, zero: Monotonic) -> Result<Self, WatchError> {
        let Watch { tool, reader, mut source, limits, quiet_stdout } = watch;
        if let RecordSource::Proxy(proxy) = &mut source {
            proxy.begin(zero).map_err(WatchError::Prepare)?;
        }
        let counting = Counting {
            tool: tool.format.tool.into(),
            scenarios: tool.scenarios,
            has_iterations: tool.format.has_iterations,
            users: tool.users,
            series_max: options.series_max,
            resolution_ns: reader.resolution_ns().unwrap_or(tool.format.resolution_ns),
        };
        let tails = [Arc::default(), Arc::default()];
        let summaries = tool.summary.into_iter().chain([SummaryPlace::Printed(tails.to_vec())]).collect();
        let comes_at_end = tool.format.comes_at_end || reader.comes_at_end();
        let input = RecordInput { source, reader, counting, zero, comes_at_end, tool: tool.format.tool, summaries };
        let reading = RecordReading::start(input).map_err(WatchError::Prepare)?;
        let start = |command: &[std::ffi::OsString], (stdout, stderr): (Stdio, Stdio)| {
            let Some((program, arguments)) = command.split_first() else { return Ok(None) };
            let mut command = Command::new(program);
            command.args(arguments).envs(tool.environment.iter().cloned()).stdout(stdout).stderr(stderr);
            let failed = |problem| WatchError::Start { program: program.to_string_lossy().into_owned(), problem };
            ToolProcess::start(&mut command).map(Some).map_err(failed)
        };
        let stdout = match &tool.stdout {
            Some(pipe) => OpenOptions::new().write(true).open(pipe).map_err(WatchError::Prepare)?.into(),
            None if tool.reads_output => Stdio::piped(),
            None if quiet_stdout => Stdio::from(std::io::stderr()),
            None => Stdio::inherit(),
        };
        let converter = start(&tool.converter, (Stdio::null(), Stdio::inherit()))?;
        let stderr = if tool.reads_output { Stdio::piped() } else { Stdio::inherit() };
        let mut process = start(&tool.command, (stdout, stderr))?;
        if tool.proxy.is_some() {
            // After the command was started, which is to have its usual limit.
            loadstone_platform::descriptors::raise_limit();
        }
        let outputs =
            process.as_mut().map_or(Ok(Vec::new()), |process| copies(process, quiet_stdout, tails)).map_err(WatchError::Prepare)?;
        Ok(Self {
            zero,
            reading,
            process,
            converter,
            outputs,
            ended_at: None,
            other: limits.pid.and_then(ToolProcess::existing),
            command: None,
            duration_ns: limits.duration_ns,
            until_signal: limits.until_signal,
            stop: None,
            failure: None,
            interrupted_at: None,
            cpu: BTreeMap::new(),
            cpu_second: 0,
            sampled_at: 0,
            is_of_server: tool.format.is_of_server,
            _scratch: tool.scratch,
        })
    }

    fn run(mut self, controls: &LoadControls, on_event: &mut dyn FnMut(LoadEvent) -> Option<LoadControl>) -> (LoadEnding, WatchEnd) {
        let mut waited_at = 0;
        loop {
            self.apply(controls.next(LOOK_EVERY));
            let now = self.zero.now();
            self.measure(now);
            loop {
                match self.reading.seconds.try_recv() {
                    Ok(ReadSecond::Complete(snapshot)) => {
                        waited_at = now;
                        let asked = on_event(LoadEvent::Snapshot(self.completed(snapshot)));
                        self.apply(asked);
                    }
                    Ok(ReadSecond::Last(mut snapshot)) => {
                        if let Some(record) = &mut snapshot.record {
                            record.command_end = self.command;
                        }
                        let _ = on_event(LoadEvent::LastSnapshot(self.completed(snapshot)));
                        return self.ending();
                    }
                    Ok(ReadSecond::Failed(problem)) => {
                        self.failure = Some(problem);
                        self.interrupt(now);
                    }
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        self.failure.get_or_insert_with(|| "the reader of the record ended: this is a bug in Loadstone".to_owned());
                        return self.ending();
                    }
                }
            }
            if now >= waited_at + S {
                waited_at = now;
                let asked = on_event(LoadEvent::Waiting);
                self.apply(asked);
            }
            self.look_for_end(now);
        }
    }

    fn look_for_end(&mut self, now: Nanos) {
        if self.duration_ns.is_some_and(|duration| now >= duration) {
            self.interrupt(now);
        }
        if self.other.as_mut().is_some_and(|other| other.end().is_some()) {
            self.interrupt(now);
        }
        if self.interrupted_at.is_some_and(|at| now > at + END_GRACE_NS) {
            self.kill();
        }
        if let Some(process) = &mut self.process {
            let Some(end) = process.end() else { return };
            self.command = Some(end);
            let ended_at = *self.ended_at.get_or_insert(now);
            // What the command has started may keep the output open.
            if now < ended_at + OUTPUT_GRACE_NS && !self.outputs.iter().all(OutputCopy::has_ended) {
                return;
            }
        } else if self.interrupted_at.is_none() {
            return;
        }
        // The converter ends when it has read everything.
        if self.converter.as_mut().is_none_or(|converter| converter.end().is_some()) {
            self.reading.end();
        }
    }

    fn apply(&mut self, control: Option<LoadControl>) {
        match control {
            Some(LoadControl::Stop(reason)) => {
                self.stop.get_or_insert(reason);
                self.interrupt(self.zero.now());
            }
            Some(LoadControl::Halt(reason)) => {
                self.stop.get_or_insert(reason);
                self.interrupt(self.zero.now());
                self.kill();
            }
            // Another tool's load can be neither scaled nor released.
            Some(LoadControl::Scale(_) | LoadControl::Release) | None => {}
        }
    }

    fn interrupt(&mut self, now: Nanos) {
        if self.interrupted_at.is_none() {
            self.interrupted_at = Some(now);
            self.process.iter_mut().for_each(ToolProcess::interrupt);
        }
    }

    fn kill(&mut self) {
        self.process.iter_mut().chain(&mut self.converter).for_each(ToolProcess::kill);
    }

    /// Measures the CPU time once a second, and samples the waits of the tool's threads more often.
    fn measure(&mut self, now: Nanos) {
        let Some(process) = self.process.as_mut().or(self.other.as_mut()) else { return };
        if now >= self.sampled_at + SAMPLE_EVERY_NS {
            process.sample(now - self.sampled_at);
            self.sampled_at = now;
        }
        let second = (now / S) as u32;
        if second > self.cpu_second {
            self.cpu.insert(second - 1, process.cpu());
            self.cpu_second = second;
        }
    }

    fn completed(&mut self, mut snapshot: Box<Snapshot>) -> Box<Snapshot> {
        let later = self.cpu.split_off(&(snapshot.slice + 1));
        let used = std::mem::replace(&mut self.cpu, later);
        let sum = |of: fn(&CpuUse) -> u64| used.values().map(of).sum::<u64>();
        let requests = snapshot.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| series.count).sum();
        let lags: Vec<ReadLag> = used.values().flat_map(|used| used.read_lags.iter().copied()).collect();
        if let Some(generator) = snapshot.generator.first_mut() {
            (generator.busy_ns, generator.run_queue_ns) = (sum(|used| used.all_ns), sum(|used| used.core_wait_ns));
            generator.lacks_kernel_counters = !loadstone_platform::COUNTS_WAITS;
            if !self.is_of_server {
                generator.read_lag = for_requests(&lags, requests);
            }
        }
        if let Some(record) = &mut snapshot.record {
            record.thread_busy_ns = sum(|used| used.busiest_thread_ns);
        }
        snapshot
    }

    fn ending(self) -> (LoadEnding, WatchEnd) {
        let end = WatchEnd { command: self.command };
        let ending = match (self.failure, self.stop, self.command) {
            (Some(failure), ..) => LoadEnding::Stopped(StopReason::Failure(failure)),
            (None, Some(StopReason::User), _) if self.until_signal => LoadEnding::Completed,
            (None, Some(reason), _) => LoadEnding::Stopped(reason),
            (None, None, Some(CommandEnd::Killed(signal))) => {
                LoadEnding::Stopped(StopReason::Failure(format!("the command was killed by signal {signal}; its record ends there")))
            }
            (None, None, _) => LoadEnding::Completed,
        };
        (ending, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_has_the_lateness_of_its_window() {
        let lag = |late_ns, weight| ReadLag { late_ns, weight };
        let late = for_requests(&[lag(0.0, 1.0), lag(5e6, 2.0), lag(80e6, 1.0)], 170);
        assert_eq!((late.count(), late.count_at_or_below(0)), (170, 43));
        assert!(late.count() - late.count_at_or_below(50_000_000) == 42 || late.count() - late.count_at_or_below(50_000_000) == 43);
        assert!(for_requests(&[], 170).is_empty() && for_requests(&[lag(1e6, 1.0)], 0).is_empty());
    }
}
