//! State of capabilities, found by its type.

use std::any::{Any, TypeId, type_name};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// State of capabilities for a scenario or a realm. It is filled when that opens, and constant from then on.
#[derive(Default)]
pub(crate) struct StateParts(Vec<Box<dyn Any>>);

impl StateParts {
    pub(crate) fn insert<T: Any>(&mut self, part: T) {
        self.0.push(Box::new(part));
    }

    /// The part of this type.
    ///
    /// # Panics
    /// No capability has added one. The calling capability should have.
    pub(crate) fn get<T: Any>(&self) -> &T {
        match self.0.iter().find_map(|part| part.downcast_ref()) {
            Some(part) => part,
            None => panic!("no capability has opened {}", type_name::<T>()),
        }
    }
}

/// Runs until all connections that began to close are closed.
pub(crate) type ClosingWork = Pin<Box<dyn Future<Output = ()>>>;

/// What a user keeps from one iteration to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeptState {
    pub(crate) connections: bool,
    pub(crate) cookies: bool,
    pub(crate) state: bool,
}

/// State of a capability for one user, usually its connections. Must not hold the user.
pub(crate) trait UserPart: Any {
    /// A new iteration begins.
    fn iteration_began(&self, _: KeptState) {}

    /// The iteration has returned. It ends once the returned work has ended, which closes the rest in an orderly way.
    fn iteration_returned(&self, _: KeptState) -> Option<ClosingWork> {
        None
    }

    /// The iteration was interrupted, or the user ends: closes everything without waiting.
    fn abandon(&self) {}
}

/// The parts of one user. Each is created on first use, so that an unused protocol costs nothing.
#[derive(Default)]
pub(crate) struct UserParts(RefCell<Vec<Rc<dyn UserPart>>>);

impl UserParts {
    pub(crate) fn get_or<T: UserPart>(&self, make: impl FnOnce() -> T) -> Rc<T> {
        let is_wanted = |part: &&Rc<dyn UserPart>| (***part).type_id() == TypeId::of::<T>();
        let found: Option<Rc<dyn Any>> = self.0.borrow().iter().find(is_wanted).map(|part| Rc::clone(part) as _);
        if let Some(Ok(part)) = found.map(Rc::downcast) {
            return part;
        }
        let created = Rc::new(make());
        self.0.borrow_mut().push(Rc::clone(&created) as _);
        created
    }

    pub(super) fn iteration_began(&self, kept: KeptState) {
        self.0.borrow().iter().for_each(|part| part.iteration_began(kept));
    }

    pub(super) fn iteration_returned(&self, kept: KeptState) -> Vec<ClosingWork> {
        self.0.borrow().iter().filter_map(|part| part.iteration_returned(kept)).collect()
    }

    pub(super) fn abandon(&self) {
        self.0.borrow().iter().for_each(|part| part.abandon());
    }
}
