//! Counts of checks by group, in the order in which they first ran.

use std::collections::HashMap;

use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct CountedCheck {
    group: String,
    name: String,
    passes: u64,
    fails: u64,
}

/// Groups by path (`::outer::inner`) and their checks.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(crate) struct StepCounts {
    groups: Vec<String>,
    checks: Vec<CountedCheck>,
    /// Index of each check by its path. Empty in counts from another machine, which are only merged into others.
    #[serde(skip)]
    known: HashMap<String, usize>,
}

impl StepCounts {
    pub(crate) fn enter(&mut self, path: &str) {
        if path.is_empty() || self.groups.iter().any(|known| known == path) {
            return;
        }
        if let Some((parent, _)) = path.rsplit_once("::") {
            self.enter(parent);
        }
        self.groups.push(path.to_owned());
    }

    pub(crate) fn check(&mut self, group: &str, name: &str, passed: bool) {
        self.add(group, name, u64::from(passed), u64::from(!passed));
    }

    fn add(&mut self, group: &str, name: &str, passes: u64, fails: u64) {
        let path = format!("{group}::{name}");
        let index = match self.known.get(&path) {
            Some(index) => *index,
            None => {
                self.enter(group);
                self.checks.push(CountedCheck { group: group.to_owned(), name: name.to_owned(), passes: 0, fails: 0 });
                self.known.insert(path, self.checks.len() - 1);
                self.checks.len() - 1
            }
        };
        let check = &mut self.checks[index];
        check.passes += passes;
        check.fails += fails;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.checks.is_empty()
    }

    pub(crate) fn merge(&mut self, other: &StepCounts) {
        other.groups.iter().for_each(|path| self.enter(path));
        other.checks.iter().for_each(|check| self.add(&check.group, &check.name, check.passes, check.fails));
    }

    /// k6's `root_group`.
    pub(crate) fn tree(&self) -> Value {
        self.group("")
    }

    fn group(&self, path: &str) -> Value {
        let inner = |candidate: &&String| candidate.rsplit_once("::").is_some_and(|(parent, _)| parent == path);
        let check = |check: &CountedCheck| {
            let path = format!("{path}::{}", check.name);
            json!({ "name": check.name, "path": path, "id": id(&path), "passes": check.passes, "fails": check.fails })
        };
        json!({
            "name": path.rsplit_once("::").map_or("", |(_, name)| name),
            "path": path,
            "id": id(path),
            "groups": self.groups.iter().filter(inner).map(|path| self.group(path)).collect::<Vec<_>>(),
            "checks": self.checks.iter().filter(|check| check.group == path).map(check).collect::<Vec<_>>(),
        })
    }
}

/// k6 identifies groups and checks by the MD5 digest of their path.
fn id(path: &str) -> String {
    Md5::digest(path.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_and_its_ids_are_those_of_k6() {
        let mut counts = StepCounts::default();
        counts.check("::outer", "one", true);
        counts.check("::outer::inner", "two", false);
        let mut other = StepCounts::default();
        other.check("", "top", true);
        other.check("::outer", "one", true);
        counts.merge(&other);
        let tree = counts.tree();
        // Ids of a run of k6 1.4.2.
        assert_eq!(tree["id"], "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(tree["checks"][0]["id"], "0384334781effa9218e13817f86f11a3");
        let outer = &tree["groups"][0];
        assert_eq!((&outer["path"], &outer["id"]), (&json!("::outer"), &json!("c34b428ee7255085dfe7fef53d3394d5")));
        assert_eq!((&outer["checks"][0]["passes"], &outer["checks"][0]["id"]), (&json!(2), &json!("f06919b91bbf4683d175f09f6afae1e1")));
        let inner = &outer["groups"][0];
        assert_eq!((&inner["name"], &inner["checks"][0]["fails"]), (&json!("inner"), &json!(1)));
        assert_eq!(inner["checks"][0]["id"], "2798252c631209445a91b8aac6c2af0a");
    }
}
