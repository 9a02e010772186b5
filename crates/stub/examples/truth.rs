//! Runs the truth server that the first argument describes as JSON, until standard input ends. Then it prints its counts.
//!
//! The second argument is its seed. With `awake` as the third it never sleeps and needs a core for itself.
//!
//! `cargo run --release --example truth -p loadstone-stub -- '{"kind": "single_server", "mean_service_ns": 1000000}'`

use std::io::{Read, Write};

use loadstone_stub::truth::{Truth, TruthOptions, TruthServer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| r#"{"kind": "instant"}"#.to_owned());
    let seed = std::env::args().nth(2).map_or(Ok(1), |seed| seed.parse())?;
    let truth: Truth = serde_json::from_str(&text)?;
    let awake = std::env::args().nth(3).is_some_and(|argument| argument == "awake");
    let server = TruthServer::start(truth, TruthOptions { seed, awake, ..TruthOptions::default() })?;
    writeln!(std::io::stdout(), "{}", server.url())?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    writeln!(std::io::stdout(), "{}", server.report())?;
    Ok(())
}
