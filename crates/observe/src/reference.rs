//! The tables of docs/observers.md, generated from the kinds. A test compares the page with them.

use crate::kind::MacSupport;
use crate::kinds::KINDS;
use crate::option::EVERY_OBSERVER;

/// A kind of observer, as a reader chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindDescription {
    /// Scripts say `observe.NAME(…)`.
    pub name: &'static str,
    /// The part of a system that it observes.
    pub watches: &'static str,
    pub example: &'static str,
    /// Its most important signals, as Markdown.
    pub reports: &'static str,
}

/// All kinds, in the order of the documentation.
pub fn described_kinds() -> impl Iterator<Item = KindDescription> {
    let described = |kind: &'static crate::kind::ObserverKind| KindDescription {
        name: kind.name,
        watches: kind.watches,
        example: kind.example,
        reports: kind.reports,
    };
    KINDS.iter().map(described)
}

/// All kinds with an example and their main signals, then their options, as Markdown.
pub fn reference() -> String {
    let mut page = "| part of the system | observer | main signals |\n|---|---|---|\n".to_owned();
    for kind in KINDS {
        page += &format!("| {} | `{}`{} | {} |\n", kind.watches, kind.example, kind.alternatives, kind.reports);
    }
    page += "\nOn macOS:\n\n| observer | there |\n|---|---|\n";
    for kind in KINDS {
        match kind.on_macos {
            MacSupport::Full => {}
            MacSupport::Partial(part) => page += &format!("| `{}` | {part} |\n", kind.name),
            MacSupport::Refused(why) => page += &format!("| `{}` | refused: {why} |\n", kind.name),
        }
    }
    page += "\n| observer | option | takes; by default | |\n|---|---|---|---|\n";
    let all = EVERY_OBSERVER.iter().map(|option| ("all", option));
    let own = KINDS.iter().flat_map(|kind| kind.options.iter().map(|option| (kind.name, option)));
    for (kind, option) in all.chain(own) {
        page += &format!("| {kind} | `{}` | {} | {} |\n", option.name, option.takes, option.help);
    }
    page
}
