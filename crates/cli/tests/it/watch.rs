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
    ended.says("1 line could not be read as vegeta's record, such as record.csv:41: \"<html>");
}

/// A stand-in for `vegeta attack | tee | vegeta report`: the requests of a real run of two seconds, as if they had just been sent, then what vegeta printed.
fn with_summary(printed: &str, shell: &str) -> Ended {
    let folder = Folder::new().file("printed.txt", printed).file("real.csv", include_str!("../../../watch/tests/summaries/vegeta.csv"));
    let tool = r#"sleep 2.2
first=$(head -1 real.csv | cut -d, -f1)
awk -F, -v first="${first%??????}" -v now="$(date +%s%3N)" 'BEGIN { OFS = "," } {
  $1 = sprintf("%d%s", now - 2100 + substr($1, 1, length($1) - 6) - first, substr($1, length($1) - 5)); print }' real.csv > record.csv
"#;
    std::fs::write(folder.path().join("tool.sh"), format!("{tool}{shell}\n")).expect("the script of the tool");
    folder.run(&["watch", "--record", "vegeta-csv", "--follow", "record.csv", "--quiet", "--", "sh", "tool.sh"]).code(0)
}

fn stated(ended: &Ended) -> (String, String) {
    let summary = ended.summary();
    let checks = summary["verdict"]["validity"]["checks"].as_array().expect("the checks");
    let check = checks.iter().find(|check| check["id"] == "stated-percentiles").expect("the check of the stated percentiles");
    (check["grade"].as_str().unwrap_or("").to_owned(), check["evidence"].as_str().unwrap_or("").to_owned())
}

#[test]
fn percentiles_that_the_command_prints_are_compared_with_its_record() {
    const REPORT: &str = include_str!("../../../watch/tests/summaries/vegeta.txt");
    let ended = with_summary(REPORT, "cat printed.txt").says("Latencies     [min, mean, 50, 90, 95, 99, max]");
    let (grade, evidence) = stated(&ended);
    assert_eq!((grade.as_str(), ended.summary()["totals"]["requests"].as_u64()), ("valid", Some(100)), "{}", ended.everything());
    // Of 100 requests, the 99th took 29.0 ms and the last one 34.6 ms. vegeta interpolates.
    assert!(evidence.starts_with("vegeta states p99 31.8 ms for Latencies, and its record has 29.0 ms"), "{evidence}");
    // On standard error, and wrong.
    let wrong = with_summary(&REPORT.replace("31.823ms", "131.823ms"), "cat printed.txt >&2").says("SUSPECT");
    assert!(stated(&wrong).1.contains("131.8 ms") || stated(&wrong).1.contains("132 ms"), "{}", wrong.everything());
}

/// wrk has no record. Its percentiles appear next to those of the record that was followed.
#[test]
fn percentiles_of_a_tool_without_a_record_appear_next_to_those_of_another() {
    let ended = with_summary(include_str!("../../../watch/tests/summaries/wrk.txt"), "cat printed.txt");
    let (grade, evidence) = stated(&ended);
    assert_eq!(grade, "", "{evidence}");
    assert!(evidence.starts_with("wrk states p99 29.4 ms for Latency; it is "), "{evidence}");
}

/// Gatling creates its folder of results, and one for each run in it. Results of earlier runs do not count.
#[test]
fn a_folder_may_be_followed_before_it_exists() {
    let tool = r#"mkdir -p results/shop-1
now=$(date +%s%3N)
printf 'RUN\tShop\tshop\t%s\t \t3.9.5\n' "$now" > results/shop-1/simulation.log
for number in 1 2 3; do
  printf 'REQUEST\t\tList products\t%s\t%s\tOK\t \n' "$now" "$((now + number))" >> results/shop-1/simulation.log
done"#;
    let folder = Folder::new().file("tool.sh", tool);
    let watch = || folder.run(&["watch", "--record", "gatling", "--follow", "results", "--quiet", "--", "sh", "tool.sh"]).code(0);
    assert_eq!(watch().summary()["totals"]["requests"], 3);
    std::fs::create_dir_all(folder.path().join("results/earlier")).unwrap();
    std::fs::copy(folder.path().join("results/shop-1/simulation.log"), folder.path().join("results/earlier/simulation.log")).unwrap();
    assert_eq!(watch().summary()["totals"]["requests"], 3);
    folder.run(&["watch", "--record", "gatling", "--follow", "nowhere", "--for", "1s"]).code(2).says("nowhere");
}

#[test]
fn tools_without_a_record_name_the_access_log() {
    Folder::new().file("wrk", "").run(&["watch", "--", "./wrk", "-d", "1"]).code(2).says("--follow access.log");
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
    folder.run(&["watch", "--", "no-such-tool"]).code(2).says("there is no program no-such-tool on the PATH: install it");
    folder.run(&["watch", "--", "./no-such-tool"]).code(2).says("there is no program ./no-such-tool: check its path");
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
