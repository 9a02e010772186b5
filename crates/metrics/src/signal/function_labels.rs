//! The labels of signals with the role [`FunctionCpu`](super::Role::FunctionCpu): `function`, and in `under` the functions of the system's own
//! code that called it. Observers write them, rules and exports read them.

/// The value of `function` for the time in garbage collection.
pub const COLLECTOR: &str = "garbage collector";
/// The value of `function` for many functions together, each with little time.
pub const OTHER: &str = "(other)";

/// The value of `function` for the time that a process spends in the kernel.
pub const KERNEL: &str = "(kernel)";
/// How the value of `function` begins where a program has no name for it.
pub const UNKNOWN: &str = "(unknown";

/// How the value of `function` begins for a thread of the runtime itself, such as its compiler or collector.
pub const RUNTIME_THREAD: &str = "(thread ";

const CALLED_BY: &str = " ← ";

/// The value of `under`: the callers, innermost first.
pub fn under(callers: &[&str]) -> String {
    callers.join(CALLED_BY)
}

/// The callers in a value of `under`, innermost first.
pub fn callers(under: &str) -> impl Iterator<Item = &str> {
    under.split(CALLED_BY).filter(|caller| !caller.is_empty())
}

/// Whether the value of `function` names one that somebody can change.
pub fn is_named(function: &str) -> bool {
    function != OTHER && function != KERNEL && !function.starts_with(UNKNOWN) && !function.starts_with(RUNTIME_THREAD)
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_has_no_name_is_no_function() {
        for nameless in [super::OTHER, super::KERNEL, "(unknown)", "(unknown in php-fpm8.2)", "(thread G1 Refine)"] {
            assert!(!super::is_named(nameless), "{nameless}");
        }
        assert!(super::is_named("hash shop.mjs:3") && super::is_named(super::COLLECTOR) && super::is_named("(anonymous) shop.mjs:9"));
    }

    #[test]
    fn callers_are_read_as_they_were_written() {
        for callers in [&[][..], &["login a.mjs:9"], &["login a.mjs:9", "handle a.mjs:20"]] {
            assert_eq!(super::callers(&super::under(callers)).collect::<Vec<_>>(), callers);
        }
    }
}
