//! Whether a sentence says something: a small pattern of words and numbers, strict enough that a vague sentence does not match.
//!
//! A pattern is a list of alternatives, `one core|1 core`; an alternative is words that must follow each other. A word is taken as it is, in any case;
//! `lock*` is any word that begins so, `2..4` any number in that range, `~8` one within 15 % of 8, `@9..12` an instant in that range of seconds
//! (`0:10`, or `10 s`). `{pool}` stands for that setting of the fault.

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// How far from a number another may be to be the same.
const NEAR: f64 = 0.15;
/// How wide `3 to 5` may be to say a number at all.
const SPAN_MAX: f64 = 2.0;

/// One pattern.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Phrase {
    alternatives: Vec<Vec<PhraseWord>>,
}

#[derive(Debug, Clone, PartialEq)]
enum PhraseWord {
    Exact(String),
    Prefix(String),
    Number(f64, f64),
    Instant(f64, f64),
}

impl Phrase {
    pub(crate) fn parse(text: &str, settings: &Value) -> Result<Self> {
        let text = &filled(text, settings)?;
        let alternatives: Vec<Vec<PhraseWord>> =
            text.split('|').map(|part| part.split_whitespace().map(word).collect()).collect::<Result<_>>()?;
        if alternatives.iter().any(Vec::is_empty) {
            bail!("the pattern {text:?} has an empty alternative");
        }
        Ok(Self { alternatives })
    }

    pub(crate) fn is_in(&self, sentence: &str) -> bool {
        let words = words(sentence);
        self.alternatives.iter().any(|wanted| (0..words.len()).any(|start| follow(wanted, &words[start..])))
    }
}

/// Whether these words begin so.
fn follow(wanted: &[PhraseWord], words: &[String]) -> bool {
    let Some((first, rest)) = wanted.split_first() else { return true };
    first.lengths(words).into_iter().any(|length| follow(rest, &words[length..]))
}

/// The settings of the fault in place of their names: `{stall.every}`.
fn filled(text: &str, settings: &Value) -> Result<String> {
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (path, rest) = part.split_once('}').with_context(|| format!("a brace is open in {text:?}"))?;
        let value = path.split('.').fold(settings, |value, name| &value[name]);
        filled += &value.as_f64().with_context(|| format!("the fault sets no number {path:?}"))?.to_string();
        filled += rest;
    }
    Ok(filled)
}

/// Lower case, without the punctuation around it. `Lock:tuple` is two words, `0:10` is one.
fn words(sentence: &str) -> Vec<String> {
    let words = sentence.split(|letter: char| letter.is_whitespace() || letter == '/' || letter == '–');
    let parts = words.flat_map(|word| if clock(word).is_some() { vec![word] } else { word.split(':').collect() });
    parts
        .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '%').to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

fn word(text: &str) -> Result<PhraseWord> {
    let range = |text: &str| -> Result<(f64, f64)> {
        let (low, high) = text.split_once("..").context("a range needs two ends")?;
        Ok((low.parse()?, high.parse()?))
    };
    let lower = text.to_lowercase();
    if let Some(instant) = lower.strip_prefix('@') {
        let (low, high) = range(instant).with_context(|| format!("the instant {text:?}"))?;
        return Ok(PhraseWord::Instant(low, high));
    }
    if let Some(near) = lower.strip_prefix('~') {
        let near: f64 = near.parse().with_context(|| format!("the number {text:?}"))?;
        return Ok(PhraseWord::Number(near * (1.0 - NEAR), near * (1.0 + NEAR)));
    }
    if lower.contains("..") {
        let (low, high) = range(&lower).with_context(|| format!("the range {text:?}"))?;
        return Ok(PhraseWord::Number(low, high));
    }
    Ok(lower.strip_suffix('*').map_or_else(|| PhraseWord::Exact(lower.clone()), |start| PhraseWord::Prefix(start.to_owned())))
}

impl PhraseWord {
    /// How many of these words it can match: none, one, or three if a number is written as `3 to 5`.
    fn lengths(&self, words: &[String]) -> Vec<usize> {
        let Some(first) = words.first() else { return Vec::new() };
        let one = match self {
            Self::Exact(wanted) => first == wanted,
            Self::Prefix(start) => first.starts_with(start.as_str()),
            Self::Number(low, high) => number(first).is_some_and(|number| (*low..=*high).contains(&number)),
            Self::Instant(low, high) => {
                let unit = words.get(1).is_some_and(|unit| unit == "s" || unit == "seconds");
                let plain = if unit { number(first) } else { None };
                clock(first).or(plain).is_some_and(|seconds| (*low..=*high).contains(&seconds))
            }
        };
        let mut lengths = Vec::new();
        if one {
            lengths.push(1);
        }
        if let (Self::Number(low, high), [from, to, until, ..]) = (self, words)
            && let (Some(from), Some(until)) = (number(from), number(until))
            && to == "to"
            && until <= SPAN_MAX * from
            && (from..=until).contains(&f64::midpoint(*low, *high))
        {
            lengths.push(3);
        }
        lengths
    }
}

/// `1,234.5`
fn number(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok()
}

/// `1:05` is 65 seconds.
fn clock(text: &str) -> Option<f64> {
    let text = text.trim_matches(|letter: char| !letter.is_ascii_digit());
    let (minutes, seconds) = text.split_once(':')?;
    Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn says(pattern: &str, sentence: &str) -> bool {
        Phrase::parse(pattern, &json!({ "pool": 4, "stall": { "every": 8 } })).unwrap().is_in(sentence)
    }

    #[test]
    fn words_follow_each_other_in_any_case_and_punctuation() {
        assert!(says("at a time", "\"Buy\" is served about 4 at a time: a pool."));
        assert!(says("buy", "\"Buy\" is served"));
        assert!(!says("time at", "served 4 at a time"));
        assert!(!says("lock", "\"list\" is blocked"), "a word is not found inside another");
    }

    #[test]
    fn alternatives_prefixes_and_ranges() {
        assert!(says("one core|1 core", "used 1 core of 2"));
        assert!(says("lock*", "waits for locks"));
        assert!(says("wal*", "sessions wait for LWLock:WALWrite, on average"));
        assert!(says("3..5 at a time", "about 4 at a time"));
        assert!(!says("3..5 at a time", "about 6 at a time"));
        assert!(says("1000..2000", "1,200 failures"));
    }

    #[test]
    fn a_narrow_span_says_its_number() {
        assert!(says("~4 at a time", "served about 3 to 5 at a time"));
        assert!(!says("~4 at a time", "served about 1 to 9 at a time"), "that says nothing");
        assert!(!says("~4 at a time", "served about 5 to 7 at a time"));
    }

    #[test]
    fn an_instant_is_a_time_of_the_run() {
        assert!(says("@9..12", "went from 4 to 400 ms at 0:10 while"));
        assert!(says("@9..12", "since 10 s"));
        assert!(!says("@9..12", "10 of 20 failed"), "a bare number is no instant");
        assert!(!says("@9..12", "at 0:20"));
    }

    #[test]
    fn settings_stand_for_their_numbers() {
        assert!(says("~{pool} at a time", "about 4.2 at a time") && !says("~{pool} at a time", "about 5 at a time"));
        assert!(says("every ~{stall.every} s", "Every 8 s"));
        assert!(Phrase::parse("{size}", &json!({ "pool": 4 })).is_err());
    }

    #[test]
    fn an_empty_alternative_would_match_everything() {
        for pattern in ["lock|", "", "2.."] {
            assert!(Phrase::parse(pattern, &json!({})).is_err());
        }
    }
}
