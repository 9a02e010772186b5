//! `loadstone demo`: a built-in shop with a planted limit, a test against it, and the verdict.

use std::io::Write;
use std::net::SocketAddr;

use anyhow::Context;
use script::Inputs;
use stub::demo::{DemoOptions, DemoShop};

use super::run::ScriptRun;
use crate::args::{DemoArgs, OutputArgs, TlsArgs};
use crate::exit::{Exit, UsageError};
use crate::{interrupt, machine};

const TEST: &str = include_str!("../../../../examples/demo.load.ts");

/// Runs the demo. Its thresholds are made to fail, so only a run that did not come about ends with another code than passed.
pub(crate) fn demo(args: &DemoArgs, color: report::terminal::ColorChoice) -> anyhow::Result<Exit> {
    if let Some(listen) = args.serve {
        return serve(listen);
    }
    units::duration::parse(&args.duration).map_err(|problem| UsageError(format!("--for: {problem}")))?;
    let shop = DemoShop::start(DemoOptions::default()).context("the demo shop cannot be started")?;
    let folder = tempfolder()?;
    let file = folder.join("demo.load.ts");
    std::fs::write(&file, TEST).with_context(|| format!("{} cannot be written", file.display()))?;
    introduce(&shop.url(), &args.duration);
    let parameters = vec![("target".to_owned(), shop.url()), ("runTime".to_owned(), args.duration.clone())];
    let exit = ScriptRun {
        path: &file,
        shown: "demo.load.ts",
        inputs: Inputs { parameters, ..Inputs::default() },
        workers: machine::cores(),
        tags: &["demo".to_owned()],
        stops_with_stdin: false,
        tls: &TlsArgs::default(),
        output: &OutputArgs { live: true, ..args.output.clone() },
        color,
    }
    .perform();
    let _ = std::fs::remove_dir_all(&folder);
    match exit? {
        Exit::ThresholdsFailed => Ok(Exit::Passed),
        other => Ok(other),
    }
}

/// The shop alone, until someone ends it.
fn serve(listen: SocketAddr) -> anyhow::Result<Exit> {
    let shop = DemoShop::start(DemoOptions { listen, ..DemoOptions::default() })
        .with_context(|| format!("the demo shop cannot listen on {listen}"))?;
    let _ = writeln!(std::io::stderr(), "The demo shop listens on {}. Ctrl-C ends it.", shop.url());
    interrupt::wait()?;
    Ok(Exit::Passed)
}

fn tempfolder() -> anyhow::Result<std::path::PathBuf> {
    let folder = std::env::temp_dir().join(format!("loadstone-demo-{}", std::process::id()));
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    Ok(folder)
}

fn introduce(url: &str, duration: &str) {
    let _ = writeln!(
        std::io::stderr(),
        "A small shop listens on {url}. One of its endpoints has a limit that nobody told you of.\nVisitors and more and more buyers arrive for {duration}; then Loadstone says what it saw.\n"
    );
}
