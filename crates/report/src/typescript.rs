//! The types that the page shares with Rust, as TypeScript: `web/src/generated/report.ts` is written from them, and a test fails when that file
//! differs from what they say. Read [`Declarations`].
//!
//! Compiled for tests only, and for the crates that declare further types of the page.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use loadstone_analysis::RunComparison;
use loadstone_metrics::SeriesKey;
use loadstone_plan::ParameterKind;
use ts_rs::{Config, TS, TypeVisitor};

use crate::capacity::{CapacityView, RampView};
use crate::experiment::ExperimentView;
use crate::html::{HistorySource, LiveSource};
use crate::listing::RunRow;
use crate::live::{Delta, Steering};
use crate::trend::TrendView;
use crate::view::ReportView;

/// Set to `1`, it makes [`Declarations::compare`] write the file.
const UPDATE: &str = "UPDATE_TYPES";

/// Columns after which a line is broken.
const COLUMNS: usize = 120;

/// Declarations of TypeScript types, by their names.
#[derive(Debug, Clone, Default)]
pub struct Declarations {
    types: BTreeMap<String, String>,
}

impl Declarations {
    /// Every type of this crate, and of those below it, that the page reads.
    pub fn report() -> Self {
        Self::default()
            .with::<ReportView>()
            .with::<SeriesKey>()
            .with::<Delta>()
            .with::<Steering>()
            .with::<LiveSource<'static>>()
            .with::<HistorySource<'static>>()
            .with::<RunComparison>()
            .with::<ExperimentView>()
            .with::<CapacityView>()
            .with::<RampView>()
            .with::<TrendView>()
            .with::<RunRow>()
            .with::<ParameterKind>()
    }

    /// Adds a type and all that it consists of.
    #[must_use]
    pub fn with<T: TS + ?Sized + 'static>(mut self) -> Self {
        self.visit::<T>();
        self
    }

    /// The file's text. What `imported` declares is imported from there: a module, relative to the file.
    fn module(&self, imported: Option<(&Declarations, &str)>) -> String {
        let mut text =
            String::from("// The types of the crates, field for field. A test of the crates writes this file: see web/README.md.\n\n");
        let is_imported = |name: &str| imported.is_some_and(|(other, _)| other.types.contains_key(name));
        let own: Vec<&String> = self.types.iter().filter(|(name, _)| !is_imported(name)).map(|(_, declaration)| declaration).collect();
        if let Some((other, from)) = imported {
            let used = other.types.keys().filter(|name| own.iter().any(|declaration| names(declaration, name)));
            let _ = write!(text, "import type {{ {} }} from \"{from}\";\n\n", used.map(String::as_str).collect::<Vec<_>>().join(", "));
        }
        let own: Vec<&str> = own.into_iter().map(String::as_str).collect();
        text + &own.join("\n")
    }

    /// Compares the text of a file with what the types are now; with `UPDATE_TYPES=1` it writes the file.
    ///
    /// # Errors
    /// The file differs, or cannot be written: one sentence.
    pub fn compare(&self, file: &Path, imported: Option<(&Declarations, &str)>) -> Result<(), String> {
        let text = self.module(imported);
        if std::env::var(UPDATE).is_ok_and(|value| value == "1") {
            return std::fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()));
        }
        if std::fs::read_to_string(file).unwrap_or_default() != text {
            return Err(format!(
                "{} differs from the types of the crates: run the test with {UPDATE}=1 and commit the file",
                file.display()
            ));
        }
        Ok(())
    }
}

impl TypeVisitor for Declarations {
    fn visit<T: TS + ?Sized + 'static>(&mut self) {
        // Strings, numbers, lists and maps have no declaration, and a map has no name either.
        if T::output_path().is_none() {
            return;
        }
        let config = Config::new().with_large_int("number");
        let name = T::ident(&config);
        if self.types.contains_key(&name) {
            return;
        }
        self.types.insert(name, declaration(T::docs().as_deref(), &T::decl(&config)));
        T::visit_dependencies(self);
    }
}

/// Whether `word` occurs in a text and is no part of a longer name.
fn names(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

fn declaration(docs: Option<&str>, declaration: &str) -> String {
    let mut text = String::new();
    docs.into_iter().for_each(|docs| comment(&mut text, docs, ""));
    let (head, body) = declaration.split_once(" = ").unwrap_or((declaration, ""));
    let body = body.trim_end_matches(';').trim();
    match body.strip_prefix('{').and_then(|body| body.strip_suffix('}')).filter(|body| is_whole(body)) {
        Some(fields) => {
            let _ = writeln!(text, "export {} {{", head.replacen("type", "interface", 1));
            split(fields, ',').into_iter().for_each(|of| field(&mut text, of.trim()));
            text.push_str("}\n");
        }
        None if body.chars().count() > COLUMNS => {
            let _ = write!(text, "export {head} =");
            for variant in split(body, '|') {
                let _ = write!(text, "\n  | {}", flat(variant));
            }
            text.push_str(";\n");
        }
        None => {
            let _ = writeln!(text, "export {head} = {};", flat(body));
        }
    }
    text
}

/// A field with its comment before it. Where it may be absent, it is never `null`: serde leaves out what is `None`.
fn field(text: &mut String, field: &str) {
    let (docs, field) = field.split_once("*/").map_or(("", field), |(docs, field)| (docs, field.trim()));
    if field.is_empty() {
        return;
    }
    let (name, value) = field.split_once(": ").unwrap_or((field, "unknown"));
    comment(text, &docs.replace("`None`", if name.ends_with('?') { "`undefined`" } else { "`null`" }), "  ");
    let value = flat(value);
    let value = if name.ends_with('?') { value.trim_end_matches(" | null") } else { &value };
    let _ = writeln!(text, "  {name}: {value};");
}

/// As a comment, on one line where that is wide enough.
fn comment(text: &mut String, docs: &str, indent: &str) {
    let plain = without_links(&docs.replace("/**", "").replace("*/", ""));
    let lines: Vec<&str> = plain.lines().map(|line| line.trim().trim_start_matches('*').trim()).filter(|line| !line.is_empty()).collect();
    match lines[..] {
        [] => {}
        [line] => {
            let _ = writeln!(text, "{indent}/** {line} */");
        }
        _ => {
            let _ = writeln!(text, "{indent}/**");
            for line in lines {
                let _ = writeln!(text, "{indent} * {line}");
            }
            let _ = writeln!(text, "{indent} */");
        }
    }
}

/// A link of rustdoc, with or without its path, becomes the name that it shows.
fn without_links(docs: &str) -> String {
    let mut parts = docs.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("`]").unwrap_or((part, ""));
        let path = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let _ = write!(plain, "`{name}`{}", path.map_or(rest, |(_, rest)| rest));
    }
    plain
}

/// On one line, without the comma after the last field of an object.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace(", }", " }")
}

/// Whether the brackets within are closed there: `a } & { b` is two objects.
fn is_whole(text: &str) -> bool {
    let mut depth = 0_i32;
    outside_comments(text).all(|(_, c)| {
        depth += depth_change(c);
        depth >= 0
    })
}

/// The parts between separators that stand in no bracket and no comment.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in outside_comments(text) {
        depth += depth_change(c);
        if depth == 0 && c == separator {
            parts.push(&text[from..at]);
            from = at + separator.len_utf8();
        }
    }
    parts.push(&text[from..]);
    parts
}

fn depth_change(c: char) -> i32 {
    match c {
        '{' | '[' | '(' | '<' => 1,
        '}' | ']' | ')' | '>' => -1,
        _ => 0,
    }
}

fn outside_comments(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut ends_at = 0;
    text.char_indices().filter(move |(at, _)| {
        if *at >= ends_at && text[*at..].starts_with("/*") {
            ends_at = text[*at..].find("*/").map_or(text.len(), |end| at + end + 2);
        }
        *at >= ends_at
    })
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[test]
    fn the_page_has_the_types_of_the_crates() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/generated/report.ts");
        Declarations::report().compare(&file, None).unwrap();
    }

    #[derive(Serialize, TS)]
    struct Inner {
        place: u64,
    }

    /// What is sampled.
    #[derive(Serialize, TS)]
    struct Sampled {
        /// Of all, {in} braces, and so on: see [`Kind`] and [`Inner::place`](Inner).
        count: u64,
        #[serde(rename = "other-name")]
        renamed: bool,
        /// `None`: there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        absent: Option<f64>,
        null: Option<Vec<(String, f64)>>,
        #[serde(flatten)]
        inner: Inner,
    }

    #[derive(Serialize, TS)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        WholeRun,
        Every { seconds: u32 },
    }

    #[test]
    fn what_serde_writes_is_what_the_type_says() {
        let sampled = &Declarations::default().with::<Sampled>().types["Sampled"];
        let expected = "/** What is sampled. */\nexport interface Sampled {\n  /** Of all, {in} braces, and so on: see `Kind` and `Inner::place`. */\n  count: number;\n  \
                        \"other-name\": boolean;\n  /** `undefined`: there is none. */\n  absent?: number;\n  null: Array<[string, number]> | null;\n  place: number;\n}\n";
        assert_eq!(sampled, expected);
        let value = Sampled { count: 1, renamed: true, absent: None, null: None, inner: Inner { place: 2 } };
        assert_eq!(serde_json::to_string(&value).unwrap(), r#"{"count":1,"other-name":true,"null":null,"place":2}"#);
        let kind = &Declarations::default().with::<Kind>().types["Kind"];
        assert_eq!(kind, "export type Kind = \"whole_run\" | { \"every\": { seconds: number } };\n");
        assert_eq!(
            serde_json::to_string(&[Kind::WholeRun, Kind::Every { seconds: 2 }]).unwrap(),
            r#"["whole_run",{"every":{"seconds":2}}]"#
        );
    }
}
