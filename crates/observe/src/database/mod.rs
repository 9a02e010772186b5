//! What the observers of databases share: sessions averaged over samples, statements without their values.
//!
//! Read [`sessions::SessionSamples`] first. Deliberately absent: SQL and the meaning of wait events, which belong to each database's kind.

pub(crate) mod sessions;
pub(crate) mod statement;
pub(crate) mod totals;
