//! Progress through the load tree: which leaves begin when others have ended.

use loadstone_plan::Load;

#[derive(Debug)]
enum NodeKind {
    Sequence,
    Parallel,
    Leaf(u32),
}

#[derive(Debug)]
struct LoadNode {
    kind: NodeKind,
    parent: Option<usize>,
    children: Vec<usize>,
    /// Sequence: the next child to begin. Parallel: the number of children that have ended.
    progress: usize,
}

/// The tree as a list of nodes, and the progress of each.
#[derive(Debug)]
pub(crate) struct LoadTree {
    nodes: Vec<LoadNode>,
    stopped: bool,
}

impl LoadTree {
    pub(crate) fn new(load: &Load) -> Self {
        let mut tree = Self { nodes: Vec::new(), stopped: false };
        let mut leaves = 0;
        tree.add(load, None, &mut leaves);
        tree
    }

    fn add(&mut self, load: &Load, parent: Option<usize>, leaves: &mut u32) -> usize {
        let index = self.nodes.len();
        let (kind, parts): (NodeKind, &[Load]) = match load {
            Load::Sequence(parts) => (NodeKind::Sequence, parts),
            Load::Parallel(parts) => (NodeKind::Parallel, parts),
            Load::Run(_) => {
                *leaves += 1;
                (NodeKind::Leaf(*leaves - 1), &[])
            }
        };
        self.nodes.push(LoadNode { kind, parent, children: Vec::new(), progress: 0 });
        self.nodes[index].children = parts.iter().map(|part| self.add(part, Some(index), leaves)).collect();
        index
    }

    /// Returns the leaves that begin first.
    pub(crate) fn begin(&mut self) -> Vec<u32> {
        let mut begun = Vec::new();
        self.enter(0, &mut begun);
        begun
    }

    /// Returns the leaves that begin because `leaf` has ended.
    pub(crate) fn ended(&mut self, leaf: u32) -> Vec<u32> {
        let mut begun = Vec::new();
        if let Some(index) = self.nodes.iter().position(|node| matches!(node.kind, NodeKind::Leaf(number) if number == leaf)) {
            self.leave(index, &mut begun);
        }
        begun
    }

    /// Lets no further leaf begin.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    fn enter(&mut self, index: usize, begun: &mut Vec<u32>) {
        if self.stopped {
            return;
        }
        match self.nodes[index].kind {
            NodeKind::Leaf(leaf) => begun.push(leaf),
            NodeKind::Sequence => match self.nodes[index].children.first().copied() {
                Some(first) => {
                    self.nodes[index].progress = 1;
                    self.enter(first, begun);
                }
                None => self.leave(index, begun),
            },
            NodeKind::Parallel => {
                let children = self.nodes[index].children.clone();
                if children.is_empty() {
                    self.leave(index, begun);
                }
                for child in children {
                    self.enter(child, begun);
                }
            }
        }
    }

    fn leave(&mut self, index: usize, begun: &mut Vec<u32>) {
        let Some(parent) = self.nodes[index].parent else { return };
        let node = &mut self.nodes[parent];
        match node.kind {
            NodeKind::Sequence => match node.children.get(node.progress).copied() {
                Some(next) => {
                    node.progress += 1;
                    self.enter(next, begun);
                }
                None => self.leave(parent, begun),
            },
            NodeKind::Parallel => {
                node.progress += 1;
                if node.progress == node.children.len() {
                    self.leave(parent, begun);
                }
            }
            NodeKind::Leaf(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_plan::{LoadProfile, ScenarioId, ScenarioRun};

    fn leaf() -> Load {
        let profile = LoadProfile::burst(1);
        Load::Run(ScenarioRun::new(ScenarioId(0), profile))
    }

    #[test]
    fn set_up_traffic_tear_down() {
        let traffic = Load::Parallel(vec![leaf(), Load::Sequence(vec![leaf(), leaf()])]);
        let mut tree = LoadTree::new(&Load::Sequence(vec![leaf(), traffic, Load::Parallel(vec![]), leaf()]));
        assert_eq!(tree.begin(), vec![0]);
        assert_eq!(tree.ended(0), vec![1, 2]);
        assert_eq!(tree.ended(2), vec![3]);
        assert_eq!(tree.ended(1), Vec::<u32>::new());
        assert_eq!(tree.ended(3), vec![4]);
        assert_eq!(tree.ended(4), Vec::<u32>::new());
    }

    #[test]
    fn nothing_begins_after_a_stop() {
        let mut tree = LoadTree::new(&Load::Sequence(vec![leaf(), leaf()]));
        assert_eq!(tree.begin(), vec![0]);
        tree.stop();
        assert_eq!(tree.ended(0), Vec::<u32>::new());
    }
}
