//! `loadstone demo`: runs a test against a built-in shop with a planted limit, and shows the verdict.

use std::net::SocketAddr;

use anyhow::Context;
use clap::Args;
use loadstone_script::Inputs;
use loadstone_stub::demo::{DemoOptions, DemoShop};

use crate::argument;
use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};
use crate::flags::{NetworkArgs, OutputArgs};
use crate::interrupt;
use crate::prose;
use crate::scratch::scratch_folder;
use crate::script_run::ScriptRun;

/// The test that runs against the shop.
pub(super) const TEST: &str = include_str!("../../../../examples/demo.load.ts");

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Duration of the load.
    #[arg(long = "for", value_name = "DURATION", default_value = "30s")]
    duration: String,
    /// Only serve the shop until Ctrl-C, for your own tests.  [default address: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8080", value_parser = argument::listen)]
    serve: Option<SocketAddr>,
    #[command(flatten)]
    output: OutputArgs,
}

impl DemoArgs {
    /// Runs the demo. Its thresholds are meant to fail, so a failure counts as passed.
    pub(crate) fn perform(&self, context: &CommandContext) -> anyhow::Result<Exit> {
        if let Some(listen) = self.serve {
            return serve(listen);
        }
        loadstone_units::duration::parse(&self.duration).map_err(|problem| UsageError(format!("--for: {problem}")))?;
        let shop = DemoShop::start(DemoOptions::default()).context("cannot start the demo shop")?;
        let folder = scratch_folder()?;
        let file = folder.path().join("demo.load.ts");
        std::fs::write(&file, TEST).with_context(|| format!("cannot write {}", file.display()))?;
        introduce(&shop.url(), &self.duration);
        let parameters = vec![("target".to_owned(), shop.url()), ("runTime".to_owned(), self.duration.clone())];
        let exit = ScriptRun {
            path: &file,
            shown: "demo",
            inputs: Inputs { parameters, check_observer: Some(loadstone_session::check_observer), ..Inputs::default() },
            workers: loadstone_session::cores(),
            tags: &["demo".to_owned()],
            network: &NetworkArgs::default(),
            fleet: None,
        }
        .perform(&OutputArgs { live: true, ..self.output.clone() }, false, context.color)?;
        if matches!(exit, Exit::Passed | Exit::ThresholdsFailed | Exit::Invalid) && !self.output.quiet && !self.output.json {
            offer();
        }
        match exit {
            Exit::ThresholdsFailed => Ok(Exit::Passed),
            other => Ok(other),
        }
    }
}

/// Other commands that work with the same shop.
fn offer() {
    prose::line(
        "\nNext:\n  loadstone experiment demo\n    Is that really the cause? Switches the pool size back and forth, for about two minutes.\n  \
         loadstone capacity demo\n    How much can the shop take? In two minutes.\n  loadstone init\n    Creates a first test.",
    );
}

/// Serves the shop until Ctrl-C.
fn serve(listen: SocketAddr) -> anyhow::Result<Exit> {
    let shop = DemoShop::start(DemoOptions { listen, ..DemoOptions::default() })
        .with_context(|| format!("cannot serve the demo shop on {listen}"))?;
    prose::line(&format!("The demo shop listens on {}. Ctrl-C ends it.", shop.url()));
    interrupt::wait()?;
    Ok(Exit::Passed)
}

fn introduce(url: &str, duration: &str) {
    prose::line(&format!(
        "A small shop listens on {url}. One of its endpoints has an undisclosed bottleneck.\n\
         Visitors, and a growing number of buyers, arrive for {duration}. Then Loadstone reports what limits the shop.\n"
    ));
}
