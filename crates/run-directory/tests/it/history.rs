//! Runs are found the way people name them.

use std::fs;

use loadstone_run_directory::{History, Notes, Reader, RunEnd, RunError, RunInfo, Writer, files};

use crate::fixtures;

fn folder_with(names: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (started, name) in names {
        let info = RunInfo { started: (*started).to_owned(), ..fixtures::info() };
        Writer::create(folder.path(), info, &fixtures::plan(name)).unwrap().finish(&RunEnd::Completed).unwrap();
    }
    folder
}

#[test]
fn finds_by_latest_name_prefix_part_and_path() {
    let folder = folder_with(&[("2026-11-19T10:00:00Z", "shop"), ("2026-11-20T10:00:00Z", "tickets"), ("2026-11-20T11:00:00Z", "shop")]);
    fs::create_dir(folder.path().join("not-a-run")).unwrap();
    let history = History::of(folder.path()).unwrap();
    assert_eq!(history.names(), ["2026-11-20T11-00-00-shop", "2026-11-20T10-00-00-tickets", "2026-11-19T10-00-00-shop"]);
    let path = folder.path().join("2026-11-20T10-00-00-tickets");
    for (asked, found) in [
        ("latest", "2026-11-20T11-00-00-shop"),
        ("latest~2", "2026-11-19T10-00-00-shop"),
        ("last", "2026-11-20T11-00-00-shop"),
        ("last~1", "2026-11-20T10-00-00-tickets"),
        ("nightly", "2026-11-20T11-00-00-shop"),
        ("2026-11-20T10", "2026-11-20T10-00-00-tickets"),
        ("2026-11-19", "2026-11-19T10-00-00-shop"),
        ("tickets", "2026-11-20T10-00-00-tickets"),
        ("2026-11-20T11-00-00-shop", "2026-11-20T11-00-00-shop"),
        (path.to_str().unwrap(), "2026-11-20T10-00-00-tickets"),
    ] {
        assert_eq!(history.find(asked).unwrap(), folder.path().join(found), "{asked}");
    }
    assert!(matches!(history.find("shop"), Err(RunError::Ambiguous { matches, .. }) if matches.len() == 2));
    let of_source = |commit: &str, branch: &str| RunInfo {
        started: format!("2026-11-18T0{}:00:00Z", branch.len()),
        commit: Some(commit.to_owned()),
        branch: Some(branch.to_owned()),
        tags: vec!["main".to_owned()],
        ..fixtures::info()
    };
    for info in
        [of_source("39dbcdc0123456789abcdef0123456789abcdef0", "feature"), of_source("c021bae0123456789abcdef0123456789abcdef0", "fix")]
    {
        Writer::create(folder.path(), info, &fixtures::plan("buy")).unwrap().finish(&RunEnd::Completed).unwrap();
    }
    let history = History::of(folder.path()).unwrap();
    for (asked, found) in [("feature", "07"), ("39dbcdc", "07"), ("C021BAE01", "03"), ("fix", "03"), ("main", "07")] {
        assert_eq!(history.find(asked).unwrap(), folder.path().join(format!("2026-11-18T{found}-00-00-buy")), "{asked}");
    }
    for asked in ["39dbcd", "feat", "latest~9", "nothing", "", "latest~x", "lasting", "night"] {
        assert!(matches!(history.find(asked), Err(RunError::NotFound { .. })), "{asked}");
    }
}

#[test]
fn entries_carry_end_and_summary_and_survive_a_broken_neighbour() {
    let folder = folder_with(&[("2026-11-19T10:00:00Z", "shop"), ("2026-11-20T10:00:00Z", "tickets")]);
    let history = History::of(folder.path()).unwrap();
    let shop = history.find("shop").unwrap();
    Writer::conclusion(&shop, files::SUMMARY, br#"{"schema": 1}"#).unwrap();
    fs::write(history.find("tickets").unwrap().join(files::RUN), "{").unwrap();
    let mut entries = history.entries();
    assert!(matches!(entries.next(), Some(Err(RunError::Corrupt { .. }))));
    let entry = entries.next().unwrap().unwrap();
    assert_eq!((entry.test.as_str(), entry.end, entry.summary), ("shop", Some(RunEnd::Completed), Some(serde_json::json!({"schema": 1}))));
    assert!(entries.next().is_none());
}

#[test]
fn a_folder_that_does_not_exist_has_no_runs() {
    let folder = tempfile::tempdir().unwrap();
    let history = History::of(&folder.path().join("runs")).unwrap();
    assert!(history.names().is_empty());
    assert!(history.find("latest").unwrap_err().to_string().contains("contains no runs"));
}

#[test]
fn notes_and_later_tags_belong_to_the_run_and_can_be_changed() {
    let folder = folder_with(&[("2026-11-19T10:00:00Z", "shop")]);
    let shop = History::of(folder.path()).unwrap().find("shop").unwrap();
    let seen = || {
        let reader = Reader::open(&shop).unwrap();
        (reader.note().map(str::to_owned), reader.info().tags.clone())
    };
    assert_eq!(seen(), (None, vec!["nightly".to_owned()]));
    let noted = Notes { note: Some("with 16 workers".to_owned()), tags: None };
    noted.write(&shop, &loadstone_plan::Secrets::default()).unwrap();
    assert_eq!(seen(), (noted.note.clone(), vec!["nightly".to_owned()]), "tags stay until others are given");
    let tagged = Notes { tags: Some(vec!["baseline".to_owned()]), ..Notes::read(&shop).unwrap() };
    tagged.write(&shop, &loadstone_plan::Secrets::default()).unwrap();
    assert_eq!(seen(), (noted.note, vec!["baseline".to_owned()]));
    let entry = History::entry(&shop).unwrap();
    assert_eq!((entry.note.as_deref(), entry.info.tags.as_slice()), (Some("with 16 workers"), &["baseline".to_owned()][..]));
    assert!(entry.written.is_some());
}

#[test]
fn only_a_run_of_the_folder_is_deleted_and_only_by_its_whole_name() {
    let folder = folder_with(&[("2026-11-19T10:00:00Z", "shop"), ("2026-11-20T10:00:00Z", "tickets")]);
    let aside = folder.path().join("not-a-run");
    fs::create_dir(&aside).unwrap();
    let mut history = History::of(folder.path()).unwrap();
    for name in ["latest", "shop", "not-a-run", "..", "", folder.path().to_str().unwrap()] {
        assert!(matches!(history.remove(name), Err(RunError::NotFound { .. })), "{name}");
    }
    history.remove("2026-11-19T10-00-00-shop").unwrap();
    assert_eq!(history.names(), ["2026-11-20T10-00-00-tickets"]);
    assert_eq!(History::of(folder.path()).unwrap().names(), ["2026-11-20T10-00-00-tickets"]);
    assert!(aside.is_dir());
}
