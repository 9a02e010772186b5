//! The webhook lab: four faults that a team had in production, the healthy system, and loads that must not be blamed on anything.

use std::path::{Path, PathBuf};

use anyhow::Result;
use checkout::Workspace;
use clap::Args;

use super::conclusion::{self, Concluded};
use super::figures;
use super::lab_case::{self, LabCase, LabTable};
use super::system::{LabSystem, free_port};

const SCRIPT: &str = "labs/webhooks/webhooks.load.ts";
const FLOW: &str = "Time to send";

#[derive(Args)]
pub(crate) struct WebhookOptions {
    /// Only cases whose name contains this. May be repeated.
    #[arg(long = "variant", value_name = "NAME")]
    variants: Vec<String>,
    /// How often to run each.
    #[arg(long, default_value_t = 1)]
    rounds: u32,
    /// Loads on the healthy system that nothing may be blamed for, instead of the faults.
    #[arg(long)]
    controls: bool,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// What the first finding has to say.
enum ExpectedFinding {
    /// No finding at all.
    Nothing,
    /// This rule, and in its claim this number before any other, within a tenth.
    Places(&'static str, f64),
    /// The oldest starve.
    OutOfOrder,
}

struct WebhookCase {
    name: &'static str,
    faults: &'static [(&'static str, &'static str)],
    load: &'static [(&'static str, &'static str)],
    expected: ExpectedFinding,
}

const MINUTE_AT_20: &[(&str, &str)] = &[("rate", "20"), ("constantSeconds", "60"), ("drain", "60s")];

const FAULTS: &[WebhookCase] = &[
    WebhookCase { name: "healthy", faults: &[], load: MINUTE_AT_20, expected: ExpectedFinding::Nothing },
    // With a fixed delay of 2 s, as in the case: 30 a minute. What is left would take three quarters of an hour.
    WebhookCase {
        name: "SKIP_LOCKED=off",
        faults: &[("SKIP_LOCKED", "off")],
        load: &[("rate", "20"), ("delay", "2s"), ("constantSeconds", "60"), ("drain", "60s")],
        expected: ExpectedFinding::Places("lock", 1.0),
    },
    WebhookCase {
        name: "HTTP_POOL=5",
        faults: &[("HTTP_POOL", "5")],
        load: &[("rate", "20"), ("constantSeconds", "45"), ("drain", "90s")],
        expected: ExpectedFinding::Places("connection-pool", 5.0),
    },
    // The order shows where there is a choice: a backlog that comes and goes.
    WebhookCase {
        name: "ORDER=none",
        faults: &[("ORDER", "none")],
        load: &[("rampupUsersFrom", "50"), ("rampupUsersTo", "20"), ("rampupSeconds", "50"), ("constantSeconds", "40"), ("drain", "60s")],
        expected: ExpectedFinding::OutOfOrder,
    },
    WebhookCase {
        name: "SENDERS=10",
        faults: &[("SENDERS", "10")],
        load: MINUTE_AT_20,
        expected: ExpectedFinding::Places("workers", 10.0),
    },
];

const CONTROLS: &[WebhookCase] = &[
    WebhookCase { name: "as planned", faults: &[], load: MINUTE_AT_20, expected: ExpectedFinding::Nothing },
    WebhookCase {
        name: "five times as much",
        faults: &[],
        load: &[("rate", "100"), ("delay", "100ms"), ("constantSeconds", "60")],
        expected: ExpectedFinding::Nothing,
    },
    WebhookCase {
        name: "slow subscriber",
        faults: &[],
        load: &[("rate", "5"), ("delay", "2500ms"), ("constantSeconds", "60")],
        expected: ExpectedFinding::Nothing,
    },
    WebhookCase {
        name: "fast and slow answers",
        faults: &[],
        load: &[("rate", "15"), ("delay", "100ms"), ("slowShare", "0.2"), ("constantSeconds", "60")],
        expected: ExpectedFinding::Nothing,
    },
    WebhookCase {
        name: "random answers",
        faults: &[],
        load: &[("rate", "20"), ("delay", "exponential(500ms)"), ("constantSeconds", "60")],
        expected: ExpectedFinding::Nothing,
    },
    // No fault, and yet something limits it: all that it has.
    WebhookCase {
        name: "until it saturates",
        faults: &[],
        load: &[
            ("rampupUsersFrom", "10"),
            ("rampupUsersTo", "45"),
            ("rampupSeconds", "90"),
            ("rate", "45"),
            ("constantSeconds", "10"),
            ("drain", "60s"),
        ],
        expected: ExpectedFinding::Places("workers", 20.0),
    },
];

pub(crate) fn webhooks(workspace: &Workspace, options: &WebhookOptions) -> Result<()> {
    let binary = lab_case::binary(workspace, options.binary.as_ref())?;
    let chosen = lab_case::chosen(if options.controls { CONTROLS } else { FAULTS }, &options.variants)?;
    let runs = workspace.target.join("lab/webhooks");
    let head = ["case", "expected", "first finding", "right", "p50", "p99", "max", "per min", "drain", "run"];
    let table = LabTable { binary: &binary, runs: &runs, head: &head };
    lab_case::judge(&chosen, options.rounds, &table, |case| perform(workspace, &binary, &runs, case))
}

fn perform(workspace: &Workspace, binary: &Path, runs: &Path, case: &WebhookCase) -> Result<Concluded> {
    let system = LabSystem::start(workspace, "webhooks", case.faults)?;
    let mut parameters: Vec<(&str, String)> = case.load.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    parameters.extend([
        ("target", system.address("payments")?.to_owned()),
        ("service", system.address("webhooks")?.to_owned()),
        ("database", system.address("database")?.to_owned()),
        ("listen", format!("127.0.0.1:{}", free_port()?)),
    ]);
    conclusion::run(binary, &workspace.root.join(SCRIPT), runs, &parameters, None)
}

impl ExpectedFinding {
    fn is_met_by(&self, concluded: &Concluded) -> bool {
        let first = concluded.findings().next();
        match (self, first) {
            (Self::Nothing, None) => true,
            (Self::Places(wanted, places), Some((rule, claim))) => {
                rule == *wanted && figures::first_number(claim).is_some_and(|found| (found / places - 1.0).abs() <= 0.1)
            }
            (Self::OutOfOrder, Some((rule, _))) => rule == "order",
            _ => false,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Places(rule, places) => format!("{rule}, {places}"),
            Self::OutOfOrder => "order".to_owned(),
        }
    }
}

/// A rule, and the number of places that its claim speaks of.
fn shown(rule: &str, claim: &str) -> String {
    match figures::first_number(claim) {
        Some(number) if rule != "order" => format!("{rule}, {number}"),
        _ => rule.to_owned(),
    }
}

impl LabCase for WebhookCase {
    fn name(&self) -> &str {
        self.name
    }

    fn is_named_by(&self, concluded: &Concluded) -> bool {
        self.expected.is_met_by(concluded)
    }

    fn row(&self, concluded: &Concluded, is_right: bool) -> Result<Vec<String>> {
        let flow = concluded.row("flows", FLOW)?;
        let time = &flow["time"];
        let drain = &flow["drain"];
        let drain = match (drain["seconds"].as_f64(), drain["left"].as_u64()) {
            (Some(seconds), _) => figures::seconds(seconds),
            (None, Some(left)) => format!("{left} left"),
            (None, None) => "–".to_owned(),
        };
        Ok(vec![
            self.name.to_owned(),
            self.expected.words(),
            concluded.findings().next().map_or_else(|| "–".to_owned(), |(rule, claim)| shown(rule, claim)),
            if is_right { "yes" } else { "NO" }.to_owned(),
            figures::percentile(time, 0.5),
            figures::percentile(time, 0.99),
            time["max"].as_f64().map_or_else(|| "–".to_owned(), figures::seconds),
            flow["finish_rate"].as_f64().map_or_else(|| "–".to_owned(), |rate| format!("{:.0}", rate * 60.0)),
            drain,
            concluded.id().to_owned(),
        ])
    }
}
