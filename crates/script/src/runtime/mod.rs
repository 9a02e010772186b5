//! The runtime of users: their state, the operations that their scripts await, and the driver that polls these.
//!
//! Read `operation` (what a script awaits), `promise` (the usual implementation), `driver` (the loop), then `user`, `realm` and `worker`
//! (the state of each) and `capability` (the interface of a protocol). Deliberately absent: every protocol, and the verbs of the user
//! object. They are in the layers above, which pass them in as capabilities.

pub(crate) mod capability;
pub(crate) mod driver;
pub(crate) mod group;
pub(crate) mod home;
pub(crate) mod object;
pub(crate) mod operation;
pub(crate) mod owner;
pub(crate) mod parts;
mod pausing;
pub(crate) mod promise;
pub(crate) mod realm;
pub(crate) mod refusal;
pub(crate) mod scenario;
pub(crate) mod step;
pub(crate) mod user;
pub(crate) mod verb;
pub(crate) mod worker;
