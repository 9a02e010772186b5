//! Runs the truth server that the first argument describes as JSON, until standard input ends. Then it prints its counts.
//!
//! The second argument is its seed. The others are words: `awake` (it never sleeps and needs a core for itself), `lead=SECONDS` (the rule
//! begins this long after the first request), `streams=N` (open streams of one connection of HTTP/2).
//!
//! `cargo run --release --example truth -p loadstone-stub -- '{"kind": "single_server", "mean_service_ns": 1000000}'`

use std::io::{Read, Write};

use loadstone_stub::truth::{Truth, TruthOptions, TruthServer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| r#"{"kind": "instant"}"#.to_owned());
    let seed = std::env::args().nth(2).map_or(Ok(1), |seed| seed.parse())?;
    let truth: Truth = serde_json::from_str(&text)?;
    let mut options = TruthOptions { seed, ..TruthOptions::default() };
    for word in std::env::args().skip(3) {
        match word.split_once('=') {
            None if word == "awake" => options.awake = true,
            Some(("lead", seconds)) => options.lead_ns = (seconds.parse::<f64>()? * 1e9).round() as u64,
            Some(("streams", streams)) => options.streams_max = Some(streams.parse()?),
            _ => return Err(format!("unknown word `{word}`").into()),
        }
    }
    let server = TruthServer::start(truth, options)?;
    writeln!(std::io::stdout(), "{}", server.url())?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    writeln!(std::io::stdout(), "{}", server.report())?;
    Ok(())
}
