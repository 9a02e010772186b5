//! A kind of observer as one value: its name, its options, the signals that it reports, and its constructor.

use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::option::ObserverOption;
use crate::reader::SignalReader;

/// One kind. Its file declares it as a constant, and [`crate::kinds::KINDS`] lists it.
pub(crate) struct ObserverKind {
    /// Scripts say `observe.NAME(…)`.
    pub(crate) name: &'static str,
    /// Its row in docs/observers.md: the part of a system that it observes.
    pub(crate) watches: &'static str,
    /// The same row: an example.
    pub(crate) example: &'static str,
    /// The same row, after the example, as Markdown: alternative options.
    pub(crate) alternatives: &'static str,
    /// The same row, as Markdown: its most important signals.
    pub(crate) reports: &'static str,
    /// In addition to `name` and `every`, which all kinds take. An address that is the first argument is [`crate::option::ADDRESS`].
    pub(crate) options: &'static [ObserverOption],
    /// What of it works on macOS.
    pub(crate) on_macos: MacSupport,
    /// Creates the observer. The options have the right shape, but their values may still be invalid.
    pub(crate) make: fn(&ObserverDescription<'_>) -> Result<Box<dyn SignalReader>, ObserveError>,
}

/// Whether a kind works on macOS. None was tried on a Mac.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MacSupport {
    /// As on Linux: it speaks a protocol, or reads what both systems show.
    Full,
    /// This part, as Markdown.
    Partial(&'static str),
    /// Refused when a run starts: why, and what to use there.
    Refused(&'static str),
}
