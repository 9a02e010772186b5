//! Generates the page's types (`web/src/generated/report.ts`) from the Rust types. A test fails when the file differs from them. Read
//! [`PageTypes`].
//!
//! Compiled for tests only, and for crates that add further types of the page.

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

/// If this variable is `1`, [`PageTypes::compare`] writes the file.
const UPDATE: &str = "UPDATE_TYPES";

/// Longer lines are broken.
const COLUMNS: usize = 120;

/// The page's types: TypeScript declarations by name.
#[derive(Debug, Clone, Default)]
pub struct PageTypes {
    types: BTreeMap<String, String>,
}

impl PageTypes {
    /// Every type that the page reads from this crate and the crates below it.
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

    /// Adds a type and every type that it contains.
    #[must_use]
    pub fn with<T: TS + ?Sized + 'static>(mut self) -> Self {
        self.visit::<T>();
        self
    }

    /// The content of the file. It imports the declarations of `imported` from a module, given relative to the file.
    fn module(&self, imported: Option<(&PageTypes, &str)>) -> String {
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

    /// Compares a file with the present types. With `UPDATE_TYPES=1` it writes the file instead.
    ///
    /// # Errors
    /// The file differs, or cannot be written: one sentence.
    pub fn compare(&self, file: &Path, imported: Option<(&PageTypes, &str)>) -> Result<(), String> {
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

impl TypeVisitor for PageTypes {
    fn visit<T: TS + ?Sized + 'static>(&mut self) {
        // Strings, numbers, lists and maps have no declaration. A map has no name either.
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

/// Whether `word` occurs in the declaration and is not part of a longer name.
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

/// Writes a field, preceded by its comment. An optional field is never `null`, because serde leaves out `None`.
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

/// Writes a comment, on one line if it has only one.
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

/// Replaces a rustdoc link, with or without its path, with the name that it shows.
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

/// Joins a declaration to one line and removes the comma after the last field of an object.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace(", }", " }")
}

/// Whether all brackets are closed within the string: `a } & { b` is two objects.
fn is_whole(text: &str) -> bool {
    let mut depth = 0_i32;
    outside_comments(text).all(|(_, c)| {
        depth += depth_change(c);
        depth >= 0
    })
}

/// Splits at separators that are outside of brackets and comments.
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
        PageTypes::report().compare(&file, None).unwrap();
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
        let sampled = &PageTypes::default().with::<Sampled>().types["Sampled"];
        let expected = [
            "/** What is sampled. */",
            "export interface Sampled {",
            "  /** Of all, {in} braces, and so on: see `Kind` and `Inner::place`. */",
            "  count: number;",
            "  \"other-name\": boolean;",
            "  /** `undefined`: there is none. */",
            "  absent?: number;",
            "  null: Array<[string, number]> | null;",
            "  place: number;",
            "}",
        ];
        assert_eq!(sampled.lines().collect::<Vec<_>>(), expected);
        let value = Sampled { count: 1, renamed: true, absent: None, null: None, inner: Inner { place: 2 } };
        assert_eq!(serde_json::to_string(&value).unwrap(), r#"{"count":1,"other-name":true,"null":null,"place":2}"#);
        let kind = &PageTypes::default().with::<Kind>().types["Kind"];
        assert_eq!(kind, "export type Kind = \"whole_run\" | { \"every\": { seconds: number } };\n");
        assert_eq!(
            serde_json::to_string(&[Kind::WholeRun, Kind::Every { seconds: 2 }]).unwrap(),
            r#"["whole_run",{"every":{"seconds":2}}]"#
        );
    }
}
