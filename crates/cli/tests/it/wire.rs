//! The short form of `cargo xtask wire`: every request of its table and every odd response, against what curl, Node and Go did with them.

use std::path::Path;
use std::process::Command;

/// What other clients sent and saw is recorded in `trials/wire/recorded.jsonl`. Differences need a line with a reason in `trials/wire/differences.txt`.
#[test]
fn requests_and_responses_are_those_of_other_clients() {
    let trial = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../trials/wire/main.mjs");
    let mut command = Command::new("node");
    let output = command.arg(trial).args(["--recorded", "--loadstone", env!("CARGO_BIN_EXE_loadstone")]).output().expect("node starts");
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}\n{errors}");
    assert!(text.contains(", 0 unexplained"), "{text}");
}
