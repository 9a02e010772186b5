//! CPU time by function as folded stacks, as flame graph tools read them: `observer;outer;inner 1234`, in milliseconds (Gregg, *The Flame Graph*, 2016).

use super::stacks::cpu_by_stack;
use crate::SignalSeries;

/// A line per stack in which a runtime's profiler sampled a computing thread; empty if no runtime was observed.
pub fn folded(signals: &[SignalSeries]) -> String {
    let lines = cpu_by_stack(signals).into_iter().map(|(stack, seconds)| {
        let frames: Vec<String> = stack.iter().map(|frame| frame.replace(';', ":")).collect();
        (frames.join(";"), (seconds * 1000.0).round())
    });
    lines.filter(|(_, ms)| *ms > 0.0).map(|(stack, ms)| format!("{stack} {ms}\n")).collect()
}

#[cfg(test)]
mod tests {
    use loadstone_metrics::Role;

    use super::super::stacks::tests::function;
    use super::*;

    #[test]
    fn cores_become_milliseconds_below_their_callers() {
        let hash = function("hash; a.mjs:3", "login a.mjs:9 ← handle a.mjs:20", &[(1, 0.5), (2, 0.25), (3, 0.0)]);
        // Seen from the second reading on; alone in the third.
        let parse = function("parse a.mjs:7", "", &[(2, 0.1), (3, 0.1)]);
        let trifle = function("trifle", "", &[(3, 0.0001)]);
        assert_eq!(folded(&[parse, hash, trifle]), "node;handle a.mjs:20;login a.mjs:9;hash: a.mjs:3 750\nnode;parse a.mjs:7 200\n");
    }

    #[test]
    fn a_gap_is_not_filled_in() {
        let readings = [(1, 1.0), (2, 1.0), (3, 1.0), (60, 1.0), (61, 1.0)];
        assert_eq!(folded(&[function("hash", "", &readings)]), "node;hash 6000\n");
    }

    #[test]
    fn other_signals_are_no_stacks() {
        let mut threads = function("hash", "", &[(1, 1.0)]);
        threads.signal.role = Some(Role::ThreadsWaitingForLock);
        assert_eq!(folded(&[threads]), "");
    }
}
