//! docs/observers.md says of every kind of observer what the kind itself says.

use std::path::Path;

const BEGIN: &str = "<!-- generated from crates/observe/src/kinds: UPDATE_DOCS=1 cargo test -p loadstone-observe page -->\n\n";
const END: &str = "\n<!-- end of what is generated -->\n";

#[test]
fn the_page_shows_every_kind_and_its_options() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/observers.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the mark where the tables begin");
    let (tables, after) = rest.split_once(END).expect("the mark where they end");
    let wanted = loadstone_observe::reference();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
        return;
    }
    assert!(tables == wanted, "docs/observers.md would change: UPDATE_DOCS=1 cargo test -p loadstone-observe page, and commit it");
}
