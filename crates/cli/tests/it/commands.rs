//! Commands on finished runs, and the binary's own help and completions.

use std::process::Stdio;

use serde_json::Value;

use crate::harness::{Folder, server};

/// A folder with one finished run of 40 requests.
fn one_run() -> Folder {
    let folder = Folder::new();
    folder.run(&["run", server::nginx(), "--rate", "20", "--for", "2s", "--quiet", "--tag", "first"]).passes();
    folder
}

#[test]
fn what_was_concluded_can_be_deleted_and_is_rebuilt_identically() {
    let folder = one_run();
    let run = folder.runs().remove(0);
    let concluded = ["summary.json", "report.html", "junit.xml"];
    let read = || concluded.map(|name| std::fs::read_to_string(run.join(name)).unwrap_or_else(|error| panic!("{name}: {error}")));
    let before = read();
    for name in concluded {
        std::fs::remove_file(run.join(name)).unwrap();
    }
    folder.run(&["report", "latest"]).code(0);
    let after = read();
    for (index, name) in concluded.iter().enumerate() {
        assert!(before[index] == after[index], "{name} differs");
    }
}

#[test]
fn runs_are_listed_shown_and_found_by_their_beginning() {
    let folder = one_run();
    let id = folder.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    folder.run(&["runs"]).code(0).says(&id);
    let listed: Value = serde_json::from_str(&folder.run(&["runs", "--json"]).code(0).stdout).expect("JSON");
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    for name in ["latest", "last", "first", id.as_str(), &id[..19]] {
        folder.run(&["show", name]).code(0).says("40");
    }
    let shown: Value = serde_json::from_str(&folder.run(&["show", "--json"]).code(0).stdout).expect("JSON");
    assert_eq!(shown["totals"]["requests"], 40);
}

#[test]
fn a_pipe_gets_full_ids() {
    let name = "a-name-that-would-never-fit-into-a-table-of-eighty-columns";
    let folder = Folder::new().file("t.load.ts", &once_test(&format!("name: \"{name}\",")));
    folder.run(&["run", "t.load.ts", "--quiet"]);
    let id = folder.runs()[0].file_name().unwrap().to_str().unwrap().to_owned();
    assert!(id.len() > 60, "{id}");
    folder.run(&["runs"]).code(0).says(&id);
}

#[test]
fn a_closed_reader_is_not_an_error() {
    let folder = Folder::new().file("t.load.ts", &once_test(""));
    let mut inspecting = folder.command(&["inspect", "t.load.ts"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Like `| head -0`, long before anything is written.
    drop(inspecting.stdout.take());
    assert_eq!(String::from_utf8_lossy(&inspecting.wait_with_output().unwrap().stderr), "");
}

/// A test that sends one request.
fn once_test(options: &str) -> String {
    format!(
        "import {{ once, scenario, test }} from \"loadstone\";\n\
         const s = scenario(\"S\", async (user) => {{ await user.get(\"/\"); }});\n\
         export default test({{ {options} target: \"{}\", load: s.run(once()) }});\n",
        server::nginx()
    )
}

#[test]
fn an_export_holds_every_request() {
    let folder = one_run();
    let csv = folder.run(&["export", "latest"]).code(0).stdout;
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column =
        |name: &str| columns.iter().position(|column| *column == name).unwrap_or_else(|| panic!("no column {name} in {columns:?}"));
    let (kind, count) = (column("kind"), column("count"));
    let rows = lines.map(|line| line.split(',').collect::<Vec<_>>()).filter(|row| row[kind] == "request");
    assert_eq!(rows.map(|row| row[count].parse::<u64>().expect("a count")).sum::<u64>(), 40, "{csv}");

    let lines = folder.run(&["export", "latest", "--format", "jsonl"]).code(0).stdout;
    let requests =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON on every line")).filter(|row| row["kind"] == "request");
    assert_eq!(requests.map(|row| row["count"].as_u64().expect("a count")).sum::<u64>(), 40, "{lines}");

    folder.run(&["export", "latest", "--format", "parquet", "-o", "run.parquet"]).code(0);
    let parquet = std::fs::read(folder.path().join("run.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
}

#[test]
fn every_command_has_help() {
    let help = Folder::new().run(&["--help"]).code(0).says("Exit codes").stdout;
    for command in ["run", "try", "init", "inspect", "demo", "ui", "runs", "show", "report", "export", "completions"] {
        assert!(help.contains(command), "{command} is not in the help");
        Folder::new().run(&[command, "--help"]).code(0).says("Usage: loadstone");
    }
    Folder::new().run(&["--version"]).code(0).says("loadstone ");
}

#[test]
fn types_of_services_are_written_for_the_editor() {
    let folder = Folder::new()
        .file(
            "api/shop.proto",
            "syntax = \"proto3\";\npackage shop;\nmessage Id { int64 id = 1; }\nservice Shop { rpc Get(Id) returns (Id); }\n",
        )
        .file("broken.proto", "syntax = \"proto3\";\nmessage A { int32 a = ; }\n");
    folder.run(&["types", "api/shop.proto"]).code(0).says("shop.d.ts");
    let types = std::fs::read_to_string(folder.path().join("shop.d.ts")).unwrap();
    for line in [
        "    \"shop.Shop/Get\": {",
        "      request: shop.IdInput;",
        "      response: shop.Id;",
        "      received: shop.Id;",
        "      answer: shop.IdInput;",
    ] {
        assert!(types.lines().any(|other| other == line), "{line}\n{types}");
    }
    folder.run(&["types", "broken.proto"]).code(2).says("broken.proto:2:23");
    folder.run(&["types", "missing.proto"]).code(2).says("missing.proto: cannot be read");
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    folder.run(&["man", "pages"]).code(0);
    let page = |name: &str| std::fs::read_to_string(folder.path().join("pages").join(name)).unwrap_or_else(|_| panic!("no page {name}"));
    assert!(page("loadstone.1").contains("Load tests that tell you why"));
    assert!(page("loadstone-run.1").contains("fail\\-if") && page("loadstone-doctor.1").contains("users"));
}

#[test]
fn completions_are_written_for_shells() {
    for (shell, mark) in [("bash", "complete -F"), ("zsh", "#compdef loadstone"), ("fish", "complete -c loadstone")] {
        Folder::new().run(&["completions", shell]).code(0).says(mark);
    }
}

#[test]
fn a_closed_pipe_does_not_crash() {
    let folder = one_run();
    let binary = env!("CARGO_BIN_EXE_loadstone");
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("{binary} export latest | head -n 1")])
        .current_dir(folder.path())
        .output()
        .expect("a shell");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{errors}");
}

#[test]
fn a_run_directory_of_the_future_is_refused_politely() {
    let folder = one_run();
    let run = folder.runs().remove(0);
    let path = run.join("run.json");
    let mut info: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("run.json")).expect("JSON");
    info["format"] = 999.into();
    std::fs::write(&path, info.to_string()).unwrap();
    let ended = folder.run(&["show", "latest"]);
    assert_ne!(ended.status.code(), Some(0), "{}", ended.everything());
    ended.says("999").does_not_say("panicked");
}
