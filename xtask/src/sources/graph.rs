//! Files, which of them use each other, and circles among them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// File → the files it uses, each with one of the names it uses there.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct FileGraph {
    edges: BTreeMap<String, BTreeMap<String, String>>,
}

impl FileGraph {
    pub(crate) fn add(&mut self, from: &str, to: &str, what: &str) {
        if from != to {
            self.edges.entry(from.to_owned()).or_default().entry(to.to_owned()).or_insert_with(|| what.to_owned());
        }
    }

    /// Every edge: the file that uses, the file that is used, what is used.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.edges.iter().flat_map(|(from, to)| to.iter().map(move |(to, what)| (from.as_str(), to.as_str(), what.as_str())))
    }

    /// The graph without some edges.
    pub(crate) fn without(&self, dropped: impl Fn(&str, &str) -> bool) -> Self {
        let mut left = Self::default();
        for (from, to, what) in self.edges().filter(|(from, to, _)| !dropped(from, to)) {
            left.add(from, to, what);
        }
        left
    }

    /// Circles that share no edge, the shortest first, until none is left. Each begins with its first file by name.
    pub(crate) fn circles(&self) -> Vec<Vec<String>> {
        let (mut left, mut circles) = (self.clone(), Vec::new());
        while let Some(circle) = left.shortest_circle() {
            for (from, to) in circle.iter().zip(circle.iter().cycle().skip(1)) {
                left.edges.get_mut(from).map(|edges| edges.remove(to));
            }
            circles.push(circle);
        }
        circles
    }

    /// Whether one file uses another, directly or through others.
    pub(crate) fn reaches(&self, from: &str, to: &str) -> bool {
        self.shortest_path(from, to).is_some()
    }

    /// `a.rs → b.rs (Name) → a.rs (other::name)`: after each file, the used name in parentheses.
    pub(crate) fn describe(&self, circle: &[String]) -> String {
        let mut text = circle.first().cloned().unwrap_or_default();
        for (from, to) in circle.iter().zip(circle.iter().cycle().skip(1)) {
            let what = self.edges.get(from).and_then(|edges| edges.get(to)).map_or("", String::as_str);
            text += &format!(" → {to} ({what})");
        }
        text
    }

    fn shortest_circle(&self) -> Option<Vec<String>> {
        let circles = self.edges.keys().filter_map(|file| self.shortest_path(file, file));
        circles.min_by_key(Vec::len)
    }

    /// The files from `from` to before `to`, over at least one edge.
    fn shortest_path(&self, from: &str, to: &str) -> Option<Vec<String>> {
        let (mut queue, mut seen) = (VecDeque::from([vec![from]]), BTreeSet::new());
        while let Some(path) = queue.pop_front() {
            let next = self.edges.get(*path.last()?).into_iter().flat_map(BTreeMap::keys);
            for file in next {
                if file == to {
                    return Some(path.into_iter().map(str::to_owned).collect());
                }
                if seen.insert(file) {
                    queue.push_back(path.iter().copied().chain([file.as_str()]).collect());
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> FileGraph {
        let mut graph = FileGraph::default();
        edges.iter().for_each(|(from, to)| graph.add(from, to, "x"));
        graph
    }

    #[test]
    fn circles_of_two_and_of_three_are_found() {
        assert_eq!(graph(&[("a", "b"), ("b", "c"), ("a", "c")]).circles(), Vec::<Vec<String>>::new());
        assert_eq!(graph(&[("b", "a"), ("a", "b"), ("c", "a")]).circles(), [["a", "b"]]);
        assert_eq!(graph(&[("a", "b"), ("b", "c"), ("c", "a")]).circles(), [["a", "b", "c"]]);
    }

    #[test]
    fn circles_that_share_no_edge_are_all_reported() {
        let circles = graph(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "b")]).circles();
        assert_eq!(circles, [vec!["a", "b"], vec!["b", "c", "d"]]);
    }

    #[test]
    fn a_circle_is_described_with_what_is_used() {
        let mut graph = FileGraph::default();
        graph.add("a", "b", "Pool");
        graph.add("b", "a", "client::connect");
        assert_eq!(graph.describe(&graph.circles()[0]), "a → b (Pool) → a (client::connect)");
        assert!(graph.without(|from, _| from == "b").circles().is_empty());
        assert!(graph.reaches("a", "a") && !graph.reaches("a", "c"));
    }
}
