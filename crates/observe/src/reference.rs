//! The tables of docs/observers.md, generated from the kinds. A test compares the page with them.

use crate::kinds::KINDS;
use crate::option::EVERY_OBSERVER;

/// All kinds with an example and their main signals, then their options, as Markdown.
pub fn reference() -> String {
    let mut page = "| part of the system | observer | main signals |\n|---|---|---|\n".to_owned();
    for kind in KINDS {
        page += &format!("| {} | `{}`{} | {} |\n", kind.watches, kind.example, kind.alternatives, kind.reports);
    }
    page += "\n| observer | option | takes; by default | |\n|---|---|---|---|\n";
    let all = EVERY_OBSERVER.iter().map(|option| ("all", option));
    let own = KINDS.iter().flat_map(|kind| kind.options.iter().map(|option| (kind.name, option)));
    for (kind, option) in all.chain(own) {
        page += &format!("| {kind} | `{}` | {} | {} |\n", option.name, option.takes, option.help);
    }
    page
}
