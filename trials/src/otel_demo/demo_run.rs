//! One run of the trial: a flag, and when it is switched on.

use super::faults::DemoFault;

/// When a flag is switched on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FlagOnset {
    /// Before the load starts.
    Start,
    /// So many seconds after the load test was started.
    AfterSeconds(u64),
}

/// One run: a flag that is switched on, or the twin of such a run, in which all flags stay off.
#[derive(Clone)]
pub(super) struct DemoRun<'a> {
    pub(super) fault: &'a DemoFault,
    pub(super) onset: FlagOnset,
    pub(super) is_twin: bool,
}

impl DemoRun<'_> {
    pub(super) fn onset(&self) -> String {
        match self.onset {
            FlagOnset::Start => "from the start".to_owned(),
            FlagOnset::AfterSeconds(seconds) => format!("after {seconds} s"),
        }
    }

    pub(super) fn name(&self) -> String {
        format!("{}, {}{}", self.fault.flag, self.onset(), if self.is_twin { ": twin without fault" } else { "" })
    }
}
