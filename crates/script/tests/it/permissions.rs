//! The files and hosts that a test may use.

use loadstone_engine::IterationEnd;
use loadstone_metrics::{Outcome, Snapshot};
use loadstone_script::{Inputs, Permissions};

use crate::folder::Folder;
use crate::running::{run, run_with, scenario, scenario_with};

const TEST: &str = "import { test, scenario, once, csv, file, template, collect, json, proto } from \"loadstone\";\n";
const REST: &str = "\nexport default test({ target: \"http://127.0.0.1:1\", load: scenario(\"S\", async () => {}).run(once()) });";

fn refusal(snapshot: &Snapshot) -> Option<String> {
    snapshot.errors.iter().find(|error| error.outcome == Outcome::Unsendable).map(|error| error.message.to_string())
}

#[test]
fn files_outside_the_folder_are_refused_with_the_flag_before_the_load() {
    for (call, flag) in [
        ("csv(\"../secret/rows.csv\")", "--allow-read"),
        ("json(\"../secret/rows.json\")", "--allow-read"),
        ("file(\"../secret/rows.csv\")", "--allow-read"),
        ("template(\"sub/../../secret/rows.csv\")", "--allow-read"),
        ("proto(\"../secret\")", "--allow-read"),
        ("collect(\"../secret/out.csv\")", "--allow-write"),
        ("csv(\"link/rows.csv\")", "--allow-read"),
    ] {
        let text = format!("{TEST}const found = {call};{REST}");
        let folder = Folder::new(&[
            ("test/t.load.ts", text.as_str()),
            ("test/sub/a.csv", "a\n1\n"),
            ("secret/rows.csv", "a\n1\n"),
            ("secret/rows.json", "[1]"),
            ("secret/s.proto", "syntax = \"proto3\";"),
        ]);
        std::os::unix::fs::symlink(folder.path("secret"), folder.path("test/link")).unwrap();
        let error = loadstone_script::load(&folder.path("test/t.load.ts"), &Inputs::default()).unwrap_err();
        let place = error.place.as_ref().expect("a place");
        assert_eq!((&*place.file, place.line), ("t.load.ts", 2), "{call}");
        let secret = folder.path("secret").canonicalize().unwrap();
        assert!(error.message.contains(&format!("add `{flag} {}", secret.display())), "{call}: {}", error.message);
        let permissions = Permissions { read: vec![folder.path("secret")], write: vec![folder.path("secret")], ..Permissions::default() };
        let loaded = loadstone_script::load(&folder.path("test/t.load.ts"), &Inputs { permissions, ..Inputs::default() });
        assert!(loaded.is_ok(), "{call}: {}", loaded.unwrap_err().render());
    }
}

#[test]
fn code_may_be_imported_from_elsewhere_and_data_may_not() {
    let text = format!("{TEST}import {{ n }} from \"../lib/code\";\nimport rows from \"../lib/rows.json\";\nconsole.log(n, rows);{REST}");
    let folder = Folder::new(&[("test/t.load.ts", text.as_str()), ("lib/code.ts", "export const n = 1;"), ("lib/rows.json", "[1]")]);
    let load = |permissions| loadstone_script::load(&folder.path("test/t.load.ts"), &Inputs { permissions, ..Inputs::default() });
    let error = load(Permissions::default()).unwrap_err();
    assert_eq!(error.place.as_ref().map(|place| place.line), Some(3), "{}", error.render());
    assert!(error.message.contains("rows.json: to permit it") || error.message.contains("--allow-read"), "{}", error.message);
    assert!(load(Permissions { read: vec![folder.path("lib")], ..Permissions::default() }).is_ok());
}

#[test]
fn a_file_that_is_refused_during_the_load_fails_the_run_even_if_the_script_catches_the_error() {
    let body = "try { file(['', 'etc', 'passwd'].join('/')); } catch (error) { user.log(error.message); }";
    let text = scenario_with("import { file } from \"loadstone\";", body, "");
    run_with(&text, &[], async |worker| {
        worker.iterate(0).await;
        assert!(worker.texts()[0].contains("add `--allow-read /etc/passwd`"), "{:?}", worker.texts());
        let misuse = worker.misuse.borrow();
        assert_eq!(misuse.len(), 1);
        assert!(misuse[0].place.is_some() && misuse[0].message.contains("--allow-read"), "{}", misuse[0].render());
    });
}

#[test]
fn a_host_that_the_target_supplies_is_refused_in_every_protocol() {
    for (call, host) in [
        ("user.get(`http://${other}:9/`)", "127.9.9.9:9"),
        ("user.ws(`ws://${other}:9/`)", "127.9.9.9:9"),
        ("user.events(`http://${other}:9/`)", "127.9.9.9:9"),
        ("user.tcp(`${other}:9`)", "127.9.9.9:9"),
        ("user.udp(`${other}:9`)", "127.9.9.9:9"),
        ("user.redis(`redis://${other}:9`).command('PING')", "127.9.9.9:9"),
        ("user.sql(`postgres://joe@${other}:9/shop`).query('select 1')", "127.9.9.9:9"),
    ] {
        // The parts are no host, and neither is the text that joins them.
        let body = format!("const other = [127, 9, 9, 9].join('.');\ntry {{ await {call}; }} catch (error) {{ user.log(error.message); }}");
        run(&scenario(&body), async |worker| {
            worker.iterate(0).await;
            let snapshot = worker.drain();
            let message = refusal(&snapshot).unwrap_or_else(|| panic!("{call}: {:?} {:?}", snapshot.errors, worker.texts()));
            assert!(message.contains(&format!("add `--allow-net {host}`")), "{call}: {message}");
            assert!(!snapshot.errors.iter().any(|error| error.outcome.is_failure()), "{call}: {:?}", snapshot.errors);
        });
    }
}

#[test]
fn hosts_in_the_text_and_in_parameters_are_permitted() {
    // The server listens on 127.0.0.1, which only the parameter `target` names.
    let text = scenario_with("const port = new URL(param.url(\"target\")).port;", "await user.get(`http://localhost:${port}/`);", "")
        .replace("target: param.url(\"target\"), ", "");
    run(&text, async |worker| {
        assert_eq!(worker.iterate(0).await, IterationEnd::Ended(Outcome::Passed));
        assert_eq!(refusal(&worker.drain()), None);
    });
}

#[test]
fn hosts_in_imported_settings_are_permitted() {
    let text = format!("{TEST}import environment from \"./environment.json\";\nconsole.log(environment);{REST}");
    let folder = Folder::new(&[
        ("t.load.ts", text.as_str()),
        ("environment.json", r#"{ "base": "https://shop.example/v1", "cache": "redis:6379" }"#),
    ]);
    let loaded = loadstone_script::load(&folder.path("t.load.ts"), &Inputs::default()).unwrap();
    let hosts = &loaded.network.allowed_hosts;
    assert!(hosts.permits("shop.example", 443) && hosts.permits("redis", 6379) && !hosts.permits("other.example", 443), "{hosts:?}");
}
