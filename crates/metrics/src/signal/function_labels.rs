//! The labels of signals with the role [`FunctionCpu`](super::Role::FunctionCpu): `function`, and in `under` the functions of the system's own
//! code that called it. Observers write them, rules and exports read them.

/// The value of `function` for the time in garbage collection.
pub const COLLECTOR: &str = "garbage collector";
/// The value of `function` for many functions together, each with little time.
pub const OTHER: &str = "(other)";

const CALLED_BY: &str = " ← ";

/// The value of `under`: the callers, innermost first.
pub fn under(callers: &[&str]) -> String {
    callers.join(CALLED_BY)
}

/// The callers in a value of `under`, innermost first.
pub fn callers(under: &str) -> impl Iterator<Item = &str> {
    under.split(CALLED_BY).filter(|caller| !caller.is_empty())
}

#[cfg(test)]
mod tests {
    #[test]
    fn callers_are_read_as_they_were_written() {
        for callers in [&[][..], &["login a.mjs:9"], &["login a.mjs:9", "handle a.mjs:20"]] {
            assert_eq!(super::callers(&super::under(callers)).collect::<Vec<_>>(), callers);
        }
    }
}
