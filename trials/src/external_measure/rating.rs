//! Whether a first finding gives the answer of its fault, by the words of its claim.

/// A first finding is right if its claim has one of `places` and one of `causes`.
///
/// All are words or phrases in lower case; `*` at the end stands for any ending. With one of `symptoms` or `places` only, or if place and cause are only in
/// its evidence, the finding is partly right.
pub(crate) struct FaultAnswer {
    pub(crate) places: &'static [&'static str],
    pub(crate) causes: &'static [&'static str],
    pub(crate) symptoms: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClaimRating {
    Right,
    /// The place or the symptom without the cause, or both only in the evidence.
    Partly,
    Wrong,
    /// No finding.
    Nothing,
}

impl ClaimRating {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Partly => "partly",
            Self::Wrong => "WRONG",
            Self::Nothing => "nothing",
        }
    }
}

/// Rates the first finding: its claim, and the sentences of its evidence.
pub(crate) fn rate(answer: &FaultAnswer, claim: Option<&str>, evidence: &str) -> ClaimRating {
    let Some(claim) = claim else { return ClaimRating::Nothing };
    let gives_answer = |text: &str| has_any(text, answer.places) && has_any(text, answer.causes);
    if gives_answer(claim) {
        ClaimRating::Right
    } else if has_any(claim, answer.places) || has_any(claim, answer.symptoms) || gives_answer(evidence) {
        ClaimRating::Partly
    } else {
        ClaimRating::Wrong
    }
}

fn has_any(text: &str, phrases: &[&str]) -> bool {
    let text = text.to_lowercase();
    phrases.iter().any(|phrase| has(&text, phrase))
}

/// Whether the phrase occurs as whole words; with `*` at its end, as the beginning of a word.
fn has(text: &str, phrase: &str) -> bool {
    let is_part_of_word = |character: char| character.is_alphanumeric() || character == '_';
    let (words, any_ending) = phrase.strip_suffix('*').map_or((phrase, false), |words| (words, true));
    text.match_indices(words).any(|(at, found)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_part_of_word) && (any_ending || !after.is_some_and(is_part_of_word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: FaultAnswer = FaultAnswer { places: &["ad", "cpuload*"], causes: &["cpu"], symptoms: &["slow*"] };

    #[test]
    fn a_claim_with_place_and_cause_is_right() {
        assert_eq!(rate(&ANSWER, Some("\"ad\" uses all CPU"), ""), ClaimRating::Right);
        assert_eq!(rate(&ANSWER, Some("CPULoad$Worker.run uses 2 cores of CPU"), ""), ClaimRating::Right);
    }

    #[test]
    fn a_word_within_another_word_does_not_count() {
        assert_eq!(rate(&ANSWER, Some("the load needs more CPU"), ""), ClaimRating::Wrong);
    }

    #[test]
    fn a_symptom_or_an_answer_in_the_evidence_is_partly_right() {
        assert_eq!(rate(&ANSWER, Some("requests became slower"), ""), ClaimRating::Partly);
        assert_eq!(rate(&ANSWER, Some("throughput stops at 30/s"), "process ad: 1.9 cores of CPU"), ClaimRating::Partly);
        assert_eq!(rate(&ANSWER, None, ""), ClaimRating::Nothing);
    }
}
