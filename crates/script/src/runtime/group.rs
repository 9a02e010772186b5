//! A group: several steps measured as one. Its time excludes declared pauses.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_metrics::{Nanos, Outcome, Phases, Sample, Tags};

use super::pausing::Pausing;

/// An open group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: Arc<str>,
    pub(crate) parent: Option<Rc<Group>>,
    pub(crate) tags: Tags,
    began: Nanos,
    failed: Cell<bool>,
    pausing: Cell<Pausing>,
}

impl Group {
    pub(crate) fn new(name: &str, parent: Option<Rc<Group>>, tags: Tags, began: Nanos) -> Rc<Self> {
        Rc::new(Self { name: name.into(), parent, tags, began, failed: Cell::default(), pausing: Cell::default() })
    }

    /// This group and those around it, innermost first.
    fn chain(innermost: Option<&Rc<Group>>) -> impl Iterator<Item = &Rc<Group>> {
        std::iter::successors(innermost, |group| group.parent.as_ref())
    }

    pub(crate) fn fail(innermost: Option<&Rc<Group>>) {
        Self::chain(innermost).for_each(|group| group.failed.set(true));
    }

    pub(crate) fn pause_began(innermost: Option<&Rc<Group>>, now: Nanos) {
        for group in Self::chain(innermost) {
            let mut pausing = group.pausing.get();
            // A late timer does not delay the group: its time continues when its steps do.
            pausing.began(now, Nanos::MAX);
            group.pausing.set(pausing);
        }
    }

    /// The script declared that the group failed.
    pub(crate) fn declare_failed(&self) {
        self.failed.set(true);
    }

    pub(crate) fn pause_ended(innermost: Option<&Rc<Group>>, now: Nanos) {
        for group in Self::chain(innermost) {
            let mut pausing = group.pausing.get();
            pausing.ended(now);
            group.pausing.set(pausing);
        }
    }

    /// The values to record when it ends. `passed`: its function did not throw.
    pub(crate) fn sample(&self, now: Nanos, ended: GroupEnd) -> Sample {
        let outcome = match ended {
            GroupEnd::Interrupted => Outcome::Interrupted,
            GroupEnd::Returned if !self.failed.get() => Outcome::Passed,
            GroupEnd::Returned => Outcome::Step,
            GroupEnd::Threw if self.failed.get() => Outcome::Step,
            GroupEnd::Threw => Outcome::Script,
        };
        Sample {
            scheduled: self.began,
            started: self.began,
            ended: now.saturating_sub(self.pausing.get().lasted_ns(now)).max(self.began),
            phases: Phases::default(),
            outcome,
            status: 0,
            bytes_sent: 0,
            bytes_received: 0,
            retried: 0,
            trace: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupEnd {
    Returned,
    Threw,
    Interrupted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_pauses_are_excluded_once() {
        let outer = Group::new("outer", None, Tags::default(), 100);
        let inner = Group::new("inner", Some(Rc::clone(&outer)), Tags::default(), 200);
        Group::pause_began(Some(&inner), 300);
        Group::pause_began(Some(&outer), 350);
        Group::pause_ended(Some(&inner), 400);
        Group::pause_ended(Some(&outer), 500);
        assert_eq!(inner.sample(600, GroupEnd::Returned).service_ns(), 400 - 100);
        assert_eq!(outer.sample(600, GroupEnd::Returned).service_ns(), 500 - 200);
    }

    #[test]
    fn a_failed_step_fails_all_groups_around_it() {
        let outer = Group::new("outer", None, Tags::default(), 0);
        let inner = Group::new("inner", Some(Rc::clone(&outer)), Tags::default(), 0);
        let sibling = Group::new("sibling", Some(Rc::clone(&outer)), Tags::default(), 0);
        Group::fail(Some(&inner));
        let outcome = |group: &Group| group.sample(1, GroupEnd::Returned).outcome;
        assert_eq!((outcome(&inner), outcome(&outer), outcome(&sibling)), (Outcome::Step, Outcome::Step, Outcome::Passed));
        assert_eq!(sibling.sample(1, GroupEnd::Interrupted).outcome, Outcome::Interrupted);
    }
}
