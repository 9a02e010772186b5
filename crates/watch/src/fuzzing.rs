//! The function that the fuzz target `proxied` calls.
//!
//! Behind the feature `fuzzing` and in this crate's own tests, so that the proxy's parser is no part of the crate's public API.

#[cfg(test)]
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

pub use crate::proxy::fuzzing::proxied;

#[cfg(test)]
#[test]
fn damaged_connections_pass_through_the_proxy_unchanged() {
    damaged::damaged("proxied", proxied);
}
