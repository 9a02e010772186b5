//! The signals that both systems have.

use loadstone_metrics::{Role, unit};

use crate::collector::MetricSpec;

pub(super) const CORES: MetricSpec<'_> = MetricSpec::gauge("cores", unit::COUNT, "Cores of the machine").role(Role::MachineCores);
pub(super) const CPU: MetricSpec<'_> = MetricSpec::counter("cpu", unit::SECONDS, "CPU time of all cores");
pub(super) const MEMORY_TOTAL: MetricSpec<'_> = MetricSpec::gauge("memory_total", unit::BYTES, "Memory of the machine");
pub(super) const MEMORY_AVAILABLE: MetricSpec<'_> = MetricSpec::gauge("memory_available", unit::BYTES, "Memory available to programs");
