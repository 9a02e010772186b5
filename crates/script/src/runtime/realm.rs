//! A realm of a worker, with the state of capabilities in it.

use std::cell::Cell;

use super::parts::StateParts;
use crate::realm::Realm;

/// A realm of this worker, with its number of users.
pub(crate) struct RealmState {
    /// State of capabilities. Before the realm, since it may contain values of it.
    pub(crate) parts: StateParts,
    pub(crate) realm: Realm,
    pub(crate) users: Cell<usize>,
}
