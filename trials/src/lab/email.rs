//! The e-mail lab: four layers from a content change to a delivered e-mail, and what made each of them too slow.

use std::path::Path;

use anyhow::Result;
use checkout::Workspace;

use super::conclusion::{self, Concluded};
use super::figures;
use super::lab_case::{self, CaseOptions, LabCase, LabTable};
use super::system::{LabSystem, free_port};

const SCRIPT: &str = "labs/email/email.load.ts";
/// One layer alone.
const LAYER_SCRIPT: &str = "labs/email/layer.load.ts";
const FLOW: &str = "E-mail";

/// What the first finding has to say.
enum ExpectedCause {
    /// No finding at all.
    Nothing,
    /// One of these rules, and this in its claim.
    Claim(&'static [&'static str], &'static str),
}

struct EmailCase {
    name: &'static str,
    faults: &'static [(&'static str, &'static str)],
    /// Content changes per second; each is 40 e-mails. Of a layer alone: e-mails per second.
    rate: &'static str,
    /// The only layer that is up.
    layer: Option<&'static str>,
    expected: ExpectedCause,
}

const fn together(
    name: &'static str,
    faults: &'static [(&'static str, &'static str)],
    rate: &'static str,
    expected: ExpectedCause,
) -> EmailCase {
    EmailCase { name, faults, rate, layer: None, expected }
}

/// A layer alone, at what the API allows.
const fn alone(name: &'static str, faults: &'static [(&'static str, &'static str)], layer: &'static str) -> EmailCase {
    EmailCase { name, faults, rate: "88", layer: Some(layer), expected: ExpectedCause::Nothing }
}

const CALLERS: &[&str] = &["workers", "effective-concurrency"];

const CASES: &[EmailCase] = &[
    // The last layer first, as it needs none of the others.
    alone("deliver alone", &[("LAYERS", "deliver")], "deliver"),
    alone("generate alone", &[("LAYERS", "generate")], "generate"),
    alone("match alone", &[("LAYERS", "match")], "match"),
    together("healthy", &[], "1", ExpectedCause::Nothing),
    together("query-per-email", &[("QUERY", "every")], "1.5", ExpectedCause::Claim(&["database-waits", "cpu"], "ORDER BY")),
    together("insert-per-record", &[("INSERT", "each")], "1.5", ExpectedCause::Claim(&["statements"], "40 times")),
    // Between what the limiter lets through, 75/s, and what the API allows.
    together("limiter", &[("LIMITER", "all")], "2.1", ExpectedCause::Claim(&["rate-limit"], "even 75")),
    together("workers", &[("WORKERS", "8")], "1.5", ExpectedCause::Claim(CALLERS, " 8 at a time")),
    // What all of them ask for, without the fault.
    together("fixed: 60/s", &[], "1.5", ExpectedCause::Nothing),
    together("fixed: 84/s", &[], "2.1", ExpectedCause::Nothing),
    // One pool of 12 workers for a load that needs 15.
    together("priority", &[("PRIORITY", "deliver"), ("WORKERS", "12")], "1.5", ExpectedCause::Claim(CALLERS, " 12 at a time")),
];

pub(crate) fn email(workspace: &Workspace, options: &CaseOptions) -> Result<()> {
    let binary = lab_case::binary(workspace, options.binary.as_ref())?;
    let chosen = lab_case::chosen(CASES, &options.only)?;
    let runs = workspace.target.join("lab/email");
    let head = ["case", "asked", "delivered", "p50", "max", "left", "measurement", "expected", "first finding", "right", "run"];
    let table = LabTable { binary: &binary, runs: &runs, head: &head };
    lab_case::judge(&chosen, options.repeat, &table, |case| perform(workspace, &binary, &runs, case, options.long))
}

fn perform(workspace: &Workspace, binary: &Path, runs: &Path, case: &EmailCase, long: bool) -> Result<Concluded> {
    let api = format!("127.0.0.1:{}", free_port()?);
    let statsd = format!("127.0.0.1:{}", free_port()?);
    let address = format!("http://{api}");
    let faults: Vec<(&str, &str)> =
        case.faults.iter().copied().chain([("API_URL", address.as_str()), ("STATSD", statsd.as_str())]).collect();
    let system = LabSystem::start(workspace, "email", &faults)?;
    let seconds = if long { "300" } else { "30" }.to_owned();
    let mut parameters = vec![("listen", api), ("statsd", statsd.clone()), ("rate", case.rate.to_owned()), ("seconds", seconds)];
    for (name, part) in [("target", "changes"), ("database", "database"), ("redis", "redis")] {
        parameters.push((name, system.address(part)?.to_owned()));
    }
    if let Some(layer) = case.layer {
        parameters.push(("layer", layer.to_owned()));
    }
    let script = if case.layer.is_some() { LAYER_SCRIPT } else { SCRIPT };
    conclusion::run(binary, &workspace.root.join(script), runs, &parameters, None)
}

impl ExpectedCause {
    fn is_met_by(&self, concluded: &Concluded) -> bool {
        match (self, concluded.findings().next()) {
            (Self::Nothing, None) => true,
            (Self::Claim(rules, words), Some((rule, claim))) => rules.contains(&rule) && claim.contains(words),
            _ => false,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Claim(rules, words) => format!("{}: {}", rules.join(" or "), words.trim()),
        }
    }
}

impl EmailCase {
    fn emails_per_second(&self) -> f64 {
        let rate = self.rate.parse::<f64>().unwrap_or_default();
        if self.layer.is_some() { rate } else { 40.0 * rate }
    }
}

impl LabCase for EmailCase {
    fn name(&self) -> &str {
        self.name
    }

    fn is_named_by(&self, concluded: &Concluded) -> bool {
        self.expected.is_met_by(concluded)
    }

    fn row(&self, concluded: &Concluded, is_right: bool) -> Result<Vec<String>> {
        let flow = concluded.row("flows", FLOW)?;
        let time = &flow["time"];
        Ok(vec![
            self.name.to_owned(),
            format!("{:.0}/s", self.emails_per_second()),
            format!("{:.0}/s", flow["finish_rate"].as_f64().unwrap_or_default()),
            figures::percentile(time, 0.5),
            time["max"].as_f64().map_or_else(|| "–".to_owned(), figures::seconds),
            flow["drain"]["left"].as_u64().unwrap_or_default().to_string(),
            concluded.grade().to_owned(),
            self.expected.words(),
            concluded.findings().next().map_or("–", |(rule, _)| rule).to_owned(),
            if is_right { "yes" } else { "NO" }.to_owned(),
            concluded.id().to_owned(),
        ])
    }

    fn baseline(&self) -> Option<(&str, &[&str])> {
        let name = match self.name {
            "fixed: 60/s" => "workers",
            "fixed: 84/s" => "limiter",
            _ => return None,
        };
        Some((name, &[FLOW]))
    }
}
