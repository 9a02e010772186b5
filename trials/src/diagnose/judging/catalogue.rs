//! What is planted and what counts as finding it: `labs/diagnose/faults.json`, read and checked.
//!
//! The expectations are data next to each fault; its README describes the fields. Deliberately absent: how a fault is brought about, which only
//! the stacks know.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::phrase::Phrase;

/// Name of the entries without a fault.
pub(crate) const HEALTHY: &str = "healthy";
pub(crate) const OBSERVATIONS: &[&str] = &["nothing", "process", "all"];
/// How long the load of a cell lasts, unless its fault needs longer to show.
const SECONDS: u64 = 24;
pub(crate) const LOADS: &[&str] = &["constant", "ramp", "closed", "users"];

pub(crate) struct Catalogue {
    pub(crate) stacks: Vec<String>,
    pub(crate) faults: Vec<PlantedFault>,
    /// Rules that describe what happens and name no cause: neither right nor wrong.
    pub(crate) symptoms: Vec<String>,
    /// Names of the few cells that CI runs.
    pub(crate) slice: Vec<String>,
}

pub(crate) struct PlantedFault {
    pub(crate) name: String,
    pub(crate) is_healthy: bool,
    pub(crate) stacks: Vec<String>,
    pub(crate) loads: Vec<String>,
    /// Where it can show at all.
    pub(crate) observe: Vec<String>,
    pub(crate) severities: Vec<Severity>,
    /// How long the load lasts.
    pub(crate) seconds: u64,
}

/// A fault as it is switched on, and what then counts as finding it.
pub(crate) struct Severity {
    pub(crate) name: String,
    /// What the services read.
    pub(crate) settings: Value,
    pub(crate) right: Vec<AcceptedFinding>,
    /// True of this fault, but not its cause: as good as saying nothing.
    pub(crate) vague: Vec<AcceptedFinding>,
}

/// A finding that would do.
pub(crate) struct AcceptedFinding {
    /// Empty: of any rule.
    rules: Vec<String>,
    must: Vec<Phrase>,
    must_not: Vec<Phrase>,
    /// Whether the remark may state it if there is no finding: it is not a fault that needs a fix.
    in_remark: bool,
    /// Only under these observations, loads and stacks; empty: all.
    observe: Vec<String>,
    loads: Vec<String>,
    stacks: Vec<String>,
}

impl AcceptedFinding {
    pub(crate) fn is_for(&self, stack: &str, load: &str, observe: &str) -> bool {
        let among = |list: &[String], one: &str| list.is_empty() || list.iter().any(|entry| entry == one);
        among(&self.stacks, stack) && among(&self.loads, load) && among(&self.observe, observe)
    }

    pub(crate) fn is_met_by(&self, rule: &str, claim: &str) -> bool {
        (self.rules.is_empty() || self.rules.iter().any(|wanted| wanted == rule)) && self.is_in(claim)
    }

    pub(crate) fn is_met_by_remark(&self, remark: &str) -> bool {
        self.in_remark && self.is_in(remark)
    }

    fn is_in(&self, claim: &str) -> bool {
        self.must.iter().all(|phrase| phrase.is_in(claim)) && !self.must_not.iter().any(|phrase| phrase.is_in(claim))
    }
}

impl Catalogue {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let file = root.join("labs/diagnose/faults.json");
        let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        Self::parse(&text).with_context(|| format!("in {}", file.display()))
    }

    pub(crate) fn fault(&self, name: &str) -> Option<&PlantedFault> {
        self.faults.iter().find(|fault| fault.name == name)
    }

    fn parse(text: &str) -> Result<Self> {
        let all: Value = serde_json::from_str(text)?;
        knows_only(&all, &["stacks", "symptoms", "slice", "faults"])?;
        let stacks = texts(&all["stacks"])?;
        let faults: Vec<PlantedFault> = list(&all["faults"])?.iter().map(|entry| fault(entry, &stacks)).collect::<Result<_>>()?;
        let names: BTreeSet<&str> = faults.iter().map(|fault| fault.name.as_str()).collect();
        if names.len() < faults.len() {
            bail!("two faults have the same name");
        }
        Ok(Self { stacks, faults, symptoms: texts(&all["symptoms"])?, slice: texts(&all["slice"])? })
    }
}

fn fault(entry: &Value, all_stacks: &[String]) -> Result<PlantedFault> {
    let name = entry["name"].as_str().context("a fault without a name")?.to_owned();
    let read = || -> Result<PlantedFault> {
        knows_only(entry, &["name", "what", "stacks", "loads", "observe", "severities", "right", "vague", "seconds"])?;
        let stacks = if entry["stacks"].is_null() { all_stacks.to_vec() } else { texts(&entry["stacks"])? };
        let loads = texts(&entry["loads"])?;
        let all = || OBSERVATIONS.iter().map(|&observe| observe.to_owned()).collect();
        let observe = if entry["observe"].is_null() { all() } else { texts(&entry["observe"])? };
        among("observation", &observe, OBSERVATIONS)?;
        if entry["what"].as_str().is_none() {
            bail!("\"what\" is missing");
        }
        among("stack", &stacks, &all_stacks.iter().map(String::as_str).collect::<Vec<_>>())?;
        among("load", &loads, LOADS)?;
        let is_healthy = name.starts_with(HEALTHY);
        let severity = |(name, settings): (&String, &Value)| {
            let expectations = |list: &Value| {
                let list = list.as_array().into_iter().flatten();
                list.map(|one| expectation(one, settings)).collect::<Result<Vec<_>>>()
            };
            let (right, vague) = (expectations(&entry["right"])?, expectations(&entry["vague"])?);
            if is_healthy != right.is_empty() {
                bail!("a fault needs \"right\"; what is healthy has none");
            }
            Ok(Severity { name: name.clone(), settings: settings.clone(), right, vague })
        };
        let severities = entry["severities"].as_object().context("\"severities\" is not an object")?;
        let severities = severities.iter().map(severity).collect::<Result<Vec<_>>>()?;
        if loads.is_empty() || severities.is_empty() {
            bail!("\"loads\" and \"severities\" must not be empty");
        }
        let seconds = entry["seconds"].as_u64().unwrap_or(SECONDS);
        Ok(PlantedFault { name: name.clone(), is_healthy, stacks, loads, observe, severities, seconds })
    };
    read().with_context(|| format!("fault {name:?}"))
}

fn expectation(entry: &Value, settings: &Value) -> Result<AcceptedFinding> {
    knows_only(entry, &["rules", "must", "mustNot", "inRemark", "observe", "loads", "stacks", "why"])?;
    let phrases = |list: &Value| texts(list)?.iter().map(|text| Phrase::parse(text, settings)).collect::<Result<Vec<_>>>();
    let optional = |list: &Value| if list.is_null() { Ok(Vec::new()) } else { texts(list) };
    let must = phrases(&entry["must"])?;
    if must.is_empty() {
        bail!("an expectation without \"must\": a rule's name alone would let a vague claim pass");
    }
    let must_not = if entry["mustNot"].is_null() { Vec::new() } else { phrases(&entry["mustNot"])? };
    let observe = optional(&entry["observe"])?;
    let loads = optional(&entry["loads"])?;
    among("observation", &observe, OBSERVATIONS)?;
    among("load", &loads, LOADS)?;
    let in_remark = entry["inRemark"].as_bool().unwrap_or_default();
    Ok(AcceptedFinding {
        rules: optional(&entry["rules"])?,
        must,
        must_not,
        in_remark,
        observe,
        loads,
        stacks: optional(&entry["stacks"])?,
    })
}

fn list(value: &Value) -> Result<&Vec<Value>> {
    value.as_array().context("a list is missing")
}

fn texts(value: &Value) -> Result<Vec<String>> {
    list(value)?.iter().map(|text| Ok(text.as_str().context("a text was expected")?.to_owned())).collect()
}

fn among(what: &str, given: &[String], known: &[&str]) -> Result<()> {
    match given.iter().find(|one| !known.contains(&one.as_str())) {
        Some(unknown) => bail!("no {what} is called {unknown:?}"),
        None => Ok(()),
    }
}

/// A misspelt field would silently widen what is right.
fn knows_only(entry: &Value, fields: &[&str]) -> Result<()> {
    let entry = entry.as_object().context("an object was expected")?;
    match entry.keys().find(|field| !fields.contains(&field.as_str())) {
        Some(field) => bail!("no field is called {field:?}"),
        None => Ok(()),
    }
}

impl PlantedFault {
    pub(crate) fn severity(&self, name: &str) -> Option<&Severity> {
        self.severities.iter().find(|severity| severity.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue() -> Catalogue {
        Catalogue::read(super::super::root()).unwrap()
    }

    #[test]
    fn every_fault_is_read_and_something_is_healthy() {
        let catalogue = catalogue();
        assert!(catalogue.faults.iter().any(|fault| fault.is_healthy));
        assert!(catalogue.faults.iter().filter(|fault| !fault.is_healthy).count() > 15);
    }

    /// A remark that nothing is known must never count as right.
    #[test]
    fn a_vague_claim_is_right_for_no_fault() {
        for fault in &catalogue().faults {
            for claim in [
                "The target is slow",
                "Cannot tell what limits it",
                "The load generator limits the results, not the target alone",
                "Something they share limits the requests: a pool, a lock, a CPU or a dependency",
                "More comes in than goes out",
            ] {
                let met = fault.severities[0].right.iter().find(|right| right.must.iter().all(|phrase| phrase.is_in(claim)));
                assert!(met.is_none(), "{}: {claim}", fault.name);
            }
        }
    }

    /// A setting that a stack does not read would leave it healthy, and every finding about it wrong.
    #[test]
    fn every_stack_reads_what_its_faults_set() {
        /// The other runtimes compute on one core by nature.
        const OF_ITSELF: &str = "cores";
        let labs = super::super::root().join("labs/diagnose");
        let sources = |stack: &str| -> String {
            let own: &[&str] = match stack {
                "nginx" | "chain" | "redis" => &["node", "chain"],
                "jvm" => &["jvm/shop"],
                other => &[other],
            };
            let all = own.iter().map(|folder| labs.join(folder)).chain([labs.clone()]);
            let files = all.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
            let is_source =
                |file: &Path| file.extension().is_some_and(|end| ["mjs", "go", "py", "java"].iter().any(|source| end == *source));
            files.filter(|file| is_source(file)).map(|file| fs::read_to_string(file).unwrap()).collect()
        };
        for fault in &catalogue().faults {
            for stack in &fault.stacks {
                let text = sources(stack);
                for name in fault.severities.iter().flat_map(|severity| severity.settings.as_object().unwrap().keys()) {
                    assert!(name == OF_ITSELF || text.contains(name.as_str()), "{stack} reads no {name}, which {} sets", fault.name);
                }
            }
        }
    }

    #[test]
    fn a_misspelt_field_is_refused() {
        let text = r#"{ "stacks": ["node"], "symptoms": [], "slice": [], "faults": [
            { "name": "x", "what": "x", "loads": ["ramp"], "severities": { "plain": {} }, "right": [{ "must": ["lock"], "observed": ["all"] }] }] }"#;
        assert!(Catalogue::parse(text).is_err());
        assert!(Catalogue::parse(&text.replace("observed", "observe")).is_ok());
    }
}
