//! Plain English: words that documents, comments and messages avoid, each with the words to use instead.
//!
//! In documents every line counts, without code blocks and code spans. In code the comments and the strings count, so that names do not. `cargo xtask
//! prose` counts the places per folder; [`IS_ENFORCED`] makes each one a complaint of the tidy check.

use std::collections::BTreeMap;
use std::path::Path;

use super::exceptions::{ExceptionRule, Exceptions};

/// Whether `cargo xtask tidy` complains.
pub(super) const IS_ENFORCED: bool = true;

/// Words or phrases, in lower case, and what to write instead. Each matches whole words only.
const AVOIDED: &[(&[&str], &str)] = &[
    (&["tell", "tells", "told"], "report, show, describe, detect, distinguish"),
    (&["said"], "reported, described"),
    (&["mend", "mended", "mends", "mending"], "fix, fixed"),
    (&["beside"], "next to, in addition to"),
    (&["whoever"], "name the person or program"),
    (&["falls short", "fall short", "fell short"], "fails, misses the target by …"),
    (&["held against", "holds against", "hold against"], "checked against, compared with"),
    (&["looked at", "looks at", "look at"], "checked, examined"),
    (&["of its own", "of their own", "of one's own"], "its own, separate, custom"),
    (&["in doubt"], "uncertain, may be off by …"),
    (&["that which"], "name the thing"),
    (&["the way of"], "the path of, along"),
    (&["turn a knob", "turns a knob", "turned a knob"], "change a setting"),
    (&["there and back"], "back and forth"),
    (&["leaves word", "leave word"], "records, reports"),
];

/// Fixed phrases that are not searched: the slogan, and the verdict "cannot tell".
const ALLOWED: &[&str] = &["load tests that tell you why", "cannot tell"];

/// Folders and files of the repository whose text is prose of ours.
const PLACES: &[&str] = &[
    "crates/",
    "docs/",
    "trials/",
    "types/",
    "web/src/",
    "web/test/",
    "xtask/",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
];
const CODE: &[&str] = &["rs", "ts", "js", "mjs", "svelte"];
/// This list itself.
const OWN_LIST: &str = "xtask/src/tidy/prose.rs";

/// `FILE:LINE: avoid "told" (use: …)` for each avoided word in a file. An exception is a word in a file.
pub(super) fn complaints(path: &str, text: &str, exceptions: &Exceptions) -> Vec<String> {
    let found = places(path, text).into_iter().filter(|(_, word, _)| !exceptions.allow(ExceptionRule::Prose, &format!("{path} {word}")));
    found.map(|(line, word, instead)| format!("{path}:{line}: avoid \"{word}\" (use: {instead})")).collect()
}

/// How many places each folder has, two levels deep, the worst first.
pub(super) fn counts<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in files {
        let count = places(path, text).len();
        if count > 0 {
            let folder: Vec<&str> = path.split('/').take(2).collect();
            *counts.entry(folder.join("/")).or_default() += count;
        }
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// Line, word and what to write instead.
fn places(path: &str, text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let prose: fn(&str) -> Vec<(usize, String)> = match extension {
        _ if path == OWN_LIST || !PLACES.iter().any(|place| path.starts_with(place)) => return Vec::new(),
        "md" => document,
        _ if CODE.contains(&extension) => comments_and_strings,
        _ => return Vec::new(),
    };
    prose(text).iter().flat_map(|(line, prose)| words_in(prose).map(|(word, instead)| (*line, word, instead))).collect()
}

fn words_in(prose: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lower = ALLOWED.iter().fold(without_placeholders(prose).to_lowercase(), |prose, phrase| prose.replace(phrase, ""));
    let all = AVOIDED.iter().flat_map(|(words, instead)| words.iter().map(move |word| (*word, *instead)));
    all.flat_map(move |(word, instead)| {
        let is_letter = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        let whole = lower
            .match_indices(word)
            .filter(|(at, _)| !is_letter(lower[..*at].chars().next_back()) && !is_letter(lower[at + word.len()..].chars().next()));
        whole.map(|_| (word, instead)).collect::<Vec<_>>()
    })
}

/// `{name}` in a format string is code.
fn without_placeholders(prose: &str) -> String {
    let mut parts = prose.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}').filter(|(inside, _)| !inside.contains(' ')) {
            Some((_, rest)) => text.push_str(rest),
            None => text.push_str(part),
        }
    }
    text
}

/// The lines of a document, without code.
fn document(text: &str) -> Vec<(usize, String)> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push((number, line.split('`').step_by(2).collect::<Vec<_>>().join("`")));
        }
    }
    lines
}

/// What a line of code has in comments and between quotes. A scanner of lines: it may take a quote within a raw string for its end, which loses words.
fn comments_and_strings(text: &str) -> Vec<(usize, String)> {
    (1..).zip(text.lines()).map(|(number, line)| (number, prose_of_line(line))).filter(|(_, prose)| !prose.is_empty()).collect()
}

fn prose_of_line(line: &str) -> String {
    let trimmed = line.trim_start();
    if trimmed.starts_with("//") || trimmed.starts_with("* ") || trimmed.starts_with("/*") || trimmed.starts_with("<!--") {
        return trimmed.split('`').step_by(2).collect::<Vec<_>>().join("`");
    }
    let (mut prose, mut quote, mut letters) = (String::new(), None, line.chars().peekable());
    while let Some(letter) = letters.next() {
        match quote {
            Some(_) if letter == '\\' => drop(letters.next()),
            Some(open) if letter == open => {
                quote = None;
                prose.push('\n');
            }
            Some(_) => prose.push(letter),
            None if letter == '/' && letters.peek() == Some(&'/') => {
                prose.extend(letters.by_ref());
            }
            None if letter == '"' => quote = Some(letter),
            None => {}
        }
    }
    // A string that goes on in the next line may be all prose.
    prose
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, &'static str)> {
        places(path, text).into_iter().map(|(line, word, _)| (line, word)).collect()
    }

    #[test]
    fn documents_are_prose_without_their_code() {
        assert_eq!(found("docs/a.md", "It is Told.\n`told` retold\n```\ntold\n```\nheld against it"), [(1, "told"), (6, "held against")]);
        assert!(found("labs/a.md", "told").is_empty());
    }

    #[test]
    fn comments_and_strings_are_prose_and_names_are_not() {
        let text = "/// The told one.\nlet told = said(told); // beside\nprintln!(\"in doubt: {told} {} \\\" mend\");\n";
        assert_eq!(found("crates/a/src/a.rs", text), [(1, "told"), (2, "beside"), (3, "mend"), (3, "in doubt")]);
    }

    #[test]
    fn places_are_counted_per_folder() {
        let files =
            [("docs/a.md", "told told"), ("crates/plan/src/a.rs", "// said"), ("crates/plan/tests/b.rs", "// told"), ("README.md", "fine")];
        assert_eq!(counts(files.into_iter()), [("crates/plan".to_owned(), 2), ("docs/a.md".to_owned(), 2)]);
    }

    #[test]
    fn an_exception_names_file_and_word() {
        let exceptions = Exceptions::parse("prose docs/a.md told  a quotation\n").unwrap();
        assert_eq!(complaints("docs/a.md", "told\nsaid", &exceptions), ["docs/a.md:2: avoid \"said\" (use: reported, described)"]);
        assert!(exceptions.stale().is_empty());
    }
}
