//! A source file that no other file includes is neither compiled nor tested.

use std::collections::BTreeSet;

use super::exceptions::{ExceptionRule, Exceptions};

/// Complaints about files that neither the compiler nor the page reaches.
pub(super) fn complaints<'a>(files: impl Iterator<Item = &'a str>, reached: &BTreeSet<String>, exceptions: &Exceptions) -> Vec<String> {
    let unused = files.filter(|file| !reached.contains(*file) && !exceptions.allow(ExceptionRule::UnusedFile, file));
    unused.map(|file| format!("file: no other file includes {file}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_nothing_includes_is_named() {
        let reached = BTreeSet::from(["a.rs".to_owned()]);
        let exceptions = Exceptions::parse("file c.rs  read by a test\n").unwrap();
        let found = complaints(["a.rs", "b.rs", "c.rs"].into_iter(), &reached, &exceptions);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("file: no other file includes b.rs"));
    }
}
