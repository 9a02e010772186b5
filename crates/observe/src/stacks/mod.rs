//! What the observers of runtimes share: threads by what they wait for and where, CPU time by function, averaged over samples.
//!
//! Read [`position::Position`] first: the frames between the system's own code and its callees identify the position of a stack. Deliberately absent: how
//! any runtime is asked for its stacks, and which of its frames are whose, which its own kind knows.

pub(crate) mod functions;
pub(crate) mod position;
pub(crate) mod threads;
