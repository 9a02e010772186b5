//! The position of a stack: the library call, and the function of the system's own code that called it.

use loadstone_metrics::function_labels::{COLLECTOR, under};

use crate::collector::label;

/// Functions of the service's code that a position names, innermost first.
const OWN_MAX: usize = 2;
/// Maximum length of each half of a position. Characters.
const LENGTH_MAX: usize = 110;

/// How the names of functions begin in which runtimes collect garbage: Go (runtime/mgc.go), CPython (Python/gc.c), Ruby (gc.c), PHP (Zend/zend_gc.c) and
/// Erlang (erl_gc.c). Whatever they call is part of the collection, which would otherwise be spread over many functions of the runtime.
const COLLECTORS: [&str; 14] = [
    "runtime.gcBgMarkWorker",
    "runtime.gcAssistAlloc",
    "runtime.gcStart",
    "runtime.gcMarkDone",
    "runtime.gcMarkTermination",
    "runtime.deductSweepCredit",
    "runtime.bgsweep",
    "runtime.bgscavenge",
    "gc_collect_main",
    "gc_start",
    "gc_marks",
    "gc_sweep",
    "zend_gc_collect_cycles",
    "erts_garbage_collect",
];

/// One frame of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// In the usual notation of its language.
    pub(crate) function: String,
    /// Whether it is the system's own code; otherwise the language's, a library's or a framework's.
    pub(crate) is_own: bool,
}

/// A place in the code: `HikariPool.getConnection`, called by `PaymentDao.insert`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Position {
    /// What was called: the outermost library call, or a function of the service's code.
    pub(crate) at: String,
    /// The service's functions above that call, innermost first; empty if there are none.
    pub(crate) under: String,
}

impl Position {
    /// The position of a stack, innermost frame first. `None` without a frame of the system's own code: such a thread serves no request.
    pub(crate) fn of(stack: &[Frame]) -> Option<Self> {
        let first_own = stack.iter().position(|frame| frame.is_own)?;
        let (at, callers) = match first_own.checked_sub(1) {
            Some(outermost) => (&stack[outermost], &stack[first_own..]),
            None => (&stack[0], &stack[1..]),
        };
        Some(Self { at: shortened(&at.function), under: own(callers, &at.function) })
    }

    /// The position of a computing stack: the innermost function computes, regardless of whose code it is. A collection of garbage is one function.
    pub(crate) fn computing(stack: &[Frame]) -> Self {
        let collects = |frame: &Frame| COLLECTORS.iter().any(|collector| frame.function.starts_with(collector));
        if stack.iter().any(collects) {
            return Self { at: COLLECTOR.to_owned(), under: String::new() };
        }
        let Some((innermost, callers)) = stack.split_first() else { return Self::default() };
        Self { at: shortened(&innermost.function), under: own(callers, &innermost.function) }
    }
}

/// Recursion counts once.
fn own(callers: &[Frame], at: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for frame in callers.iter().filter(|frame| frame.is_own) {
        if names.len() < OWN_MAX && frame.function != at && !names.contains(&frame.function.as_str()) {
            names.push(&frame.function);
        }
    }
    shortened(&under(&names))
}

fn shortened(text: &str) -> String {
    let clean = label(text);
    if clean.chars().count() <= LENGTH_MAX {
        return clean;
    }
    clean.chars().take(LENGTH_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(frames: &[(&str, bool)]) -> Vec<Frame> {
        frames.iter().map(|(function, is_own)| Frame { function: (*function).to_owned(), is_own: *is_own }).collect()
    }

    #[test]
    fn a_position_is_the_call_that_the_services_code_made() {
        let pool = [("Unsafe.park", false), ("HikariPool.getConnection", false), ("PaymentDao.insert", true), ("Worker.run", false)];
        let position = Position::of(&stack(&pool)).unwrap();
        assert_eq!((position.at.as_str(), position.under.as_str()), ("HikariPool.getConnection", "PaymentDao.insert"));
        let own = [("Shop.hash", true), ("Shop.hash", true), ("Shop.login", true), ("Filter.run", false), ("Main.handle", true)];
        let position = Position::of(&stack(&own)).unwrap();
        assert_eq!((position.at.as_str(), position.under.as_str()), ("Shop.hash", "Shop.login ← Main.handle"));
        assert_eq!(Position::of(&stack(&[("Unsafe.park", false), ("Thread.run", false)])), None);
    }

    #[test]
    fn what_computes_is_the_innermost_function() {
        let position = Position::computing(&stack(&[("parse", false), ("decode", false), ("render", true), ("handle", true)]));
        assert_eq!((position.at.as_str(), position.under.as_str()), ("parse", "render ← handle"));
        let collects = Position::computing(&stack(&[("runtime.scanObject", false), ("runtime.gcBgMarkWorker.func2", false)]));
        assert_eq!((collects.at.as_str(), collects.under.as_str()), ("garbage collector", ""));
        let long = Position::computing(&stack(&[(&"x{".repeat(100), false)]));
        assert!(long.at.chars().count() == LENGTH_MAX && !long.at.contains('{'));
    }
}
