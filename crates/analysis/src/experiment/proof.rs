//! What becomes of a finding whose cause a knob turned.

use super::contrast::row_in_words;
use super::model::{ExperimentSubject, KnobContrast};
use super::settings::{KnobScale, TrialSettings};
use crate::{Finding, FindingProof, ProofState, RowVerdict, SubjectKind};

/// Whether a setting of this name is one that the finding is about: a word of it, of three letters or more, is a word of the finding's rule, its subject, its
/// evidence's series, or the settings that the rule lists.
pub fn names_knob(finding: &Finding, knob: &str) -> bool {
    let rule = crate::rules().iter().filter(|rule| rule.ids.iter().any(|id| finding.rule == *id));
    let settings = rule.flat_map(|rule| rule.settings).copied();
    let series = finding.evidence.iter().flat_map(|evidence| &evidence.series).map(String::as_str);
    let names = finding.subject.names().into_iter().chain(series).chain(settings).chain([finding.rule.as_str()]);
    let known: Vec<String> = names.flat_map(words).collect();
    words(knob).iter().any(|word| known.contains(word))
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= 3).map(singular).collect()
}

fn singular(word: &str) -> String {
    let word = word.to_lowercase();
    word.strip_suffix('s').filter(|stem| stem.len() >= 3).map(str::to_owned).unwrap_or(word)
}

/// Proved: with more room, or less delay, what the finding explains is better. Refuted: with more room it is surely not.
pub(super) fn of(finding: &Finding, settings: &TrialSettings, contrasts: &[KnobContrast]) -> FindingProof {
    let judged: Vec<(ProofState, String)> =
        contrasts.iter().zip(1..).map(|(contrast, value)| one(finding, contrast, eases(settings, value))).collect();
    let of = |wanted: ProofState| judged.iter().find(|(state, _)| *state == wanted);
    // One value that moves it is proof, whatever the others do; that none does must hold for all.
    let all_refute = !judged.is_empty() && judged.iter().all(|(state, _)| *state == ProofState::Refuted);
    let found = of(ProofState::Proved).or_else(|| of(ProofState::Refuted).filter(|_| all_refute)).or_else(|| of(ProofState::Undecided));
    let (state, because) = found.cloned().unwrap_or((ProofState::Undecided, "no other value was tried for long enough".to_owned()));
    FindingProof {
        rule: finding.rule.clone(),
        subject: finding.subject.clone(),
        claim: finding.claim.clone(),
        state,
        knob: settings.knob.clone(),
        because,
        experiment: String::new(),
    }
}

/// Whether a value is easier on the system than the first; `None`: nobody can know.
fn eases(settings: &TrialSettings, value: usize) -> Option<bool> {
    match (settings.values[0].scale, settings.values[value].scale) {
        (KnobScale::Amount(first), KnobScale::Amount(other)) => Some(other > first),
        (KnobScale::Delay(first), KnobScale::Delay(other)) => Some(other < first),
        _ => None,
    }
}

fn one(finding: &Finding, contrast: &KnobContrast, eases: Option<bool>) -> (ProofState, String) {
    let deciding = |subject: &ExperimentSubject| subject.rows.iter().any(|row| row.decides);
    let is_named = |subject: &&ExperimentSubject| subject.kind == SubjectKind::Request && finding.subject.is_about_request(&subject.name);
    let mut about: Vec<&ExperimentSubject> = contrast.subjects.iter().filter(is_named).filter(|subject| deciding(subject)).collect();
    if about.is_empty() {
        about = contrast.subjects.iter().filter(|subject| deciding(subject)).collect();
    }
    let rows = || about.iter().flat_map(|subject| subject.rows.iter().map(move |row| (*subject, row))).filter(|(_, row)| row.decides);
    let first = |wanted: RowVerdict| rows().find(|(_, row)| row.verdict == wanted);
    let evidence = |(subject, row)| format!("{} {} → {}: {}", "with", contrast.from, contrast.to, row_in_words(subject, row));
    let proves = if eases == Some(false) { RowVerdict::Worse } else { RowVerdict::Better };
    let denies = if eases == Some(false) { RowVerdict::Better } else { RowVerdict::Worse };
    if let Some(row) = first(proves) {
        return (ProofState::Proved, evidence(row));
    }
    if let Some(row) = first(denies) {
        // Of a value that may be easier or harder, the wrong way says nothing.
        return (if eases.is_some() { ProofState::Refuted } else { ProofState::Undecided }, evidence(row));
    }
    match (first(RowVerdict::CannotTell), first(RowVerdict::Same)) {
        (None, Some(row)) => (ProofState::Refuted, evidence(row)),
        (Some(row), _) => (ProofState::Undecided, evidence(row)),
        (None, None) => (ProofState::Undecided, "nothing of it was measured in every block".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Confidence, RuleId, Subject};

    #[test]
    fn a_knob_is_known_by_a_word_of_its_name() {
        let claim = "no word of this sentence counts, not even cache".to_owned();
        let found = Finding::new(RuleId::new("connection-pool"), Subject::request("Check out"), Confidence::High, claim);
        for (knob, named) in [("pool", true), ("database connections", true), ("cache", false), ("a", false), ("Pool size", true)] {
            assert_eq!(names_knob(&found, knob), named, "{knob}");
        }
    }
}
