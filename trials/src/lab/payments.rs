//! The payments lab: ten commits for each payment, what a team tried in vain, and what helped.

use std::path::Path;

use anyhow::Result;
use checkout::Workspace;

use super::conclusion::{self, Concluded};
use super::figures;
use super::lab_case::{self, CaseOptions, LabCase, LabTable};
use super::system::{LabSystem, free_port};

const SCRIPT: &str = "labs/payments/payments.load.ts";
const REQUEST: &str = "Pay";

/// What the first finding has to say.
enum ExpectedClaim {
    /// No finding at all.
    Nothing,
    /// This rule, and in its claim this number before any other, within a tenth.
    Number(&'static str, f64),
}

struct PaymentCase {
    name: &'static str,
    system: &'static [(&'static str, &'static str)],
    /// Payments per second.
    rate: &'static str,
    expected: ExpectedClaim,
}

const TEN_COMMITS: ExpectedClaim = ExpectedClaim::Number("commits", 10.0);

/// Payments per second beyond what ten commits carry, and what one carries easily.
const TOO_MANY: &str = "80";

/// What all of them carry: nothing waits when the measured run begins.
const WARM_UP_RATE: &str = "30";

const AS_FOUND: &str = "as found: ten commits";

const CASES: &[PaymentCase] = &[
    PaymentCase { name: AS_FOUND, system: &[], rate: TOO_MANY, expected: TEN_COMMITS },
    // The same ten connections, of two processes; and twelve, of four.
    PaymentCase { name: "two pods", system: &[("PODS", "2"), ("POOL", "5")], rate: TOO_MANY, expected: TEN_COMMITS },
    PaymentCase { name: "four pods", system: &[("PODS", "4"), ("POOL", "3")], rate: TOO_MANY, expected: TEN_COMMITS },
    // More commits share a flush, so more pass; they wait all the same.
    PaymentCase { name: "bigger pool", system: &[("POOL", "20")], rate: "160", expected: TEN_COMMITS },
    PaymentCase { name: "group commit", system: &[("GROUP_COMMIT", "on")], rate: TOO_MANY, expected: TEN_COMMITS },
    // Each commit flushes one log instead of two: what a cache for the binary log does, and the experiment without any.
    PaymentCase { name: "binlog unflushed", system: &[("BINLOG", "unflushed")], rate: TOO_MANY, expected: TEN_COMMITS },
    PaymentCase { name: "binlog off", system: &[("BINLOG", "off")], rate: TOO_MANY, expected: TEN_COMMITS },
    PaymentCase { name: "one transaction", system: &[("COMMITS", "one")], rate: TOO_MANY, expected: ExpectedClaim::Nothing },
    PaymentCase { name: "healthy", system: &[("COMMITS", "one")], rate: "40", expected: ExpectedClaim::Nothing },
];

pub(crate) fn payments(workspace: &Workspace, options: &CaseOptions) -> Result<()> {
    let binary = lab_case::binary(workspace, options.binary.as_ref())?;
    let chosen = lab_case::chosen(CASES, &options.only)?;
    let runs = workspace.target.join("lab/payments");
    let head = ["case", "asked", "per s", "p50", "p99", "p99, 95 %", "failed", "measurement", "expected", "first finding", "right", "run"];
    let table = LabTable { binary: &binary, runs: &runs, head: &head };
    lab_case::judge(&chosen, options.repeat, &table, |case| perform(workspace, &binary, &runs, case, options.long))
}

fn perform(workspace: &Workspace, binary: &Path, runs: &Path, case: &PaymentCase, long: bool) -> Result<Concluded> {
    let gateway = format!("127.0.0.1:{}", free_port()?);
    let address = format!("http://{gateway}");
    let system: Vec<(&str, &str)> = case.system.iter().copied().chain([("GATEWAY_URL", address.as_str())]).collect();
    let system = LabSystem::start(workspace, "payments", &system)?;
    let mut parameters = vec![("listen", gateway), ("rate", case.rate.to_owned()), ("seconds", if long { "300" } else { "30" }.to_owned())];
    for (name, part) in [("target", "payments"), ("pods", "pods"), ("metrics", "metrics"), ("database", "database"), ("kafka", "kafka")] {
        parameters.push((name, system.address(part)?.to_owned()));
    }
    // A machine that compiles code the first time it runs is slower for some seconds: that is no part of what is asked here.
    let warm_up = |(name, value): &(&'static str, String)| match *name {
        "rate" => ("rate", WARM_UP_RATE.to_owned()),
        "seconds" => ("seconds", "10".to_owned()),
        _ => (*name, value.clone()),
    };
    let warm_up: Vec<(&str, String)> = parameters.iter().map(warm_up).collect();
    conclusion::run(binary, &workspace.root.join(SCRIPT), &runs.join("warm-up"), &warm_up, None)?;
    conclusion::run(binary, &workspace.root.join(SCRIPT), runs, &parameters, None)
}

impl ExpectedClaim {
    fn is_met_by(&self, concluded: &Concluded) -> bool {
        match (self, concluded.findings().next()) {
            (Self::Nothing, None) => true,
            (Self::Number(wanted, number), Some((rule, claim))) => {
                rule == *wanted && figures::first_number(claim).is_some_and(|found| (found / number - 1.0).abs() <= 0.1)
            }
            _ => false,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Number(rule, number) => format!("{rule}, {number}"),
        }
    }
}

impl LabCase for PaymentCase {
    fn name(&self) -> &str {
        self.name
    }

    fn is_named_by(&self, concluded: &Concluded) -> bool {
        self.expected.is_met_by(concluded)
    }

    fn row(&self, concluded: &Concluded, is_right: bool) -> Result<Vec<String>> {
        let request = concluded.row("requests", REQUEST)?;
        let times = &request["response"];
        let first = concluded.findings().next().map(|(rule, claim)| match figures::first_number(claim) {
            Some(number) => format!("{rule}, {number}"),
            None => rule.to_owned(),
        });
        Ok(vec![
            self.name.to_owned(),
            format!("{}/s", self.rate),
            format!("{:.0}", request["rate"].as_f64().unwrap_or_default()),
            figures::percentile(times, 0.5),
            figures::percentile(times, 0.99),
            figures::interval(times, 0.99),
            request["failed"].as_u64().unwrap_or_default().to_string(),
            concluded.grade().to_owned(),
            self.expected.words(),
            first.unwrap_or_else(|| "–".to_owned()),
            if is_right { "yes" } else { "NO" }.to_owned(),
            concluded.id().to_owned(),
        ])
    }

    fn baseline(&self) -> Option<(&str, &[&str])> {
        // What was asked of the others is not the same.
        (self.rate == TOO_MANY && self.name != AS_FOUND).then_some((AS_FOUND, &[REQUEST]))
    }
}
