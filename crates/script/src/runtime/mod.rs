//! What runs users: their state, the operations their scripts await, and the driver that keeps these going.
//!
//! Read `operation` (what a script awaits), `promise` (the usual way to make one), `driver` (the loop), then `user`, `realm` and `worker`
//! (the state of each) and `capability` (what a protocol tells the runtime of itself). Deliberately absent: every protocol, and what
//! the user object offers: those stand above and are handed in as capabilities.

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
pub(crate) mod scenario;
pub(crate) mod step;
pub(crate) mod user;
pub(crate) mod verb;
pub(crate) mod worker;
