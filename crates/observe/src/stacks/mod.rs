//! Shared by the observers of runtimes: threads by wait and position, and CPU time by function, averaged over samples.
//!
//! Read [`position::Position`] first: the frames between the system's own code and its callees identify the position of a stack. Deliberately absent: how
//! a runtime provides its stacks, and which frames belong to libraries, which each kind knows.

pub(crate) mod functions;
pub(crate) mod position;
pub(crate) mod threads;
