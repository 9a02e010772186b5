//! `loadstone try`: runs each scenario once and shows every request, response, message and check. Nothing is recorded.

mod aftermath;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use loadstone_engine::{Coordinator, LoadControl, LoadEnding, LoadEvent, StopReason, UserFactory, WorkerContext};
use loadstone_k6::{K6Sinks, K6Users};
use loadstone_metrics::{Outcome, SeriesKind, Snapshot};
use loadstone_plan::{IterationSplit, Load, LoadProfile, ScenarioRun, TestPlan};
use loadstone_protocol::NetworkOptions;
use loadstone_report::terminal::{ColorChoice, Style};
use loadstone_report::{ExchangeView, ExpectationView, MessageView, ResponseView};
use loadstone_script::{
    Loaded, MessageDirection, ScriptError, ScriptUsers, Sinks, StubConsole, Stubs, TracedCheck, TracedExchange, TracedExpectation,
    TracedMessage, TracedResponse,
};
use loadstone_secrets::Secrets;
use loadstone_units::text;

use crate::argument;
use crate::context::CommandContext;
use crate::exit::{Exit, UsageError, hiding, unreachable};
use crate::flags::{K6ScriptArgs, NetworkArgs, ParameterArgs};
use crate::interrupt;
use crate::k6_source::{K6Source, print_notes};
use crate::script_run::{console_text, start_proxies};
use crate::system_file::merged;
use aftermath::Aftermath;

/// Ends the load after this time for a scenario that loops forever (a paced one).
const LOOP_LIMIT_NS: u64 = 5_000_000_000;
/// Extra time that an iteration may take before it is interrupted.
const GRACE_NS: u64 = 60_000_000_000;

#[derive(Debug, Args)]
pub(crate) struct TryArgs {
    /// A test (*.load.ts) or a k6 script.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Run only this scenario.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    #[command(flatten)]
    params: ParameterArgs,
    #[command(flatten)]
    k6: K6ScriptArgs,
    #[command(flatten)]
    network: NetworkArgs,
}

impl TryArgs {
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        argument::check_test(&self.file)?;
        if loadstone_k6::is_k6_script(&self.file) {
            return self.try_k6(context.color);
        }
        self.k6.check_unused(&self.file.display().to_string())?;
        let mut loaded = loadstone_script::load(&self.file, &self.params.inputs()?)?;
        self.network.apply(&mut loaded.network, loaded.plan.options.seed);
        self.network.limits.check(&loaded)?;
        let secrets = loaded.plan.all_secrets();
        try_loaded(self, context.color, loaded, &secrets).map_err(|error| hiding(&secrets, error))
    }
}

fn try_loaded(args: &TryArgs, color: ColorChoice, loaded: Loaded, secrets: &Secrets) -> anyhow::Result<Exit> {
    let plan = Arc::new(once_each(&loaded.plan, args.scenario.as_deref())?);
    let loaded = Arc::new(loaded);
    let trial = TriedTest { plan, network: loaded.network.clone(), system: Some(Arc::clone(&loaded)), ends: TryEnds::default(), secrets };
    let (style, ends) = (Style::detect(color, std::io::stdout().is_terminal()), trial.ends.clone());
    trial.perform(|context: &WorkerContext| {
        ScriptUsers::new(&loaded, context, showing(style, secrets, &ends)).map_err(|error| error.render())
    })
}

impl TryArgs {
    fn try_k6(&self, color: ColorChoice) -> anyhow::Result<Exit> {
        let source = K6Source {
            path: &self.file,
            shown: "",
            inputs: self.k6.inputs(&self.file, &self.params, None)?,
            system: self.k6.system_of(&self.file),
            system_inputs: self.params.inputs()?,
            workers: 1,
            tags: &[],
            network: &self.network,
            fleet: None,
        };
        let mut test = source.load()?;
        print_notes(&test)?;
        test.prepare_no_users();
        let system = source.load_system()?.map(Arc::new);
        let plan = match (&source.system, &system) {
            (Some(file), Some(system)) => merged(test.plan.clone(), system, file)?,
            _ => test.plan.clone(),
        };
        self.network.limits.check_plan(&plan)?;
        let secrets = &plan.all_secrets();
        let plan = Arc::new(once_each(&plan, self.scenario.as_deref())?);
        let trial = TriedTest { plan, network: test.network.clone(), system, ends: TryEnds::default(), secrets };
        let (style, ends, test) = (Style::detect(color, std::io::stdout().is_terminal()), trial.ends.clone(), Arc::new(test));
        let marked = Arc::clone(&test);
        let exit = trial
            .perform(|context: &WorkerContext| {
                K6Users::new(&test, context, showing_k6(style, secrets, &ends)).map_err(|error| error.render())
            })
            .map_err(|error| hiding(secrets, error))?;
        Ok(if exit == Exit::Passed && marked.is_marked_failed() { Exit::ThresholdsFailed } else { exit })
    }
}

/// What scripts did to the trial.
#[derive(Debug, Clone, Default)]
struct TryEnds {
    /// The test contradicts itself.
    misused: Arc<AtomicBool>,
    /// A k6 script called `exec.test.abort()`.
    aborted: Arc<AtomicBool>,
}

/// One iteration of each scenario, ready to run.
struct TriedTest<'a> {
    plan: Arc<TestPlan>,
    network: NetworkOptions,
    /// The file that declares stubs and proxies.
    system: Option<Arc<Loaded>>,
    ends: TryEnds,
    secrets: &'a Secrets,
}

impl TriedTest<'_> {
    fn perform<C: UserFactory>(self, make_users: impl Fn(&WorkerContext) -> Result<C, String> + Send + Sync) -> anyhow::Result<Exit> {
        let Self { plan, network, system, ends, secrets } = self;
        let _proxies = system.as_deref().map(start_proxies).transpose()?;
        let stubs = system.as_ref().map(|system| started_stubs(system, secrets)).transpose()?.flatten();
        if let Err(problem) = loadstone_session::reach(&plan, &network) {
            return unreachable(&problem, secrets);
        }
        let mut coordinator = Coordinator::new(Arc::clone(&plan), 1);
        if !plan.flows.is_empty() {
            coordinator = coordinator.lingering();
        }
        interrupt::steer(coordinator.handle())?;
        let mut counts = TryCounts::default();
        let mut aftermath = Aftermath::new(&plan, stubs);
        let ending = coordinator.run(make_users, |event| match event {
            LoadEvent::Ready { zero } => {
                aftermath.begin(zero);
                None
            }
            LoadEvent::Snapshot(mut slice) => {
                counts.add(&slice);
                aftermath.snapshot(&mut slice, false).then_some(LoadControl::Release)
            }
            LoadEvent::LastSnapshot(mut slice) => {
                counts.add(&slice);
                aftermath.snapshot(&mut slice, true);
                None
            }
            LoadEvent::LoadEnded { at } => {
                aftermath.load_ended(at);
                None
            }
            LoadEvent::Waiting | LoadEvent::LeafBegan { .. } | LoadEvent::LeafEnded { .. } => None,
        });
        if let LoadEnding::Broke(problem) = ending {
            anyhow::bail!(problem);
        }
        aftermath.lines().iter().for_each(|line| say(&secrets.hide(line)));
        Ok(counts.conclude(&ending, aftermath.unfinished(), &ends))
    }
}

fn started_stubs(system: &Arc<Loaded>, secrets: &Secrets) -> anyhow::Result<Option<Rc<Stubs>>> {
    let secrets = secrets.clone();
    let print: StubConsole = Box::new(move |line| say(&secrets.hide(&format!("[stub] {}", line.text))));
    Ok(system.has_stubs().then(|| Stubs::start(system, print)).transpose()?.map(Rc::new))
}

/// Counts of a try.
#[derive(Debug, Default)]
struct TryCounts {
    iterations: u64,
    iterations_failed: u64,
    checks_failed: u64,
    /// All failures: requests, groups, checks, iterations, and exceptions thrown outside of these.
    failed: u64,
}

impl TryCounts {
    fn add(&mut self, slice: &Snapshot) {
        for series in &slice.series {
            self.failed += series.failed;
            match series.key.kind {
                SeriesKind::Iteration => {
                    self.iterations += series.count;
                    self.iterations_failed += series.failed;
                }
                SeriesKind::Check => self.checks_failed += series.failed,
                SeriesKind::Request | SeriesKind::Group => {}
            }
        }
        self.failed += slice.errors.iter().filter(|error| error.outcome == Outcome::Script).map(|error| error.count).sum::<u64>();
    }

    /// Says what ran. `unfinished`: journeys.
    fn conclude(&self, ending: &LoadEnding, unfinished: u64, ends: &TryEnds) -> Exit {
        let Self { iterations, iterations_failed, checks_failed, .. } = *self;
        let checks =
            if checks_failed > 0 { format!(", {} failed", loadstone_units::counted(checks_failed, "check")) } else { String::new() };
        let ran = loadstone_units::counted(iterations, "iteration");
        say(&format!("{ran} ran, {iterations_failed} failed{checks}. Nothing was recorded."));
        match ending {
            LoadEnding::Stopped(StopReason::SetUp(_)) => {
                say("The set-up failed, so the rest of the test did not run.");
                Exit::SetUpFailed
            }
            LoadEnding::Stopped(_) => Exit::Interrupted,
            _ if ends.misused.load(Ordering::Relaxed) => Exit::Usage,
            _ if self.failed + unfinished > 0 || ends.aborted.load(Ordering::Relaxed) => Exit::ThresholdsFailed,
            LoadEnding::Completed | LoadEnding::Broke(_) => Exit::Passed,
        }
    }
}

/// The same scenarios in the same order, one iteration each, one after another.
fn once_each(plan: &TestPlan, only: Option<&str>) -> Result<TestPlan, UsageError> {
    let name = |run: &ScenarioRun| plan.scenarios.get(run.scenario.0 as usize).map_or("", |scenario| scenario.name.as_str());
    let leaves = plan.load.leaves();
    if let Some(only) = only
        && !leaves.iter().any(|run| name(run) == only)
    {
        let known: Vec<_> = leaves.iter().map(|run| format!("\"{}\"", name(run))).collect();
        return Err(UsageError(format!("--scenario: no scenario is named \"{only}\"; the test runs {}", known.join(", "))));
    }
    // A set-up that the chosen scenario needs must run too: keep everything that the test runs once.
    let is_once = |run: &ScenarioRun| run.profile == LoadProfile::burst(1);
    let mut seen = std::collections::HashSet::new();
    let parts = leaves
        .into_iter()
        .filter(|run| only.is_none_or(|only| name(run) == only || is_once(run)) && seen.insert(run.scenario))
        .map(|run| {
            let profile =
                LoadProfile::Iterations { users: 1, count: 1, split: IterationSplit::PerUser, duration_max_ns: Some(LOOP_LIMIT_NS) };
            Load::Run(ScenarioRun { graceful_stop_ns: Some(GRACE_NS), role: run.role, ..ScenarioRun::new(run.scenario, profile) })
        })
        .collect();
    Ok(TestPlan { load: Load::Sequence(parts), thresholds: Vec::new(), ..plan.clone() })
}

/// The same for VUs of a k6 script.
fn showing_k6(style: Style, secrets: &Secrets, ends: &TryEnds) -> K6Sinks {
    let (of_console, of_abort, aborted) = (secrets.clone(), secrets.clone(), Arc::clone(&ends.aborted));
    let Sinks { exchanges, messages, checks, .. } = showing(style, secrets, ends);
    K6Sinks {
        console: Some(Rc::new(move |line: &str| say(&text::printable(&of_console.hide(line))))),
        abort: Some(Rc::new(move |message: &str| {
            aborted.store(true, Ordering::Relaxed);
            say(&text::printable(&of_abort.hide(&format!("The script called exec.test.abort(): {message}"))));
        })),
        exchanges,
        messages,
        checks,
        ..K6Sinks::default()
    }
}

/// Prints every event of a worker, with secrets masked.
fn showing(style: Style, secrets: &Secrets, ends: &TryEnds) -> Sinks {
    let secrets = Rc::new(secrets.clone());
    let [of_console, of_errors, of_misuse, of_messages, of_checks] = std::array::from_fn(|_| Rc::clone(&secrets));
    let misused = Arc::clone(&ends.misused);
    Sinks {
        misuse: Some(Rc::new(move |error: &ScriptError| {
            misused.store(true, Ordering::Relaxed);
            say(&of_misuse.hide(&format!("{}\n", error.render())));
        })),
        console: Some(Rc::new(move |line| say(&text::printable(&of_console.hide(&console_text(line)))))),
        errors: Some(Rc::new(move |error: &ScriptError| say(&text::printable(&of_errors.hide(&format!("{}\n", error.render())))))),
        exchanges: Some(Rc::new(move |traced: &TracedExchange<'_>| {
            // Mask before formatting, so that truncation and wrapping cannot split a secret. Mask again after it, because layout can change a string.
            let shown = loadstone_report::exchange(&masked(view(traced), &secrets), &style);
            say(secrets.hide(&shown).trim_end_matches('\n'));
            say("");
        })),
        messages: Some(Rc::new(move |traced: &TracedMessage<'_>| {
            say(of_messages.hide(&loadstone_report::message(&message_view(traced, &of_messages), &style)).trim_end_matches('\n'));
            say("");
        })),
        checks: Some(Rc::new(move |traced: &TracedCheck<'_>| {
            say(&format!(
                "{}\n",
                of_checks.hide(&loadstone_report::check(&of_checks.hide(traced.name), traced.holds, &style)).trim_end_matches('\n')
            ));
        })),
    }
}

fn masked_body(bytes: Vec<u8>, secrets: &Secrets) -> Vec<u8> {
    String::from_utf8(bytes)
        .map_or_else(std::string::FromUtf8Error::into_bytes, |body| text::printable(&secrets.hide(&body)).into_owned().into_bytes())
}

fn message_view(traced: &TracedMessage<'_>, secrets: &Secrets) -> MessageView {
    MessageView {
        scenario: traced.scenario.to_owned(),
        name: traced.name.to_owned(),
        sent: traced.direction == MessageDirection::Sent,
        body: masked_body(traced.body.to_vec(), secrets),
        event: traced.event.map(|event| text::printable(event).into_owned()),
        id: traced.id.map(|id| text::printable(id).into_owned()),
    }
}

fn masked(view: ExchangeView, secrets: &Secrets) -> ExchangeView {
    let text = |text: String| text::printable(&secrets.hide(&text)).into_owned();
    let lines = |lines: Vec<(String, String)>| lines.into_iter().map(|(name, value)| (name, text(value))).collect();
    let body = |bytes: Vec<u8>| masked_body(bytes, secrets);
    let expectation = |given: ExpectationView| ExpectationView { wanted: text(given.wanted), found: text(given.found), ..given };
    ExchangeView {
        scenario: text(view.scenario),
        name: text(view.name),
        url: text(view.url),
        request_headers: lines(view.request_headers),
        request_body: body(view.request_body),
        response: view.response.map(|response| ResponseView { headers: lines(response.headers), body: body(response.body), ..response }),
        problem: text(view.problem),
        expectations: view.expectations.into_iter().map(expectation).collect(),
        ..view
    }
}

fn view(traced: &TracedExchange<'_>) -> ExchangeView {
    let request = &traced.request;
    ExchangeView {
        scenario: traced.scenario.to_owned(),
        name: traced.name.to_owned(),
        method: request.method.clone(),
        url: request.address.clone(),
        request_headers: request.fields.clone(),
        request_body: request.body.clone(),
        response: traced.response.clone().map(|TracedResponse { status, fields, body, bytes_received }| ResponseView {
            status,
            headers: fields,
            body,
            bytes_received,
        }),
        outcome: traced.outcome,
        problem: match (traced.error, traced.outcome) {
            (Some(error), _) => error.to_owned(),
            (None, Outcome::Passed) => String::new(),
            (None, outcome) => outcome.label().to_owned(),
        },
        expectations: traced.expectations.iter().cloned().map(expectation_view).collect(),
        response_ns: traced.service_ns,
        phases: traced.phases,
        connected: traced.connected,
    }
}

fn expectation_view(traced: TracedExpectation) -> ExpectationView {
    ExpectationView { wanted: traced.wanted, found: traced.found, holds: traced.holds }
}

/// A closed standard output only ends the printing.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{}", text::printable_in_colour(text));
}
