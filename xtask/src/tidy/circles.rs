//! No circle between files: to understand one of them, a reader would have to read all of them.

use super::exceptions::{ExceptionRule, Exceptions};
use crate::sources::graph::FileGraph;

/// A complaint for each circle. If the exceptions list a parent, the files below it may use it.
pub(super) fn complaints(graph: &FileGraph, exceptions: &Exceptions) -> Vec<String> {
    let is_allowed = |from: &str, to: &str| is_below(from, to) && graph.reaches(to, from) && exceptions.allow(ExceptionRule::Circle, to);
    let left = graph.without(is_allowed);
    let circles = left.circles();
    circles.iter().map(|circle| format!("{}: {}", kind(circle), left.describe(circle))).collect()
}

/// A circle between a parent and its children may have a reason; a circle between siblings never has.
fn kind(circle: &[String]) -> &'static str {
    let is_parent = |file: &String| circle.iter().all(|other| file == other || is_below(other, file));
    if circle.iter().any(is_parent) { "circle with a parent" } else { "circle" }
}

/// Whether a file's module is below that of another: `a/b.rs` and `a/b/c.rs` below `a/mod.rs`, `a.rs` and, in a root, `lib.rs`.
fn is_below(file: &str, parent: &str) -> bool {
    let (folder, name) = parent.rsplit_once('/').unwrap_or(("", parent));
    let below = match name {
        "mod.rs" | "lib.rs" | "main.rs" => format!("{folder}/"),
        _ => match parent.strip_suffix(".rs") {
            Some(stem) => format!("{stem}/"),
            None => return false,
        },
    };
    file != parent && file.starts_with(&below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(edges: &[(&str, &str)], exceptions: &str) -> (Vec<String>, Vec<String>) {
        let mut graph = FileGraph::default();
        edges.iter().for_each(|(from, to)| graph.add(from, to, "Name"));
        let exceptions = Exceptions::parse(exceptions).unwrap();
        (complaints(&graph, &exceptions), exceptions.stale())
    }

    #[test]
    fn a_circle_among_equals_has_no_exception() {
        let (complaints, stale) = found(&[("s/a.rs", "s/b.rs"), ("s/b.rs", "s/a.rs")], "circle s/a.rs  no\n");
        assert_eq!(complaints, ["circle: s/a.rs → s/b.rs (Name) → s/a.rs (Name)"]);
        assert_eq!(stale.len(), 1);
    }

    #[test]
    fn a_parent_and_its_children_may_have_a_reason() {
        let edges = [("s/a/mod.rs", "s/a/b.rs"), ("s/a/b.rs", "s/a/mod.rs"), ("s/a/b/c.rs", "s/a/mod.rs"), ("s/a/b.rs", "s/a/b/c.rs")];
        let (complaints, _) = found(&edges, "");
        assert!(complaints[0].starts_with("circle with a parent: s/a/b.rs → s/a/mod.rs"), "{complaints:?}");
        assert_eq!(found(&edges, "circle s/a/mod.rs  it only wires\n"), (vec![], vec![]));
        // A child that uses its parent is not a circle by itself, and needs no exception.
        assert_eq!(found(&edges[1..3], "circle s/a/mod.rs  it only wires\n").1.len(), 1);
    }

    #[test]
    fn both_ways_to_name_a_parent_are_known() {
        assert!(is_below("s/a/b.rs", "s/a.rs") && is_below("s/a/b.rs", "s/a/mod.rs") && is_below("s/a/b.rs", "s/lib.rs"));
        assert!(!is_below("s/ab.rs", "s/a.rs") && !is_below("s/a.rs", "s/a.rs") && !is_below("s/a.rs", "s/a/b.rs"));
    }
}
