//! The resources along the request path, each with its utilisation, saturation and errors at low and at high load (the USE method; Gregg
//! 2013). The table also lists the usual resources that were not observed. It is the basis of a verdict.

use loadstone_metrics::SeriesKind;

use crate::facts::Facts;
use crate::facts::path::PathResource;
use crate::{ResourceKind, ResourceRow, ResourceUse};

/// Maximum number of rows of one kind, and of all kinds.
const ROWS_OF_KIND_MAX: usize = 8;
const ROWS_MAX: usize = 40;
/// Utilisation below which a disk is omitted.
const DISK_UTILISATION_MIN: f64 = 0.01;
/// Observers of the metrics that a service names itself, in which pools are found by their names.
const OBSERVERS_OF_METRICS: [&str; 3] = ["prometheus", "json", "statsd"];

/// In the order of the request path, as far as it is known.
pub(crate) fn rows(facts: &Facts<'_>) -> Vec<ResourceRow> {
    if facts.strain.loaded().is_none() {
        return Vec::new();
    }
    let (low, high) = facts.strain.low_and_high();
    let table = UseTable { facts, low, high };
    let mut rows = vec![table.load()];
    rows.extend(table.observed());
    rows.extend(table.not_observed());
    rows.truncate(ROWS_MAX);
    rows
}

struct UseTable<'f, 'a> {
    facts: &'f Facts<'a>,
    /// `(from, to)` of the seconds of low load and of high load.
    low: Vec<(f64, f64)>,
    high: Vec<(f64, f64)>,
}

impl UseTable<'_, '_> {
    /// The observed resources, at most [`ROWS_OF_KIND_MAX`] of each kind.
    fn observed(&self) -> Vec<ResourceRow> {
        let all = self.facts.path.all().filter_map(|resource| self.row(resource));
        let mut rows: Vec<ResourceRow> = Vec::new();
        for row in all {
            if rows.iter().filter(|known| known.kind == row.kind).count() < ROWS_OF_KIND_MAX {
                rows.push(row);
            }
        }
        rows
    }

    fn row(&self, resource: &PathResource<'_>) -> Option<ResourceRow> {
        let is_counted = resource.used.is_some() && resource.kind != ResourceKind::EventLoop;
        let limit = resource.places(0.0, f64::INFINITY).filter(|_| is_counted);
        let in_use = |spans: &[(f64, f64)]| resource.in_use()?.mean_inside(spans);
        let part = self.at(|spans| ResourceUse {
            used: resource.used.as_ref().and_then(|used| used.mean_inside(spans)),
            utilisation: if is_counted { in_use(spans).zip(limit).map(|(used, limit)| used / limit) } else { in_use(spans) },
            waiting: resource.waiting.as_ref().and_then(|waiting| waiting.mean_inside(spans)),
            errors: resource.errors.as_ref().and_then(|errors| errors.mean_inside(spans)),
        });
        let busy = |used: Option<ResourceUse>| used.and_then(|used| used.utilisation).unwrap_or(0.0);
        let is_shown = match resource.kind {
            ResourceKind::Disk => busy(part.1).max(busy(part.0)) >= DISK_UTILISATION_MIN,
            // The links have their own rows. Of a process's own control group only the limit is read.
            ResourceKind::Network => resource.used.is_none(),
            ResourceKind::Group => resource.used.is_some(),
            _ => true,
        };
        is_shown.then(|| ResourceRow {
            kind: resource.kind,
            name: resource.part.name().to_owned(),
            unit: unit(resource.kind).to_owned(),
            limit,
            low: part.0,
            high: part.1,
        })
    }

    /// Its use at low load, if there was any, and at high load.
    fn at(&self, measure: impl Fn(&[(f64, f64)]) -> ResourceUse) -> (Option<ResourceUse>, Option<ResourceUse>) {
        ((!self.low.is_empty()).then(|| measure(&self.low)), Some(measure(&self.high)))
    }

    fn load(&self) -> ResourceRow {
        let slices = &self.facts.run.slices;
        let (low, high) = self.at(|seconds| {
            let inside = |slice: &&loadstone_metrics::Snapshot| {
                let from = slice.start as f64 / 1e9;
                seconds.iter().any(|(a, b)| from >= a - 1e-6 && from < *b)
            };
            let requests = |slice: &loadstone_metrics::Snapshot| -> u64 {
                slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| series.failed).sum()
            };
            let length: f64 = seconds.iter().map(|(from, to)| to - from).sum();
            let failed: u64 = slices.iter().filter(inside).map(requests).sum();
            let in_system: f64 = seconds.iter().filter_map(|(from, to)| self.facts.strain.in_system(*from, *to)).sum();
            ResourceUse {
                used: Some(in_system / seconds.len().max(1) as f64),
                errors: Some(failed as f64 / length.max(1e-9)),
                ..ResourceUse::default()
            }
        });
        ResourceRow { kind: ResourceKind::Load, name: "requests in flight".to_owned(), unit: "requests".to_owned(), limit: None, low, high }
    }

    /// The resources that a system usually has and that were not observed.
    fn not_observed(&self) -> Vec<ResourceRow> {
        let kinds = self.facts.run.plan.observers.iter().filter_map(|observer| observer.get("kind")?.as_str());
        let has_metrics = kinds.into_iter().any(|kind| OBSERVERS_OF_METRICS.contains(&kind));
        let pools = if has_metrics { "its pools (no observed metric is known to be of one)" } else { "its pools" };
        let usual = [
            (ResourceKind::Process, "the system's processes"),
            (ResourceKind::Machine, "the machine"),
            (ResourceKind::Sessions, "its database"),
            (ResourceKind::Pool, pools),
        ];
        let missing = usual.into_iter().filter(|(kind, _)| self.facts.path.of_kind(*kind).next().is_none());
        let row = |(kind, name): (ResourceKind, &str)| ResourceRow {
            kind,
            name: name.to_owned(),
            unit: String::new(),
            limit: None,
            low: None,
            high: None,
        };
        missing.map(row).collect()
    }
}

/// The unit of the used amount and of the limit.
fn unit(kind: ResourceKind) -> &'static str {
    match kind {
        ResourceKind::Process | ResourceKind::Thread | ResourceKind::Group | ResourceKind::Machine => "cores",
        ResourceKind::Sessions => "sessions",
        ResourceKind::Endpoint => "calls",
        ResourceKind::EventLoop => "seconds late",
        ResourceKind::Descriptors => "descriptors",
        _ => "",
    }
}
