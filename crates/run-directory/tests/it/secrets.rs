//! Secrets never reach the disk, wherever they turn up.

use std::fs;

use loadstone_metrics::{Outcome, Recorder, SeriesKind};
use loadstone_plan::{Parameter, ParameterKind, ParameterOrigin};
use loadstone_run_directory::{RunEnd, Writer};

use crate::fixtures;

#[test]
fn no_file_of_the_directory_holds_a_secret() {
    let mut plan = fixtures::plan("shop");
    plan.parameters.push(Parameter {
        name: "token".to_owned(),
        kind: ParameterKind::String,
        help: None,
        default: Some("default-s3cret".to_owned()),
        value: "tok en/s3cret".to_owned(),
        origin: ParameterOrigin::Environment,
        secret: true,
    });
    plan.target = Some("http://admin:hunter2@127.0.0.1/?t=tok%20en%2Fs3cret".to_owned());
    plan.observers.push(serde_json::json!({"kind": "postgres", "url": "postgres://app:hunter2@db/shop", "password": "hunter2"}));
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), fixtures::info(), &plan).unwrap();
    let mut recorder = Recorder::new(0, 10);
    let id = recorder.series(&fixtures::key(SeriesKind::Request, "GET /x?t=tok%20en%2Fs3cret"));
    recorder.error(id, Outcome::Refused, 5, "cannot connect to http://admin:hunter2@127.0.0.1 with tok en/s3cret");
    recorder.check(id, true);
    writer.snapshot(&recorder.drain(0, 0, 1_000_000_000)).unwrap();
    writer.console("logged in with tok en/s3cret").unwrap();
    plan.secrets.learn_later("session-s3cret-7");
    writer.console("and got session-s3cret-7").unwrap();
    let directory = writer.finish(&RunEnd::Failed("http://admin:hunter2@127.0.0.1 is gone".to_owned())).unwrap();
    let mut seen = String::new();
    for file in fs::read_dir(directory).unwrap() {
        seen.push_str(&fs::read_to_string(file.unwrap().path()).unwrap());
    }
    for secret in ["hunter2", "s3cret"] {
        assert!(!seen.contains(secret), "{secret} in {seen}");
    }
    assert!(seen.contains("admin:•••@127.0.0.1"), "{seen}");
    assert!(seen.contains("logged in with •••") && seen.contains("and got •••"), "{seen}");
}
