//! The only clock reader in this crate.

/// The monotonic clock in nanoseconds. The generator's clock uses the same time line, so both sides of a test can be compared.
pub use loadstone_platform::clock::monotonic_ns as now_ns;
