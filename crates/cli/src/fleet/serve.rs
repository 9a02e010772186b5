//! An agent: it joins a fleet and makes its part of one run after another.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use engine::{AgentReport, AgentWorkers, WorkerContext};
use fleet::{AgentFacts, AgentLink, Assignment, NatsServer, RowRequest};
use script::{CallLeases, ConsoleLine, ScriptUsers, Sinks};

use super::test::FleetTest;
use super::unique_id;
use crate::command_run::{check_network, scratch_folder};
use crate::script_run::console_text;

/// How an agent is set up.
pub(crate) struct AgentSettings<'a> {
    pub(crate) server: NatsServer,
    pub(crate) name: Option<&'a str>,
    pub(crate) workers: u32,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) quiet: bool,
}

/// Serves for ever.
///
/// # Errors
/// The NATS server cannot be reached at the start.
pub(crate) fn serve(settings: &AgentSettings<'_>) -> anyhow::Result<()> {
    let hostname = session::hostname();
    let name = settings.name.map_or_else(|| format!("{hostname}/{}", std::process::id()), str::to_owned);
    let facts =
        AgentFacts { name: name.clone(), hostname, cores: session::cores(), workers: settings.workers, labels: settings.labels.clone() };
    let say = |text: &str| {
        if !settings.quiet {
            // A closed standard error is no reason not to serve.
            let _ = writeln!(std::io::stderr(), "agent {name}: {text}");
        }
    };
    let run_test = Arc::new(|assignment: Assignment, link: AgentLink| {
        if let Err(error) = run_test(&assignment, &link) {
            link.report(AgentReport::Broke(format!("{error:#}")));
        }
    });
    fleet::serve(&settings.server, unique_id(), facts, run_test, &say)?;
    Ok(())
}

struct FleetLeases(AgentLink);

impl CallLeases for FleetLeases {
    fn lease(&self, feeder: u64, rows: u64, ends: bool) -> Range<u64> {
        self.0.rows(RowRequest { feeder, rows, ends })
    }
}

fn run_test(assignment: &Assignment, link: &AgentLink) -> anyhow::Result<()> {
    let folder = scratch_folder()?;
    let loaded = FleetTest::parse(&assignment.test)?.load(folder.path())?;
    check_network(&loaded.network)?;
    let set_up = link.clone();
    loaded.share(Arc::new(FleetLeases(link.clone())), move |json| set_up.set_up(json.to_owned()));
    let loaded = Arc::new(loaded);
    let tables = session::descriptor_tables(&loaded.plan.load, assignment.workers_of_all)?;
    let workers = AgentWorkers::new(Arc::new(loaded.plan.clone()), assignment.share(), assignment.firsts.clone(), tables);
    let kept = Arc::clone(&loaded);
    link.attach(workers.commands(), move |json| kept.keep_set_up(json));
    workers.run(
        |context: &WorkerContext| ScriptUsers::new(&loaded, context, sinks(link)).map_err(|error| error.render()),
        |report| link.report(report),
    );
    Ok(())
}

/// Sends what a worker's scripts print to whoever runs the test.
fn sinks(link: &AgentLink) -> Sinks {
    let link = link.clone();
    Sinks { console: Some(Rc::new(move |line: &ConsoleLine| link.line(console_text(line)))), ..Sinks::default() }
}
