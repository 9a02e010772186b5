//! Go's collector and heap, where the service has `expvar`. Reading them stops the world for a few microseconds.

use loadstone_metrics::{Role, unit};
use serde_json::Value;

use crate::collector::{MetricSpec, SignalCollector};
use crate::http::{Address, get};

const PAUSES: MetricSpec<'_> =
    MetricSpec::counter("gc", unit::SECONDS, "Time in which the collector stopped all goroutines").role(Role::GarbageCollection);
const COLLECTIONS: MetricSpec<'_> = MetricSpec::counter("gc_runs", unit::COUNT, "Collections");
const HEAP: MetricSpec<'_> = MetricSpec::gauge("heap", unit::BYTES, "Heap in use, including garbage");

pub(super) struct GoMemory {
    address: Address,
    /// A service without `expvar` is not asked again.
    is_missing: bool,
}

impl GoMemory {
    pub(super) fn at(address: Address) -> Self {
        Self { address, is_missing: false }
    }

    pub(super) async fn put(&mut self, out: &mut SignalCollector) {
        if self.is_missing {
            return;
        }
        let body = get(&self.address, "application/json").await.ok();
        let variables = body.and_then(|body| serde_json::from_slice::<Value>(&body).ok());
        let Some(memory) = variables.as_ref().and_then(|variables| variables.get("memstats")) else {
            self.is_missing = true;
            return;
        };
        let number = |name: &str| memory.get(name).and_then(Value::as_f64);
        number("PauseTotalNs").into_iter().for_each(|ns| out.put(PAUSES, ns / 1e9));
        number("NumGC").into_iter().for_each(|runs| out.put(COLLECTIONS, runs));
        number("HeapAlloc").into_iter().for_each(|bytes| out.put(HEAP, bytes));
    }
}
