//! What the GitHub Action and the GitLab template run.

use std::process::Command;
use std::time::Duration;

use crate::harness::Folder;
use crate::harness::raw::{Raw, Step, send};

const TEST: &str = r#"import { arrivals, failures, scenario, test } from "loadstone";
const s = scenario("S", async (user) => { await user.get("/", { name: "Get", expect: { status: 200 } }); });
export default test({ target: "TARGET", load: s.run(arrivals(20).for("2s")), thresholds: [failures().rate.below("50%")] });
"#;

/// Code and what was written, with these variables.
fn pipeline(folder: &Folder, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci/run.sh");
    let mut command = Command::new("sh");
    command.arg(script).current_dir(folder.path()).env("LOADSTONE", env!("CARGO_BIN_EXE_loadstone")).envs(variables.iter().copied());
    let output = command.output().expect("a shell");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_first_run_has_no_baseline_and_the_next_is_held_against_it() {
    // Slow enough that the lag of an unoptimised generator on a busy machine does not make the runs invalid.
    let target = Raw::answering(vec![Step::Wait(Duration::from_millis(20)), send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")]);
    let text = TEST.replace("TARGET", &target.address);
    let folder = Folder::new().file("a.load.ts", &text).file("b.load.ts", &text.replace("\"S\"", "\"T\""));
    let both = "a.load.ts\nb.load.ts";
    let (code, said) = pipeline(&folder, &[("TEST", both), ("TAG", "main"), ("AGAINST", "main"), ("FAIL_IF", "failures worse by 50%")]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no run has the tag or the branch \"main\" yet"), "{said}");
    let junit = |name: &str| folder.path().join("runs/junit").join(name);
    assert!(junit("a.xml").is_file() && junit("b.xml").is_file(), "{said}");
    let variables =
        [("TEST", "a.load.ts"), ("TAG", "change"), ("AGAINST", "main"), ("FAIL_IF", "failures worse by 50%\nfailures worse by 60%")];
    let (code, said) = pipeline(&folder, &variables);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.matches("--fail-if").count() == 2 && junit("a.md").is_file(), "{said}");
    // The branch on which runs were made does as well as a tag.
    let (code, said) = pipeline(&folder, &[("TEST", "a.load.ts"), ("LOADSTONE_BRANCH", "release/2")]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = pipeline(&folder, &[("TEST", "a.load.ts"), ("AGAINST", "release/2"), ("FAIL_IF", "failures worse by 50%")]);
    assert!(code == Some(0) && said.contains("--against release/2"), "{said}");
    let failing = text.replace("status: 200", "status: 418");
    let folder = folder.file("a.load.ts", &failing);
    let (code, said) = pipeline(&folder, &[("TEST", both), ("ARGUMENTS", "--seed 7 --workers 1 --tag 'two words'")]);
    assert_eq!(code, Some(3), "the second test, which passes, does not hide it: {said}");
    let listed = folder.run(&["runs"]).stdout;
    assert!(listed.contains("two words"), "{listed}");
}

#[test]
fn tests_of_one_name_in_two_folders_have_a_document_each() {
    let target = Raw::answering(vec![send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")]);
    let text = TEST.replace("TARGET", &target.address).replace("2s", "1s");
    let folder = Folder::new().file("eu/shop.load.ts", &text).file("us/shop.load.ts", &text);
    pipeline(&folder, &[("TEST", "./eu/shop.load.ts\nus/shop.load.ts")]);
    let junit = |name: &str| folder.path().join("runs/junit").join(name);
    assert!(junit("eu.shop.xml").is_file() && junit("us.shop.xml").is_file());
}
