//! One run of an external measure: a fault and its onset, or the twin of such a run without the fault.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;

/// When a fault is switched on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultOnset {
    /// Before the load starts.
    Start,
    /// So many seconds after the load test was started.
    AfterSeconds(u64),
}

impl FaultOnset {
    pub(crate) fn kind(self) -> OnsetKind {
        match self {
            Self::Start => OnsetKind::Start,
            Self::AfterSeconds(_) => OnsetKind::MidRun,
        }
    }

    /// The time until the fault is switched on, if it is not on from the start.
    pub(crate) fn delay(self) -> Option<Duration> {
        match self {
            Self::Start => None,
            Self::AfterSeconds(seconds) => Some(Duration::from_secs(seconds)),
        }
    }
}

/// Onsets by their kind.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnsetKind {
    Start,
    MidRun,
}

/// A part of the runs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunPart {
    Faulty,
    Healthy,
}

/// One run with a fault, or its twin, in which everything else is the same.
pub(crate) struct FaultRun<'a, Fault> {
    pub(crate) fault: &'a Fault,
    pub(crate) onset: FaultOnset,
    pub(crate) is_twin: bool,
}

impl<Fault> FaultRun<'_, Fault> {
    pub(crate) fn onset(&self) -> String {
        match self.onset {
            FaultOnset::Start => "from the start".to_owned(),
            FaultOnset::AfterSeconds(seconds) => format!("after {seconds} s"),
        }
    }

    pub(crate) fn name(&self, fault: &str) -> String {
        format!("{fault}, {}{}", self.onset(), if self.is_twin { ": twin without fault" } else { "" })
    }
}

/// Each fault with its onsets, each run after its twin, as often as requested.
pub(crate) fn planned<'a, Fault>(
    chosen: &[(&'a Fault, FaultOnset)],
    (part, kind): (Option<RunPart>, Option<OnsetKind>),
    repeat: u32,
) -> Vec<FaultRun<'a, Fault>> {
    let twins: &[bool] = match part {
        None => &[true, false],
        Some(RunPart::Faulty) => &[false],
        Some(RunPart::Healthy) => &[true],
    };
    let is_chosen = |onset: FaultOnset| kind.is_none_or(|kind| kind == onset.kind());
    let rounds = (0..repeat).flat_map(|_| chosen).filter(|(_, onset)| is_chosen(*onset));
    rounds.flat_map(|&(fault, onset)| twins.iter().map(move |&is_twin| FaultRun { fault, onset, is_twin })).collect()
}

/// Carries out `load`, and switches a fault on after `delay`.
pub(crate) fn switched_after<Output>(
    delay: Option<Duration>,
    switch: impl FnOnce() -> Result<()> + Send,
    load: impl FnOnce() -> Result<Output>,
) -> Result<Output> {
    thread::scope(|scope| {
        let switched = delay.map(|delay| {
            scope.spawn(move || {
                thread::sleep(delay);
                switch()
            })
        });
        let output = load();
        if let Some(switched) = switched {
            switched.join().map_err(|_panic| anyhow::anyhow!("the thread that switches the fault on panicked"))??;
        }
        output
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_follows_its_twin() {
        let runs = planned(&[(&"lock", FaultOnset::Start), (&"lock", FaultOnset::AfterSeconds(15))], (None, None), 1);
        let names: Vec<String> = runs.iter().map(|run| run.name(run.fault)).collect();
        assert_eq!(
            names,
            [
                "lock, from the start: twin without fault",
                "lock, from the start",
                "lock, after 15 s: twin without fault",
                "lock, after 15 s"
            ]
        );
        let healthy = planned(&[(&"lock", FaultOnset::Start)], (Some(RunPart::Healthy), Some(OnsetKind::Start)), 2);
        assert!(healthy.len() == 2 && healthy.iter().all(|run| run.is_twin));
    }
}
