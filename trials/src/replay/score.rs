//! Results of cases and the tables about them: where the published answer is among the services that the findings name, next to chance and floors.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::diagnose::wilson;

/// Services that count as an answer: the first, or the first three.
const TOP: usize = 3;

/// One case and what was concluded from it. A line of `results.jsonl`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ReplayResult {
    pub(super) case: String,
    pub(super) system: String,
    /// The published answer. Empty: there was no fault.
    pub(super) answer: String,
    pub(super) fault: String,
    /// What of the record was not in the folder.
    pub(super) missing: String,
    /// Whether the record has requests before and after the fault.
    pub(super) is_evaluated: bool,
    /// The services that the findings name, in the order of their rank.
    pub(super) named: Vec<String>,
    /// Whether the first of them is one of a pair, and whether the finding states the kind of resource that the data set states.
    pub(super) is_of_pair: bool,
    pub(super) is_kind_right: bool,
    /// The finding that names the first service. Without one, the first finding.
    pub(super) rule: String,
    pub(super) claim: String,
    pub(super) confidence: String,
    /// What was concluded if there is no finding.
    pub(super) remark: String,
    /// Services from which a method may choose.
    pub(super) candidates: usize,
    /// The first three of each floor.
    pub(super) alerts: Vec<String>,
    pub(super) baro: Vec<String>,
    #[serde(default)]
    pub(super) spans: Vec<String>,
    /// Name of the run directory. Empty: nothing was recorded.
    pub(super) run: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CaseRating {
    Right,
    /// Another service is named first.
    Wrong,
    /// No service is named.
    CannotTell,
}

impl ReplayResult {
    pub(super) fn is_healthy(&self) -> bool {
        self.answer.is_empty()
    }

    pub(super) fn rating(&self) -> CaseRating {
        match self.named.first() {
            None => CaseRating::CannotTell,
            Some(first) if *first == self.answer => CaseRating::Right,
            Some(_) => CaseRating::Wrong,
        }
    }

    fn is_in_top(&self, ranked: &[String], top: usize) -> bool {
        ranked.iter().take(top).any(|service| *service == self.answer)
    }
}

/// All tables.
pub(super) fn tables(results: &[ReplayResult]) -> String {
    let (healthy, faulty): (Vec<&ReplayResult>, Vec<&ReplayResult>) = results.iter().partition(|result| result.is_healthy());
    let with_readings: Vec<&ReplayResult> = faulty.iter().copied().filter(|result| !result.alerts.is_empty()).collect();
    let evaluated: Vec<&ReplayResult> = faulty.iter().copied().filter(|result| result.is_evaluated).collect();
    [
        localisation(&faulty),
        floors(&evaluated, "the same cases"),
        floors(&with_readings, "all cases with readings"),
        faults(&evaluated),
        quiet(&healthy),
        cases(&evaluated),
    ]
    .join("\n")
}

fn by_system<'a>(results: &[&'a ReplayResult]) -> BTreeMap<&'a str, Vec<&'a ReplayResult>> {
    let mut systems: BTreeMap<&str, Vec<&ReplayResult>> = BTreeMap::new();
    for result in results {
        systems.entry(&result.system).or_default().push(result);
    }
    systems
}

fn count(of: &[&ReplayResult], holds: impl Fn(&ReplayResult) -> bool) -> usize {
    of.iter().filter(|result| holds(result)).count()
}

/// `12 of 40: 30 % (18–45)`, with the 95 % interval.
fn share(hits: usize, of: usize) -> String {
    if of == 0 {
        return "–".to_owned();
    }
    let (low, high) = wilson(hits, of);
    format!("{hits} of {of}: {:.0} % ({:.0}–{:.0})", hits as f64 / of as f64 * 100.0, low * 100.0, high * 100.0)
}

fn localisation(faulty: &[&ReplayResult]) -> String {
    let mut text = "| system | published | evaluated | top-1 | top-3 | wrong | cannot tell | chance, top-1, top-3 |\n".to_owned();
    text += "|---|---|---|---|---|---|---|---|\n";
    for (system, all) in by_system(faulty) {
        let of: Vec<&ReplayResult> = all.iter().copied().filter(|result| result.is_evaluated).collect();
        let rated = |rating| share(count(&of, |result| result.rating() == rating), of.len());
        let top = share(count(&of, |result| result.is_in_top(&result.named, TOP)), of.len());
        let chance = |top: usize| {
            let of_case = |result: &&ReplayResult| (top as f64 / result.candidates.max(1) as f64).min(1.0);
            (of.iter().map(of_case).sum::<f64>() / of.len().max(1) as f64 * 100.0).abs()
        };
        let (right, wrong, none) = (rated(CaseRating::Right), rated(CaseRating::Wrong), rated(CaseRating::CannotTell));
        let (published, evaluated, one, three) = (all.len(), of.len(), chance(1), chance(TOP));
        let _ = writeln!(text, "| {system} | {published} | {evaluated} | {right} | {top} | {wrong} | {none} | {one:.0} %, {three:.0} % |");
    }
    text
}

fn floors(of: &[&ReplayResult], which: &str) -> String {
    let mut text = format!(
        "| floors, {which} | alerts, top-1 | alerts, top-3 | BARO's score, top-1 | BARO's score, top-3 | spans, top-1 | spans, top-3 |\n"
    );
    text += "|---|---|---|---|---|---|---|\n";
    for (system, of) in by_system(of) {
        let alerts = |top| share(count(&of, |result| result.is_in_top(&result.alerts, top)), of.len());
        let baro = |top| share(count(&of, |result| result.is_in_top(&result.baro, top)), of.len());
        let has_spans = of.iter().any(|result| !result.spans.is_empty());
        let spans = |top| match has_spans {
            true => share(count(&of, |result| result.is_in_top(&result.spans, top)), of.len()),
            false => "–".to_owned(),
        };
        let (alerts, baro, spans) = ((alerts(1), alerts(TOP)), (baro(1), baro(TOP)), (spans(1), spans(TOP)));
        let _ = writeln!(text, "| {system} | {} | {} | {} | {} | {} | {} |", alerts.0, alerts.1, baro.0, baro.1, spans.0, spans.1);
    }
    text
}

fn faults(evaluated: &[&ReplayResult]) -> String {
    let mut text =
        "| system, fault | cases | top-1 | and the kind | top-3 | wrong | cannot tell |\n|---|---|---|---|---|---|---|\n".to_owned();
    let mut kinds: BTreeMap<(&str, String), Vec<&ReplayResult>> = BTreeMap::new();
    for result in evaluated {
        // PetShop names only the symptom at the front end. The service distinguishes its issues.
        let fault =
            if result.system.starts_with("PetShop") { format!("{} of {}", result.fault, result.answer) } else { result.fault.clone() };
        kinds.entry((&result.system, fault)).or_default().push(result);
    }
    for ((system, fault), of) in kinds {
        let rated = |rating| count(&of, |result| result.rating() == rating);
        let kind = count(&of, |result| result.rating() == CaseRating::Right && result.is_kind_right);
        let top = count(&of, |result| result.is_in_top(&result.named, TOP));
        let (right, wrong, none) = (rated(CaseRating::Right), rated(CaseRating::Wrong), rated(CaseRating::CannotTell));
        let _ = writeln!(text, "| {system}, {fault} | {} | {right} | {kind} | {top} | {wrong} | {none} |", of.len());
    }
    text
}

fn quiet(healthy: &[&ReplayResult]) -> String {
    let mut text = "| windows without a fault | windows | a service accused | any finding |\n|---|---|---|---|\n".to_owned();
    for (system, of) in by_system(healthy) {
        let accused = share(count(&of, |result| !result.named.is_empty()), of.len());
        let any = share(count(&of, |result| !result.claim.is_empty()), of.len());
        let _ = writeln!(text, "| {system} | {} | {accused} | {any} |", of.len());
    }
    text
}

fn cases(evaluated: &[&ReplayResult]) -> String {
    let mut text = "| case | answer | named, in order | rule and claim, or remark |\n|---|---|---|---|\n".to_owned();
    for result in evaluated {
        let named =
            if result.named.is_empty() { "–".to_owned() } else { result.named.iter().take(TOP).cloned().collect::<Vec<_>>().join(", ") };
        let said = if result.claim.is_empty() { format!("({})", result.remark) } else { format!("{}: {}", result.rule, result.claim) };
        let said = said.replace('|', "/").replace('\n', " ");
        let _ = writeln!(text, "| {} | {}, {} | {named} | {said} |", result.case, result.answer, result.fault);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(answer: &str, named: &[&str]) -> ReplayResult {
        let named = named.iter().map(|name| (*name).to_owned()).collect();
        ReplayResult {
            system: "S".to_owned(),
            answer: answer.to_owned(),
            is_evaluated: true,
            named,
            candidates: 10,
            ..ReplayResult::default()
        }
    }

    #[test]
    fn every_case_is_right_wrong_or_without_a_service() {
        let ratings = [result("cart", &["cart", "ads"]), result("cart", &["ads", "cart"]), result("cart", &[])].map(|one| one.rating());
        assert_eq!(ratings, [CaseRating::Right, CaseRating::Wrong, CaseRating::CannotTell]);
    }

    #[test]
    fn top_three_counts_distinct_services_in_order() {
        let of = |named: &[&str]| {
            let result = result("cart", named);
            result.is_in_top(&result.named, TOP)
        };
        assert!(of(&["ads", "mail", "cart"]) && !of(&["ads", "mail", "front", "cart"]) && !of(&[]));
    }

    #[test]
    fn the_table_states_shares_of_the_evaluated_cases_and_chance() {
        let unread = ReplayResult { is_evaluated: false, ..result("cart", &[]) };
        let all = [result("cart", &["cart"]), result("cart", &["ads", "cart"]), result("cart", &[]), result("cart", &["ads"]), unread];
        let text = localisation(&all.iter().collect::<Vec<_>>());
        // Wilson's intervals of 1, 2, 2 and 1 of 4.
        let expected =
            "| S | 5 | 4 | 1 of 4: 25 % (5–70) | 2 of 4: 50 % (15–85) | 2 of 4: 50 % (15–85) | 1 of 4: 25 % (5–70) | 10 %, 30 % |";
        assert_eq!(text.lines().last(), Some(expected));
    }

    #[test]
    fn a_quiet_window_has_no_service_named() {
        let healthy = [result("", &["ads"]), ReplayResult { claim: "x".to_owned(), ..result("", &[]) }, result("", &[])];
        let text = quiet(&healthy.iter().collect::<Vec<_>>());
        assert!(text.ends_with("| S | 3 | 1 of 3: 33 % (6–79) | 1 of 3: 33 % (6–79) |\n"), "{text}");
    }
}
