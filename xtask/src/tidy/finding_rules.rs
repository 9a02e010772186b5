//! Finding rules use facts, never each other, so that each rule can be read, changed and removed separately.

use crate::sources::graph::FileGraph;

const RULES: &str = "crates/analysis/src/findings/";
const FACTS: &str = "crates/analysis/src/facts/";
/// Files in the folder of rules that every rule may use: how a finding is written, ranked and weighed against others.
const SHARED: &[&str] = &[
    "ranked",
    "alternative",
    "looked_at",
    "load_shape",
    "next_limit",
    "acquiring",
    "added_time",
    "growing_level",
    "load_target",
    "transactions",
    "users_time",
];

/// A complaint for each edge from a rule, or a fact, to a rule.
pub(super) fn complaints(graph: &FileGraph) -> Vec<String> {
    let wrong = graph.edges().filter(|(from, to, _)| match (rule_of(from), rule_of(to)) {
        (_, None | Some("mod")) => false,
        // The table of rules.
        (Some("mod"), _) => false,
        (Some(own), Some(other)) => own != other && !SHARED.contains(&other),
        (None, Some(_)) => from.starts_with(FACTS),
    });
    wrong.map(|(from, to, what)| format!("finding rule: {from} uses {what} of the rule {to}; make it a fact in {FACTS}")).collect()
}

/// `pool` of `…/findings/pool.rs` and of `…/findings/pool/words.rs`.
fn rule_of(file: &str) -> Option<&str> {
    let rest = file.strip_prefix(RULES)?;
    Some(rest.split('/').next()?.trim_end_matches(".rs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_may_use_facts_and_shared_files_only() {
        let mut graph = FileGraph::default();
        let rules = |file: &str| format!("{RULES}{file}");
        for (from, to) in [("pool.rs", "ranked.rs"), ("pool/words.rs", "pool.rs"), ("mod.rs", "pool.rs"), ("order.rs", "mod.rs")] {
            graph.add(&rules(from), &rules(to), "A");
        }
        graph.add(&rules("pool.rs"), &format!("{FACTS}ceiling.rs"), "Ceiling");
        assert!(complaints(&graph).is_empty());
        graph.add(&rules("pool.rs"), &rules("database.rs"), "locks");
        graph.add(&format!("{FACTS}ceiling.rs"), &rules("queue.rs"), "Queue");
        let found = complaints(&graph);
        assert_eq!(found.len(), 2);
        assert!(found[1].contains("findings/pool.rs uses locks of the rule crates/analysis/src/findings/database.rs"), "{found:?}");
    }
}
