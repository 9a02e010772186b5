//! The short form of `cargo xtask hostile`: the attacks that take seconds.

use std::path::Path;
use std::process::Command;

const ATTACKS: &str = "recursion/*,flood/ws-pings,flood/sse-ids,memory/device,memory/name,secrets/*,escapes/*,network/*,grpc/*,dns/random-bytes,\
    dns/alias-of-itself,ui/*,verdict/all-failed,review/run-name-escapes,review/import-reads-file,review/ws-close-reason";

#[test]
fn attacks_stay_within_their_limits() {
    let trial = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../trials/hostile/main.mjs");
    let mut command = Command::new("node");
    let output =
        command.arg(trial).args(["--only", ATTACKS, "--loadstone", env!("CARGO_BIN_EXE_loadstone")]).output().expect("node starts");
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}\n{errors}");
    assert!(text.contains(" attacks in ") && text.contains(", 0 beyond their limits"), "{text}");
}
