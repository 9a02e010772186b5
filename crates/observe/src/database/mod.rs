//! What the observers of databases share: sessions averaged over samples, statements without their values.
//!
//! Read [`sessions::SessionSamples`] first. Deliberately absent: any database's SQL, and what its wait events mean, which its own kind knows.

pub(crate) mod sessions;
pub(crate) mod statement;
pub(crate) mod totals;
