//! The decisions lab: a service that is fast for minutes, and then is not; and the gate that a release must pass.

use std::path::Path;

use anyhow::Result;
use checkout::Workspace;

use super::conclusion::{self, Concluded};
use super::figures;
use super::lab_case::{self, CaseOptions, LabCase, LabTable};
use super::system::LabSystem;
use super::tickets::NamesAndValues;

const SCRIPT: &str = "labs/decisions/decisions.load.ts";
const GATE: &str = "labs/decisions/gate.load.ts";
const REQUEST: &str = "Decide";

struct DecisionCase {
    name: &'static str,
    system: NamesAndValues,
    load: NamesAndValues,
    /// What `--long` changes of it.
    long: NamesAndValues,
    /// The rule that comes first, and what its claim says; none where nothing is wrong.
    expected: Option<(&'static str, &'static str)>,
    /// Of a gate, what it must end with; it is judged by that alone.
    exit_code: Option<i32>,
}

const TEN_MINUTES: NamesAndValues = &[("seconds", "590")];

/// Of the gate: enough for some tens of thousands of decisions, and what a release is really asked.
const TWO_MINUTES: NamesAndValues = &[("runTime", "2m")];
const GATE_LONG: NamesAndValues = &[("runTime", "10m")];

/// Through the rate that Kafka takes one by one, 175/s on a machine that others use and 290/s on a quiet one, and not far beyond: requests that reach
/// their time limit hide where their time went.
const KAFKA_LOAD: NamesAndValues = &[("rate", "340"), ("rampSeconds", "60"), ("seconds", "20"), ("traced", "1")];

const CASES: &[DecisionCase] = &[
    DecisionCase {
        name: "DNS per metric, two minutes",
        system: &[("DNS_CACHE", "none")],
        // At 600/s, requests begin to wait in the second minute where the machine is slow.
        load: &[("rate", "560"), ("seconds", "100")],
        long: &[],
        expected: Some(("growing-backlog", "look-ups of names")),
        exit_code: None,
    },
    DecisionCase {
        name: "DNS per metric",
        system: &[("DNS_CACHE", "none")],
        load: &[("seconds", "230")],
        long: TEN_MINUTES,
        expected: Some(("late-onset", "look-ups of names")),
        exit_code: None,
    },
    DecisionCase {
        name: "DNS cached for ever",
        system: &[("DNS_CACHE", "forever")],
        load: &[("seconds", "80"), ("moveAfter", "40s")],
        long: &[],
        expected: Some(("stale-address", "statsd.lab")),
        exit_code: None,
    },
    DecisionCase {
        name: "DNS cached for its time",
        system: &[],
        load: &[("seconds", "80"), ("moveAfter", "40s")],
        long: TEN_MINUTES,
        expected: None,
        exit_code: None,
    },
    DecisionCase {
        name: "Kafka per request",
        system: &[("KAFKA", "each"), ("TRACES", "on")],
        load: KAFKA_LOAD,
        long: &[],
        expected: Some(("span-growth", "`send decisions`, which \"decisions\" calls")),
        exit_code: None,
    },
    DecisionCase { name: "Kafka batched", system: &[("TRACES", "on")], load: KAFKA_LOAD, long: &[], expected: None, exit_code: None },
    DecisionCase { name: "healthy", system: &[], load: &[], long: TEN_MINUTES, expected: None, exit_code: None },
    DecisionCase { name: "gate: healthy", system: &[], load: TWO_MINUTES, long: GATE_LONG, expected: None, exit_code: Some(0) },
    DecisionCase {
        name: "gate: Kafka per request",
        system: &[("KAFKA", "each")],
        load: TWO_MINUTES,
        long: GATE_LONG,
        expected: None,
        exit_code: Some(3),
    },
];

pub(crate) fn decisions(workspace: &Workspace, options: &CaseOptions) -> Result<()> {
    let binary = lab_case::binary(workspace, options.binary.as_ref())?;
    let chosen = lab_case::chosen(CASES, &options.only)?;
    let runs = workspace.target.join("lab/decisions");
    let head = [
        "case",
        "per s",
        "p50",
        "p99.9",
        "p99.9, 95 %",
        "max",
        "failed",
        "gate",
        "measurement",
        "expected",
        "first finding",
        "right",
        "run",
    ];
    let table = LabTable { binary: &binary, runs: &runs, head: &head };
    lab_case::judge(&chosen, options.repeat, &table, |case| perform(workspace, &binary, &runs, case, options.long))
}

fn perform(workspace: &Workspace, binary: &Path, runs: &Path, case: &DecisionCase, long: bool) -> Result<Concluded> {
    let system = LabSystem::start(workspace, "decisions", case.system)?;
    let own = case.load.iter().chain(if long { case.long } else { &[] });
    let mut parameters: Vec<(&str, String)> = own.map(|(name, value)| (*name, (*value).to_owned())).collect();
    for part in ["processes", "kafka"] {
        parameters.push((part, system.address(part)?.to_owned()));
    }
    if case.exit_code.is_some() {
        return conclusion::run(binary, &workspace.root.join(GATE), runs, &parameters, None);
    }
    // Code is compiled the first time it runs: that is no part of what is asked here. But a name that is looked up once must be so in the run itself.
    if !case.system.contains(&("DNS_CACHE", "forever")) {
        let mut warm_up = parameters.clone();
        warm_up.extend([("seconds", "5".to_owned()), ("rampSeconds", "10".to_owned()), ("rate", "200".to_owned())]);
        conclusion::run(binary, &workspace.root.join(SCRIPT), &runs.join("warm-up"), &warm_up, None)?;
    }
    conclusion::run(binary, &workspace.root.join(SCRIPT), runs, &parameters, None)
}

impl LabCase for DecisionCase {
    fn name(&self) -> &str {
        self.name
    }

    fn is_named_by(&self, concluded: &Concluded) -> bool {
        if let Some(code) = self.exit_code {
            return concluded.used.exit_code == code;
        }
        match (self.expected, concluded.findings().next()) {
            (None, None) => true,
            (Some((wanted, part)), Some((rule, claim))) => rule == wanted && claim.contains(part),
            _ => false,
        }
    }

    fn row(&self, concluded: &Concluded, is_right: bool) -> Result<Vec<String>> {
        let request = concluded.row("requests", REQUEST)?;
        let times = &request["response"];
        let first = concluded.findings().next().map(|(rule, _)| rule.to_owned());
        Ok(vec![
            self.name.to_owned(),
            format!("{:.0}", request["rate"].as_f64().unwrap_or_default()),
            figures::percentile(times, 0.5),
            figures::percentile(times, 0.999),
            figures::interval(times, 0.999),
            times["max"].as_f64().map_or_else(|| "–".to_owned(), figures::seconds),
            request["failed"].as_u64().unwrap_or_default().to_string(),
            concluded.thresholds(),
            concluded.grade().to_owned(),
            self.exit_code.map_or_else(|| self.expected.map_or("nothing", |(rule, _)| rule).to_owned(), |code| format!("exit code {code}")),
            first.unwrap_or_else(|| "–".to_owned()),
            if is_right { "yes" } else { "NO" }.to_owned(),
            concluded.id().to_owned(),
        ])
    }

    fn baseline(&self) -> Option<(&str, &[&str])> {
        match self.name {
            "Kafka batched" => Some(("Kafka per request", &[REQUEST])),
            // The same system again: whatever differs is the test's own spread.
            "healthy" | "gate: healthy" => Some((self.name, &[REQUEST])),
            _ => None,
        }
    }
}
