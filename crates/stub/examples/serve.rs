//! Serves the stub that the first argument describes as JSON, until standard input ends.
//!
//! `cargo run --example serve -p loadstone-stub -- '{"listen": "127.0.0.1:9099", "delay": "loguniform(100ms, 2s)"}'`

use std::io::{Read, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| "{}".to_owned());
    let server = serde_json::from_str::<loadstone_stub::StubSpec>(&text)?.start()?;
    writeln!(std::io::stdout(), "{}", server.url("/"))?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let recording = server.recording();
    let routes = serde_json::to_string_pretty(&recording.routes)?;
    writeln!(std::io::stdout(), "{routes}\nmaximum in flight: {}", recording.in_flight_max)?;
    Ok(())
}
