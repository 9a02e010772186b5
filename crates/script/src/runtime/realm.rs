//! A realm of a worker, and what capabilities keep in it.

use std::cell::Cell;

use super::parts::StateParts;
use crate::realm::Realm;

/// A realm of this worker, and how many users it has.
pub(crate) struct RealmState {
    /// What capabilities keep. Before the realm: it may hold values of it.
    pub(crate) parts: StateParts,
    pub(crate) realm: Realm,
    pub(crate) users: Cell<usize>,
}
