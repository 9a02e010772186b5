//! An agent: joins a fleet and generates its part of one run after another.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loadstone_engine::{AgentReport, AgentWorkers, SharedIterations, WorkerContext};
use loadstone_fleet::{
    AgentFacts, AgentLink, AgentNumbers, Assignment, EndRequest, HostListeners, NatsServer, NumberSource, PublicFleetKey,
};
use loadstone_k6::{K6Sinks, K6Test, K6Users};
use loadstone_metrics::Snapshot;
use loadstone_plan::TestPlan;
use loadstone_protocol::NetworkOptions;
use loadstone_script::{CallLeases, CommonHome, ConsoleLine, LeasedCalls, Loaded, ScriptError, ScriptUsers, Sinks};
use loadstone_secrets::Secrets;

use super::host_message::HostMessage;
use super::led_test::SentTest;
use super::unique_id;
use crate::command_run::check_network;
use crate::scratch::scratch_folder;
use crate::script_run::console_text;

/// Settings of an agent.
pub(crate) struct AgentSettings<'a> {
    pub(crate) server: NatsServer,
    /// Public keys of the controllers that may lead it. Empty: every controller.
    pub(crate) controllers: Vec<PublicFleetKey>,
    pub(crate) name: Option<&'a str>,
    pub(crate) workers: u32,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) quiet: bool,
}

/// Serves until it is asked to end.
///
/// # Errors
/// The NATS server refuses, or is not reachable for too long at the start. A worker stopped responding.
pub(crate) fn serve(settings: &AgentSettings<'_>, end: &EndRequest) -> anyhow::Result<()> {
    let hostname = loadstone_session::hostname();
    let name = settings.name.map_or_else(|| format!("{hostname}/{}", std::process::id()), str::to_owned);
    let facts = AgentFacts {
        name: name.clone(),
        hostname,
        cores: loadstone_session::cores(),
        workers: settings.workers,
        labels: settings.labels.clone(),
        ..AgentFacts::default()
    };
    let say = |text: &str| {
        if !settings.quiet {
            // This output is optional: a closed standard error must not stop the agent.
            let _ = writeln!(std::io::stderr(), "agent {name}: {text}");
        }
    };
    let is_blocked = Arc::new(AtomicBool::new(false));
    let (blocked, blocked_end) = (Arc::clone(&is_blocked), end.clone());
    let run_test = Arc::new(move |assignment: Assignment, link: AgentLink| match run_test(&assignment, &link) {
        Ok(was_abandoned) if was_abandoned => {
            // The thread still uses a core: the load of a later run would be late.
            blocked.store(true, Ordering::Release);
            blocked_end.ask();
        }
        Ok(_) => {}
        Err(error) => link.report(AgentReport::Broke(format!("{error:#}"))),
    });
    loadstone_fleet::serve(&settings.server, settings.controllers.clone(), unique_id(), facts, run_test, end, &say)?;
    if is_blocked.load(Ordering::Acquire) {
        anyhow::bail!("agent {name} ended because a worker stopped responding, and its thread cannot be stopped: start the agent again");
    }
    Ok(())
}

/// Data that the test's users share with those of other agents, through the controller.
struct ByWayOf(AgentLink);

impl CallLeases for ByWayOf {
    fn calls(&self, feeder: u64, end: Option<u64>) -> Box<dyn LeasedCalls> {
        Box::new(NumbersOverAgents(self.0.numbers(NumberSource::Feeder(feeder), end)))
    }
}

impl CommonHome for ByWayOf {
    fn ask(&self, question: String) -> Option<String> {
        self.0.ask(question)
    }

    fn send(&self, text: String) {
        self.0.send_to_host(HostMessage::Common(text).to_text());
    }
}

struct NumbersOverAgents(AgentNumbers);

impl LeasedCalls for NumbersOverAgents {
    fn take(&self) -> Option<u64> {
        self.0.take()
    }

    fn remaining(&self) -> Option<u64> {
        self.0.remaining()
    }
}

impl SharedIterations for NumbersOverAgents {
    fn take(&self) -> Option<u64> {
        self.0.take()
    }
}

/// Returns whether a worker was abandoned.
fn run_test(assignment: &Assignment, link: &AgentLink) -> anyhow::Result<bool> {
    let folder = scratch_folder()?;
    match SentTest::parse(&assignment.test)? {
        SentTest::Loadstone(test) => run_loaded(&Arc::new(test.load(folder.path())?), assignment, link),
        SentTest::K6(test) => run_k6(test.load(folder.path())?, assignment, link),
    }
}

fn run_loaded(loaded: &Arc<Loaded>, assignment: &Assignment, link: &AgentLink) -> anyhow::Result<bool> {
    let workers = workers(&loaded.plan, &loaded.network, assignment, link)?;
    let set_up = link.clone();
    loaded.share(Arc::new(ByWayOf(link.clone())), Arc::new(ByWayOf(link.clone())), move |json| set_up.set_up(json.to_owned()));
    let (of_set_up, of_values) = (Arc::clone(loaded), Arc::clone(loaded));
    let listeners = HostListeners {
        on_set_up: Box::new(move |json| of_set_up.keep_set_up(json)),
        on_host_message: Box::new(move |text| of_values.receive(&text)),
    };
    link.attach(workers.commands(), listeners);
    let secrets = loaded.plan.all_secrets();
    let make = |context: &WorkerContext| ScriptUsers::new(loaded, context, sinks(link, &secrets)).map_err(|error| error.render());
    Ok(workers.run(make, |report| send(report, &secrets, link, || loaded.send_collected())))
}

fn run_k6(mut test: K6Test, assignment: &Assignment, link: &AgentLink) -> anyhow::Result<bool> {
    let share = assignment.share();
    test.share_rate(share.here, share.of);
    let test = Arc::new(test);
    let workers = workers(&test.plan, &test.network, assignment, link)?;
    let of_set_up = Arc::clone(&test);
    let listeners = HostListeners {
        on_set_up: Box::new(move |json| of_set_up.keep_set_up(json)),
        // The controller sends none.
        on_host_message: Box::new(|_| {}),
    };
    link.attach(workers.commands(), listeners);
    let secrets = test.plan.all_secrets();
    let make = |context: &WorkerContext| K6Users::new(&test, context, k6_sinks(link, &secrets)).map_err(|error| error.render());
    let send_totals = || {
        if let Some(totals) = test.changed_totals() {
            link.send_to_host(HostMessage::K6Totals(secrets.hide(&totals).into_owned()).to_text());
        }
    };
    Ok(workers.run(make, |report| send(report, &secrets, link, send_totals)))
}

fn workers(plan: &TestPlan, network: &NetworkOptions, assignment: &Assignment, link: &AgentLink) -> anyhow::Result<AgentWorkers> {
    check_network(network)?;
    let tables = loadstone_session::descriptor_tables(&plan.load, assignment.workers_of_all)?;
    let numbers = link.clone();
    let iterations = Box::new(move |leaf, count| -> Box<dyn SharedIterations> {
        Box::new(NumbersOverAgents(numbers.numbers(NumberSource::Leaf(leaf), Some(count))))
    });
    Ok(AgentWorkers::new(Arc::new(plan.clone()), assignment.share(), assignment.firsts.clone(), iterations, tables))
}

/// Sends a report to the controller. `send_rest` sends what must arrive before a second, or before the end.
fn send(report: AgentReport, secrets: &Secrets, link: &AgentLink, send_rest: impl FnOnce()) {
    let report = match report {
        // The stored seconds must contain no secrets: the collecting machine writes them to disk.
        AgentReport::Snapshot(second) => AgentReport::Snapshot(Box::new(hidden(*second, secrets))),
        other => other,
    };
    if matches!(report, AgentReport::Snapshot(_) | AgentReport::Done) {
        send_rest();
    }
    link.report(report);
}

/// Masks secrets. Journey events that are still being sent contain none.
fn hidden(mut second: Snapshot, secrets: &Secrets) -> Snapshot {
    let flow_events = std::mem::take(&mut second.flow_events);
    Snapshot { flow_events, ..Snapshot::hiding(Cow::Owned(second), secrets).into_owned() }
}

/// Sends a worker's script output and errors to the controller. They are masked here: only this agent knows the credentials of its requests.
fn sinks(link: &AgentLink, secrets: &Secrets) -> Sinks {
    let (lines, failures) = (link.clone(), link.clone());
    let (of_lines, of_failures) = (secrets.clone(), secrets.clone());
    Sinks {
        console: Some(Rc::new(move |line: &ConsoleLine| lines.line(of_lines.hide(&console_text(line)).into_owned()))),
        misuse: Some(Rc::new(move |error: &ScriptError| {
            failures.send_to_host(HostMessage::Misuse(of_failures.hide(&error.render()).into_owned()).to_text());
        })),
        ..Sinks::default()
    }
}

/// Sends the masked output of a worker's VUs to the controller, the result of `setup`, and the request to end the run.
fn k6_sinks(link: &AgentLink, secrets: &Secrets) -> K6Sinks {
    let (lines, aborts, set_ups) = (link.clone(), link.clone(), link.clone());
    let (of_lines, of_aborts, of_set_ups) = (secrets.clone(), secrets.clone(), secrets.clone());
    K6Sinks {
        console: Some(Rc::new(move |line: &str| lines.line(of_lines.hide(line).into_owned()))),
        abort: Some(Rc::new(move |message: &str| {
            aborts.send_to_host(HostMessage::K6Aborted(of_aborts.hide(message).into_owned()).to_text());
        })),
        set_up: Some(Rc::new(move |json: &str| {
            set_ups.set_up(json.to_owned());
            // For the summary only.
            set_ups.send_to_host(HostMessage::K6SetUp(of_set_ups.hide(json).into_owned()).to_text());
        })),
        ..K6Sinks::default()
    }
}
