//! `loadstone watch`: what a tool's end and its record mean for the run. The tool here is a shell script that writes vegeta's record.

use crate::harness::{Ended, Folder};

/// Writes 40 requests of 20 ms that end now, one of which fails, and ends as the test wants.
const TOOL: &str = r#"
began=$(date +%s%N)
for number in $(seq 1 40); do
  code=200; error=
  if [ "$number" = 7 ]; then code=503; error="503 Service Unavailable"; fi
  echo "$began,$code,20000000,0,2,$error,,,$number,GET,http://shop/orders/$number," >> record.csv
done
"#;

fn watch(end: &str, more: &[&str]) -> Ended {
    watch_in(&Folder::new(), end, more)
}

fn watch_in(folder: &Folder, end: &str, more: &[&str]) -> Ended {
    std::fs::write(folder.path().join("tool.sh"), format!("{TOOL}{end}\n")).expect("the script of the tool");
    let record = ["--record", "vegeta-csv", "--follow", "record.csv", "--quiet"];
    folder.run(&[&["watch"], more, &record[..], &["--", "sh", "tool.sh"]].concat())
}

#[test]
fn the_record_becomes_a_run_with_verdict_and_thresholds() {
    let ended = watch("", &[]).code(0).says("GET /orders/{id}").says("40 of 40 arrivals started");
    let summary = ended.summary();
    assert_eq!((&summary["totals"]["requests"], &summary["errors"][0]["count"]), (&40.into(), &1.into()), "{}", ended.everything());
    assert_eq!(summary["errors"][0]["message"], "status 503");
    watch("", &["--threshold", "p50<10ms"]).code(3);
    watch("", &["--threshold", "p50<25ms"]).code(0);
}

#[test]
fn the_code_of_the_command_comes_first_and_is_shown() {
    let ended = watch("exit 99", &["--threshold", "p50<10ms"]).code(99);
    assert!(ended.summary().to_string().contains("the command ended with exit code 99"), "{}", ended.everything());
}

#[test]
fn a_killed_tool_leaves_a_run_that_says_so() {
    let ended = watch("kill -9 $$", &[]).code(137).says("killed by signal 9");
    assert_eq!(ended.summary()["totals"]["requests"], 40, "{}", ended.everything());
}

#[test]
fn garbage_in_the_record_is_shown_and_makes_the_run_suspect() {
    let ended = watch("echo '<html>not a record</html>' >> record.csv", &[]).code(0).says("SUSPECT");
    ended.says("1 line could not be read as vegeta's record, such as \"<html>not a record</html>\"");
}

#[test]
fn a_file_has_the_observers_and_thresholds() {
    let file = r#"import { observe, responseTime, watch } from "loadstone";
export default watch({ observe: [observe.host()], thresholds: [responseTime("GET /orders/{id}").p50.below("10ms")] });"#;
    let folder = Folder::new().file("shop.watch.ts", file);
    watch_in(&folder, "", &["shop.watch.ts"]).code(3);
    let own = Folder::new().file("own.watch.ts", "import { watch } from \"loadstone\";\nexport default watch({ load: 1 } as any);");
    watch_in(&own, "", &["own.watch.ts"]).code(2).says("watch(…) has no `load`");
}

#[test]
fn wrong_flags_name_the_remedy_and_leave_no_run() {
    let folder = Folder::new();
    folder.run(&["watch", "--quiet", "--", "sh", "-c", "true"]).code(2).says("--record jtl --follow result.jtl");
    folder.run(&["watch", "--quiet"]).code(2).says("add `-- COMMAND`");
    folder.run(&["watch", "--", "no-such-tool"]).code(2).says("check that it is installed");
    folder.run(&["watch", "--follow", "missing.log"]).code(2).says("missing.log");
    folder.run(&["watch", "--record", "k6", "--", "true"]).code(2).says("k6-json");
    assert!(!folder.path().join("runs").exists());
}

/// A credential on the command line must not be stored.
#[test]
fn credentials_of_the_command_are_masked() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("tool.sh"), TOOL).unwrap();
    let command = ["--", "sh", "tool.sh", "API_TOKEN=hunter2hunter2", "--password", "s3cr3ts3cr3t"];
    let ended = folder.run(&[&["watch", "--record", "vegeta-csv", "--follow", "record.csv", "--quiet"], &command[..]].concat()).code(0);
    let stored = std::fs::read_to_string(ended.run.clone().unwrap().join("run.json")).unwrap();
    assert!(!stored.contains("hunter2") && !stored.contains("s3cr3t"), "{stored}");
    assert!(stored.contains("tool.sh"), "{stored}");
}
