//! The table of outputs. A new kind is a file or folder next to this one, its `mod` line in `lib.rs`, and a line here.

use crate::sink::OutputKind;
use crate::{influx, otlp, prometheus, statsd};

/// In the order in which messages and help name them.
pub(crate) const KINDS: &[&OutputKind] =
    &[&prometheus::CLASSIC, &prometheus::NATIVE, &otlp::OTLP, &influx::INFLUX, &statsd::STATSD, &statsd::DOGSTATSD];
