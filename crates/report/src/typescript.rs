//! Generates the page's types (the modules in `web/src/generated`) from the Rust types. A test fails when a file differs from them. Read
//! [`PageTypes`].
//!
//! Compiled for tests only, and for crates that add further types of the page.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use loadstone_analysis::{RunComparison, Summary, Verdict};
use loadstone_metrics::SeriesKey;
use loadstone_plan::ParameterKind;
use ts_rs::{Config, TS, TypeVisitor};

use crate::capacity::{CapacityView, RampView};
use crate::experiment::ExperimentView;
use crate::html::{HistorySource, LiveSource};
use crate::listing::RunRow;
use crate::live::{Delta, Steering};
use crate::trend::TrendView;
use crate::view::{CloseUp, EvidenceCharts, ReportView, Timeline};

/// If this variable is `1`, [`PageTypes::compare`] writes the file.
const UPDATE: &str = "UPDATE_TYPES";

/// Longer lines are broken.
const COLUMNS: usize = 120;

/// The page's types as TypeScript modules. A type is declared in the first module that reaches it, so modules import from earlier ones only.
#[derive(Debug, Clone, Default)]
pub struct PageTypes {
    modules: Vec<PageModule>,
}

/// A file: TypeScript declarations by name.
#[derive(Debug, Clone)]
struct PageModule {
    name: &'static str,
    types: BTreeMap<String, String>,
}

impl PageTypes {
    /// Every type that the page reads from this crate and the crates below it.
    pub fn report() -> Self {
        let data = Self::default().module("verdict").with::<Verdict>().module("summary").with::<Summary>();
        let data = data.module("charts").with::<Timeline>().with::<CloseUp>().with::<EvidenceCharts>();
        let data = data.module("comparison").with::<RunComparison>();
        data.module("report")
            .with::<ReportView>()
            .with::<SeriesKey>()
            .with::<Delta>()
            .with::<Steering>()
            .with::<LiveSource<'static>>()
            .with::<HistorySource<'static>>()
            .with::<RunRow>()
            .with::<ParameterKind>()
            .module("answers")
            .with::<ExperimentView>()
            .with::<CapacityView>()
            .with::<RampView>()
            .with::<TrendView>()
    }

    /// Begins a module. The types that follow belong to it.
    #[must_use]
    pub fn module(mut self, name: &'static str) -> Self {
        self.modules.push(PageModule { name, types: BTreeMap::new() });
        self
    }

    /// Adds a type to the last module, and every type that it contains and no earlier module has.
    ///
    /// # Panics
    /// There is no module.
    #[must_use]
    pub fn with<T: TS + ?Sized + 'static>(mut self) -> Self {
        self.visit::<T>();
        self
    }

    /// The names of the modules, in order.
    pub fn modules(&self) -> Vec<&'static str> {
        self.modules.iter().map(|module| module.name).collect()
    }

    /// The content of a module's file.
    fn text(&self, at: usize) -> String {
        let own = &self.modules[at].types;
        let mut text =
            String::from("// The types of the crates, field for field. A test of the crates writes this file: see web/README.md.\n\n");
        for earlier in &self.modules[..at] {
            let used = earlier.types.keys().filter(|name| own.values().any(|declaration| names(declaration, name)));
            let used: Vec<&str> = used.map(String::as_str).collect();
            if !used.is_empty() {
                let line = format!("import type {{ {} }} from \"./{}.ts\";", used.join(", "), earlier.name);
                let broken = || format!("import type {{\n  {},\n}} from \"./{}.ts\";", used.join(",\n  "), earlier.name);
                let _ = writeln!(text, "{}", if line.len() > COLUMNS { broken() } else { line });
            }
        }
        if text.ends_with(";\n") {
            text.push('\n');
        }
        text + &own.values().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// Compares the files of some modules with the present types. With `UPDATE_TYPES=1` it writes them instead.
    ///
    /// # Errors
    /// A file differs, or cannot be written: one sentence.
    pub fn compare(&self, folder: &Path, modules: &[&str]) -> Result<(), String> {
        for (at, module) in self.modules.iter().enumerate().filter(|(_, module)| modules.contains(&module.name)) {
            let (file, text) = (folder.join(module.name).with_extension("ts"), self.text(at));
            if std::env::var(UPDATE).is_ok_and(|value| value == "1") {
                std::fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
            } else if std::fs::read_to_string(&file).unwrap_or_default() != text {
                let file = file.display();
                return Err(format!("{file} differs from the types of the crates: run the test with {UPDATE}=1 and commit the file"));
            }
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
        if self.modules.iter().any(|module| module.types.contains_key(&name)) {
            return;
        }
        let module = self.modules.last_mut().expect("`module` precedes `with`");
        module.types.insert(name, declaration(T::docs().as_deref(), &T::decl(&config)));
        T::visit_dependencies(self);
    }
}

/// Whether `word` occurs in the declaration outside of comments and is not part of a longer name.
fn names(declaration: &str, word: &str) -> bool {
    let code: String = outside_comments(declaration).map(|(_, c)| c).collect();
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
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
        let (types, folder) = (PageTypes::report(), Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/generated"));
        types.compare(&folder, &types.modules()).unwrap();
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

    #[derive(Serialize, TS)]
    struct Unused {}

    #[derive(Serialize, TS)]
    struct Outer {
        /// Not a use: [`Unused`].
        kind: Kind,
        sampled: Sampled,
        inner: Inner,
    }

    #[test]
    fn a_module_imports_the_types_of_earlier_ones() {
        let types = PageTypes::default().module("first").with::<Kind>().with::<Unused>().module("second").with::<Outer>();
        let text = types.text(1);
        let expected = "import type { Kind } from \"./first.ts\";\n\nexport interface Inner {";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("export interface Outer {") && !text.contains("export type Kind"), "{text}");
        assert!(!types.text(0).contains("import"), "{}", types.text(0));
    }

    #[test]
    fn what_serde_writes_is_what_the_type_says() {
        let sampled = &PageTypes::default().module("test").with::<Sampled>().modules[0].types["Sampled"];
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
        let kind = &PageTypes::default().module("test").with::<Kind>().modules[0].types["Kind"];
        assert_eq!(kind, "export type Kind = \"whole_run\" | { \"every\": { seconds: number } };\n");
        assert_eq!(
            serde_json::to_string(&[Kind::WholeRun, Kind::Every { seconds: 2 }]).unwrap(),
            r#"["whole_run",{"every":{"seconds":2}}]"#
        );
    }
}
