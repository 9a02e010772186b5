//! `cargo xtask bench`: what a request costs the generator, next to other generators in the same run.
//!
//! Absolute times differ between machines and hours; CPU time per request and its ratio to wrk's do not. So each
//! [`contender`] is pinned to one core, nginx to another, they take turns for several rounds, and the table shows
//! medians. Read [`bench`] first. Deliberately absent: any judgement; the targets are in bench/README.md.

mod contender;
mod flat;
mod idle;
mod install;
mod lag;
mod measured;
mod nginx;
mod open;
mod options;
mod start_up;

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};
use checkout::Workspace;
use checkout::machine::{self, SERVER_CORE};

use crate::dated_result;
use contender::Contender;
use measured::{Rounds, TurnCost};
pub(crate) use nginx::Nginx;
pub(crate) use options::BenchOptions;

pub(crate) fn bench(workspace: &Workspace, options: &BenchOptions) -> Result<()> {
    if options.install {
        return install::install(workspace);
    }
    if std::thread::available_parallelism()?.get() < 2 {
        bail!("the bench needs two cores: one for the generator, one for nginx");
    }
    let binary = machine::release_binary(workspace, options.binary.as_deref())?;
    let contenders = contender::installed(workspace, &binary, &options.only)?;
    let server = Nginx::start(SERVER_CORE)?;
    let rounds = measure(&contenders, &server, options)?;
    let mut report = report(&contenders, &rounds, options)?;
    let missing = further_parts(workspace, &binary, &server, options, &mut report);
    println!("\n{report}");
    if !options.dry {
        dated_result::write(workspace, None, &report)?;
    }
    if !missing.is_empty() {
        bail!("not measured, as the report says: {}", missing.join(", "));
    }
    Ok(())
}

/// Adds what is measured after the rounds, each with its error where it failed: the rounds took many minutes, and must
/// not be lost. Returns the names of the failed parts.
fn further_parts(workspace: &Workspace, binary: &Path, server: &Nginx, options: &BenchOptions, report: &mut String) -> Vec<&'static str> {
    let mut missing = Vec::new();
    let mut add = |name: &'static str, part: Result<String>| match part {
        Ok(text) => *report += &format!("\n{text}\n"),
        Err(error) => {
            *report += &format!("\n{name}: not measured. {error:#}\n");
            missing.push(name);
        }
    };
    add("start and size", start_and_size(binary));
    add("open load", open::measure(binary, server, options));
    add("schedule lag", lag::measure(binary, server));
    if let Some(minutes) = options.flat {
        add("memory at full rate", flat::measure(binary, &workspace.root.join("bench/status.load.ts"), server, minutes));
    }
    if options.idle {
        let idle = idle::measure(binary, &workspace.root.join("bench/idle.load.ts"), server);
        add("memory of idle users", idle.map(|idle| idle.sentence()));
    }
    missing
}

fn start_and_size(binary: &Path) -> Result<String> {
    let start_up_ms = start_up::first_request_ms(binary)?;
    let size = fs::metadata(binary)?.len() as f64 / 1e6;
    Ok(format!(
        "First request after the start of `loadstone run URL`: {start_up_ms:.0} ms (median of several). Size of the binary: {size:.1} MB."
    ))
}

/// Every generator once in each round, one after another, so that a slow minute of the machine touches all of them.
fn measure(contenders: &[Contender], server: &Nginx, options: &BenchOptions) -> Result<Vec<Rounds>> {
    let mut all: Vec<Rounds> = contenders.iter().map(|_| Rounds::default()).collect();
    for round in 1..=options.rounds {
        for (contender, rounds) in contenders.iter().zip(&mut all) {
            let (usage, requests) = match server.count(|| contender.run(server, options.users, options.seconds)) {
                Ok((_, 0)) => {
                    bail!("{} made no request; run its command by hand: {}", contender.name, contender.shown(options))
                }
                Ok(counted) => counted,
                // A failure of another generator must not lose the measurements of all.
                Err(error) if contender.is_peer() => {
                    eprintln!("round {round}  {} is left out: {error:#}", contender.name);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let measured = TurnCost::of(&usage, requests);
            println!("round {round}  {:<34} {:>7.2} µs per request, {requests} requests", contender.name, measured.cpu_us);
            rounds.push(measured);
        }
    }
    Ok(all)
}

fn report(contenders: &[Contender], rounds: &[Rounds], options: &BenchOptions) -> Result<String> {
    let mut text = format!(
        "# Bench, {}\n\n{}\n\nEach generator pinned to one core, nginx to another; {} keep-alive connections, a JSON response of {} bytes; \
         {} rounds of {} s, taken in turns. CPU: the generator's own user and system time over the requests that nginx counted. \
         Medians over the rounds, lowest and highest in brackets; the ratio is taken within each round.\n\n",
        machine::today()?,
        machine::facts()?,
        options.users,
        nginx::BODY.len(),
        options.rounds,
        options.seconds,
    );
    let measured: Vec<(&Contender, &Rounds)> = contenders.iter().zip(rounds).filter(|(_, own)| own.are_all(options.rounds)).collect();
    for group in measured.chunk_by(|(one, _), (other, _)| one.group == other.group) {
        let (measure, measure_rounds) = group[0];
        text += &format!(
            "| generator | CPU per request | of it user | × {} | requests per s | peak memory |\n|---|---|---|---|---|---|\n",
            measure.name
        );
        for (contender, own) in group {
            text += &own.row(&contender.label(), measure_rounds, options.seconds);
        }
        text.push('\n');
    }
    for (contender, own) in contenders.iter().zip(rounds).filter(|(_, own)| own.objected() > 0) {
        text += &format!("\n{} called its own measurement invalid in {} of {} rounds.\n", contender.name, own.objected(), options.rounds);
    }
    text += "\nCommands, with URL the address of nginx, and HTTP2_URL where it speaks HTTP/2 without TLS:\n\n```text\n";
    for contender in contenders {
        text += &format!("{}\n", contender.shown(options));
    }
    text += "```\n";
    Ok(text)
}
