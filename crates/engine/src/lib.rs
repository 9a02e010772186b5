//! Makes load happen when it was asked for: arrivals, the user pool, one worker per core.
//!
//! Read [`VirtualUser`] and [`Crew`] first: they are all the engine knows of languages and protocols. Deliberately
//! absent: HTTP, scripts, files, verdicts.

mod user;

pub use user::{Arrival, Crew, Iteration, IterationEnd, VirtualUser};
