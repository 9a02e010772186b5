//! `loadstone doctor` on this machine.

use serde_json::Value;

use crate::harness::Folder;

#[test]
fn each_line_has_a_value_its_meaning_and_a_remedy() {
    let folder = Folder::new();
    let ended = folder.run(&["doctor", "http://localhost/", "--users", "4000000000", "--json"]).code(4);
    let lines: Vec<Value> = serde_json::from_str(&ended.stdout).unwrap();
    let line = |name: &str| lines.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("{name}\n{}", ended.everything()));
    // A port range has fewer than 65,536 ports on any machine.
    assert_eq!(line("ports")["grade"], "too_little", "{}", ended.everything());
    assert!(line("ports")["raise"].as_str().unwrap().contains("ip_local_port_range"), "{}", ended.everything());
    assert!(line("names")["means"].as_str().unwrap().starts_with("localhost has "), "{}", ended.everything());
    assert!(lines.iter().all(|line| line["grade"] == "good" || line["raise"].is_string()), "{}", ended.everything());
    folder.run(&["doctor"]).code(0).says("descriptors").says("cores");
    folder.run(&["doctor", "--rate", "fast"]).code(2).says("--rate");
}
