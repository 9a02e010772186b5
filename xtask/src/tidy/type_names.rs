//! One name, one type: a search for a name finds one definition.

use std::collections::BTreeMap;

use super::exceptions::{ExceptionRule, Exceptions};
use crate::sources::module_tree::ModuleTree;

/// A complaint for each name that is defined in more than one module of all crates, without tests.
pub(super) fn complaints<'a>(trees: impl Iterator<Item = &'a ModuleTree>, exceptions: &Exceptions) -> Vec<String> {
    let mut homes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for module in trees.flat_map(|tree| &tree.modules).filter(|module| !module.is_test) {
        for name in &module.types {
            homes.entry(name).or_default().push(&module.file);
        }
    }
    let repeated = homes.into_iter().filter(|(name, files)| files.len() > 1 && !exceptions.allow(ExceptionRule::TypeName, name));
    repeated.map(|(name, files)| format!("name: {name} is {} types: {}", files.len(), files.join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_be_defined_once_in_all_crates() {
        let tree = |root: &str, text: &'static str| ModuleTree::read(root, &|_| Some(text.to_owned())).unwrap();
        let engine =
            tree("engine/lib.rs", "struct Worker; struct Line; mod inner { enum Line {} } #[cfg(test)] mod tests { struct Worker; }");
        let report = tree("report/lib.rs", "type Worker = u8; struct Page; fn worker() {}");
        let exceptions = Exceptions::parse("name Worker  the same idea\n").unwrap();
        let found = complaints([&engine, &report].into_iter(), &exceptions);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("name: Line is 2 types: engine/lib.rs, engine/lib.rs"), "{found:?}");
        assert!(exceptions.stale().is_empty());
    }
}
