//! The services that findings name, in the order of their rank.
//!
//! A finding names a service by its subject, by a signal of its evidence, or by a span of its evidence. All three are data; no sentence is read. A finding
//! about a call between two services names the one of its subject, then both, the caller first. Alternatives, and signals that did not change, name nothing.

use loadstone_analysis::{Finding, Subject};
use loadstone_metrics::Role;
use loadstone_metrics::span::{SpanKind, SpanPath};
use loadstone_run_directory::Run;

use super::case::FaultKind;

/// A service and the finding that names it first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedService {
    pub(super) service: String,
    /// Its place among the findings.
    pub(super) finding: usize,
    /// What the finding states about it: its cores, the network to it, or its own code.
    pub(super) kind: FaultKind,
    /// Whether the finding names a second service with it that may be meant.
    pub(super) is_of_pair: bool,
}

/// Distinct services, the first finding's first.
pub(super) fn services(findings: &[Finding], run: &Run) -> Vec<NamedService> {
    let mut named: Vec<NamedService> = Vec::new();
    for (place, finding) in findings.iter().enumerate() {
        for (service, kind, is_of_pair) in of_finding(finding, run) {
            if !named.iter().any(|known| known.service == service) {
                named.push(NamedService { service: service.to_owned(), finding: place, kind, is_of_pair });
            }
        }
    }
    named
}

type Naming<'a> = (&'a str, FaultKind, bool);

fn of_finding<'a>(finding: &'a Finding, run: &'a Run) -> Vec<Naming<'a>> {
    let subject = match &finding.subject {
        Subject::Observed { observer, .. } => Some(observer.as_str()),
        Subject::Endpoint { name } => Some(name.as_str()),
        _ => None,
    };
    let is_service = |name: &&str| run.signals.iter().any(|series| series.signal.observer == **name);
    let series: Vec<&str> = finding.evidence.iter().flat_map(|evidence| &evidence.series).map(String::as_str).collect();
    let uses_cores = |service: &str| series.iter().filter_map(|name| signal(run, name)).any(|one| one.0 == service && one.1);
    let by_subject =
        subject.filter(is_service).map(|service| (service, if uses_cores(service) { FaultKind::Cpu } else { FaultKind::Unstated }, false));
    let by_evidence = series.iter().flat_map(|name| match signal(run, name) {
        Some((service, is_cores)) => vec![(service, if is_cores { FaultKind::Cpu } else { FaultKind::Unstated }, false)],
        None => of_span(&run.traces.paths, name),
    });
    let by_evidence: Vec<Naming<'a>> = by_evidence.collect();
    // The subject is the side of a call that is slow, or the service that fails.
    let of_spans = if let Subject::Service { name } = &finding.subject { Some(name.as_str()) } else { None };
    let first =
        of_spans.map(|service| by_evidence.iter().find(|one| one.0 == service).copied().unwrap_or((service, FaultKind::Unstated, false)));
    by_subject.into_iter().chain(first).chain(by_evidence).collect()
}

/// The service of a signal, and whether it is the use of cores.
fn signal<'a>(run: &'a Run, name: &str) -> Option<(&'a str, bool)> {
    let found = run.signals.iter().find(|series| series.signal.name == name)?;
    Some((&found.signal.observer, matches!(found.signal.role, Some(Role::ProcessCpu | Role::ProcessCpuMax))))
}

/// The services of `spans/own/7` or `spans/before/7`: those that [`loadstone_analysis`] names for the part of a request's time.
fn of_span<'a>(paths: &'a [SpanPath], series: &str) -> Vec<Naming<'a>> {
    let number = |prefix: &str| series.strip_prefix(prefix).and_then(|number| number.parse::<u32>().ok());
    let path = |number: u32| paths.get(number as usize);
    let both = |caller: &'a SpanPath, called: &'a SpanPath| {
        vec![(&*caller.service, FaultKind::Network, true), (&*called.service, FaultKind::Network, true)]
    };
    let one = |span: &'a SpanPath| vec![(&*span.service, FaultKind::Code, false)];
    if let Some((number, span)) = number("spans/own/").and_then(|number| Some((number, path(number)?))) {
        let is_answer = |other: &&SpanPath| other.parent == Some(number) && other.kind == SpanKind::Server && other.service != span.service;
        return paths.iter().find(is_answer).map_or_else(|| one(span), |answer| both(span, answer));
    }
    let Some(span) = number("spans/before/").and_then(path) else { return Vec::new() };
    match span.parent.and_then(path).filter(|parent| parent.kind != SpanKind::Request) {
        Some(parent) if span.kind == SpanKind::Server && parent.kind == SpanKind::Client && parent.service != span.service => {
            both(parent, span)
        }
        Some(parent) => one(parent),
        None => one(span),
    }
}
