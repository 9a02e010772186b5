//! Whole small runs against a stub server, seen through their subscribers.

mod events;
mod made;
mod requests;
