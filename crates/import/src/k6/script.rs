//! One file: translated until nothing more has to be left out, and put together.

use std::collections::{HashMap, HashSet};

use oxc_ast::AstKind;
use oxc_semantic::{NodeId, SymbolId};
use oxc_span::Span;

use super::edits::Pieces;
use super::effects::Effects;
use super::emulation::HELPERS;
use super::environment::Environment;
use super::kinds::Kinds;
use super::library::rebased;
use super::names::{K6Module, Names};
use super::rewrite::{Rewrite, local_name};
use super::state::{ModuleFacts, Omissions, PARAMETERS, ScriptFile, State, TranslatedFile};
use super::steps::commented;
use super::summary::is_plain;
use super::test::Test;
use super::tree::Tree;
use super::values::Value;
use crate::error::ImportError;
use crate::imported::{Note, NoteKind};
use crate::text::{fresh, quoted};

impl State<'_, '_> {
    pub(super) fn translate(&self, file: &ScriptFile<'_>, notes: &mut Vec<Note>) -> Result<TranslatedFile, ImportError> {
        let tree = self.tree;
        let mut taken: HashSet<String> = tree.names().map(|(_, name)| name.to_owned()).collect();
        let user = ["user", "vu", "virtualUser"]
            .into_iter()
            .find(|name| !taken.contains(*name))
            .map_or_else(|| fresh(&mut taken, "user"), str::to_owned);
        let environment = Environment::of(tree, &|name| self.is_shared(file, name));
        let kinds = Kinds::of(tree, self.names);
        let exported = self.exports();
        let options = exported.get("options").copied().filter(|_| file.is_test);
        let test = file.is_test.then(|| Test::of(self, file, &exported)).transpose()?;
        let entries: HashSet<NodeId> = test.as_ref().map(|test| test.functions().collect()).unwrap_or_default();
        let mut left_out = Omissions::new();
        let summary = exported.get("handleSummary").copied().filter(|_| file.is_test);
        let kept_summary = summary.filter(|&summary| is_plain(tree, self.names, summary));
        if let Some(summary) = summary.filter(|_| kept_summary.is_none())
            && let Some(statement) = tree.statement(summary)
        {
            left_out.insert(statement, "Loadstone prints its own summary: export a function `summarize` to write custom files".into());
        }
        loop {
            let inside = self.inside(&left_out);
            let is_left_out = |id: NodeId| inside[id.index()];
            let here = |id: NodeId| left_out.get(&id).cloned();
            let effects = Effects::of(tree, self.names, &entries, &is_left_out);
            let mut rewrite =
                Rewrite::new(tree, self.names, &effects, &kinds, &is_left_out, &here, &environment, &user, self.folder, file.is_test);
            if let Some(summary) = kept_summary {
                rewrite.summary(summary);
            }
            rewrite.all();
            let problems: Vec<(NodeId, String)> = rewrite.problems.drain(..).chain(self.consequences(&left_out)).collect();
            let mut more = Omissions::new();
            for (id, reason) in problems {
                if options.is_some_and(|options| tree.statement(options).is_some_and(|statement| tree.within(id, statement))) {
                    notes.push(note(tree, id, NoteKind::LeftOut, &reason));
                } else if let Some(place) = self.place_of(id)
                    && !left_out.contains_key(&place)
                    && !inside[place.index()]
                {
                    more.entry(place).or_insert(reason);
                }
            }
            if more.is_empty() {
                return self.finish(file, rewrite, &left_out, test, notes);
            }
            left_out.extend(more);
        }
    }

    /// Whether a variable of the environment has its parameter in the file of shared ones. From outside of the script's folder there is no way to it.
    fn is_shared(&self, file: &ScriptFile<'_>, name: &str) -> bool {
        if file.is_test { self.shared.contains_key(name) } else { !file.path.starts_with("..") }
    }

    /// Names at the top of the file that are exported, with the node that they stand for.
    fn exports(&self) -> HashMap<String, NodeId> {
        let tree = self.tree;
        let mut exports = HashMap::new();
        for id in tree.all() {
            match tree.kind(id) {
                AstKind::ExportDeclaration(_) => {
                    let Some(&declaration) = tree.children(id).first() else { continue };
                    if let AstKind::VariableDeclaration(_) = tree.kind(declaration) {
                        for &declarator in tree.children(declaration) {
                            let Some(&name) = tree.children(declarator).first() else { continue };
                            let value = tree.children(declarator).last().copied().unwrap_or(name);
                            exports.insert(tree.source(name).split(':').next().unwrap_or("").trim().to_owned(), value);
                        }
                    } else if let Some(name) = tree.bound(declaration).1 {
                        exports.insert(name, declaration);
                    }
                }
                AstKind::ExportDefaultDeclaration(_) => {
                    if let Some(&value) = tree.children(id).first() {
                        exports.insert("default".into(), value);
                    }
                }
                AstKind::ExportSpecifier(specifier) => {
                    if let Some(&local) = tree.children(id).first() {
                        exports.insert(specifier.exported.name().to_string(), local);
                    }
                }
                _ => {}
            }
        }
        exports
    }

    /// What is within something that is left out, by node.
    fn inside(&self, left_out: &Omissions) -> Vec<bool> {
        let mut inside = Vec::new();
        for id in self.tree.all() {
            let above = self.tree.parent(id).is_some_and(|parent| inside[parent.index()]);
            inside.push(above || left_out.contains_key(&id));
        }
        inside
    }

    /// Uses of what is declared, or only assigned, in what is left out.
    fn consequences(&self, left_out: &Omissions) -> Vec<(NodeId, String)> {
        let tree = self.tree;
        let inside = self.inside(left_out);
        let mut found = Vec::new();
        for (symbol, name) in tree.names() {
            let gone = self.is_gone(symbol, &inside);
            if gone {
                let uses = tree.references(symbol).into_iter().filter(|used| !inside[used.index()]);
                found.extend(uses.map(|used| (used, format!("it needs `{name}`, which is left out"))));
            }
        }
        found
    }

    fn is_gone(&self, symbol: SymbolId, inside: &[bool]) -> bool {
        let tree = self.tree;
        if self.names.thing(symbol).is_some() {
            return false;
        }
        let declared = tree.declared(symbol);
        if inside[declared.index()] {
            return true;
        }
        let AstKind::VariableDeclarator(declarator) = tree.kind(declared) else { return false };
        let written: Vec<NodeId> = tree.references(symbol).into_iter().filter(|&used| tree.is_assigned(used)).collect();
        declarator.init.is_none() && !written.is_empty() && written.iter().all(|used| inside[used.index()])
    }

    /// The statement around a problem; or only the entry of a check.
    fn place_of(&self, id: NodeId) -> Option<NodeId> {
        let tree = self.tree;
        let statement = tree.statement(id)?;
        let entry = tree.ancestors(id).take_while(|&at| at != statement).find(|&at| {
            let checks = tree.parent(at);
            let call = checks.and_then(|checks| tree.parent(checks));
            matches!(tree.kind(at), AstKind::ObjectProperty(_))
                && call.and_then(|call| tree.call(call)).is_some_and(|call| {
                    self.names.member(tree, call.callee, &K6Module::K6).as_deref() == Some("check")
                        && call.arguments.get(1) == checks.as_ref()
                })
                && checks.is_some_and(|checks| tree.children(checks).len() > 1)
        });
        Some(entry.unwrap_or(statement))
    }

    fn finish(
        &self,
        file: &ScriptFile<'_>,
        mut rewrite: Rewrite<'_, '_>,
        left_out: &Omissions,
        test: Option<Test>,
        notes: &mut Vec<Note>,
    ) -> Result<TranslatedFile, ImportError> {
        let tree = self.tree;
        let within_another = |id: NodeId| tree.ancestors(id).any(|at| left_out.contains_key(&at));
        for (&id, reason) in left_out.iter().filter(|(id, _)| !within_another(**id)) {
            notes.push(note(tree, id, NoteKind::LeftOut, &format!("{}: {reason}", first_line(tree.source(id)))));
            self.comment_out(&mut rewrite, id, reason);
        }
        let has_own_k6 = self.imports(&mut rewrite);
        let mut module = ModuleFacts { is_translated: has_own_k6, ..ModuleFacts::default() };
        let mut tail = String::new();
        if let Some(test) = test {
            tail = test.write(self, file, &mut rewrite, left_out, notes)?;
        } else {
            for (name, id) in self.exports() {
                let function = tree.symbol(id).and_then(|symbol| tree.function_of(symbol)).unwrap_or(id);
                module.effects.insert(name.clone(), rewrite.effects.of_function(function));
                let value = self.value(id);
                if !contains_source(&value) {
                    module.values.insert(name, value);
                }
            }
        }
        for (id, text) in std::mem::take(&mut rewrite.notes) {
            notes.push(note(tree, id, NoteKind::Changed, &text));
        }
        for (name, variable) in rewrite.environment.variables() {
            let text = format!("__ENV.{name} is the parameter `{0}`: -p {0}=…", variable.parameter);
            notes.push(Note { kind: NoteKind::Changed, line: None, text });
        }
        notes.sort_by_key(|note| note.line);
        notes.dedup();
        let text = self.assembled(file, &mut rewrite, &tail);
        Ok(TranslatedFile { text, notes: Vec::new(), module, shared: rewrite.environment.shared().collect() })
    }

    fn comment_out(&self, rewrite: &mut Rewrite<'_, '_>, id: NodeId, reason: &str) {
        let indent = self.tree.indent(id);
        let comment = commented(self.tree.source(id), reason, indent);
        if let AstKind::ObjectProperty(_) = self.tree.kind(id) {
            // An entry of a check, with the comma behind it.
            let span = self.tree.span(id);
            let rest = &self.tree.text[span.end as usize..];
            let comma = if rest.trim_start().starts_with(',') { rest.find(',').map_or(0, |at| at as u32 + 1) } else { 0 };
            rewrite.edits.replace(Span::new(span.start, span.end + comma), format!("{comment}\n{indent}").into());
            return;
        }
        let text = if self.tree.in_list(id) { comment } else { format!("{{\n{indent}{comment}\n{indent}}}") };
        // The statement goes as a whole, whatever was to be changed in it.
        rewrite.edits.replace(self.tree.span(id), text.into());
    }

    /// Takes the imports of k6 out and points the others to where they are now. Whether there was one of k6.
    fn imports(&self, rewrite: &mut Rewrite<'_, '_>) -> bool {
        let tree = self.tree;
        let mut found = false;
        for id in tree.all() {
            let source = match tree.kind(id) {
                AstKind::ImportDeclaration(import) => &import.source,
                AstKind::ExportFromDeclaration(export) => &export.source,
                AstKind::ExportAllDeclaration(export) => &export.source,
                _ => continue,
            };
            if Names::is_k6(source.value.as_str()) {
                found = true;
                rewrite.edits.replace(tree.span(id), Pieces::new());
            } else if let Some(specifier) = self.specifiers.get(source.value.as_str())
                && specifier != source.value.as_str()
            {
                found |= specifier.ends_with(".loadstone.ts");
                rewrite.edits.replace(source.span, quoted(specifier).into());
            }
        }
        let globals = |id: NodeId| matches!(tree.global(id), Some("__ENV" | "__VU" | "__ITER" | "open"));
        found || tree.all().any(globals)
    }

    fn assembled(&self, file: &ScriptFile<'_>, rewrite: &mut Rewrite<'_, '_>, tail: &str) -> String {
        let param = if rewrite.environment.is_empty() { "param".to_owned() } else { rewrite.loadstone("param") };
        let declarations = rewrite.environment.declarations(&param);
        let body = rewrite.edits.render(self.tree.text, Span::new(0, self.tree.text.len() as u32));
        let mut text = format!("// Imported from {}: loadstone import k6.\n", file.name.rsplit('/').next().unwrap_or(file.name));
        if !rewrite.uses.is_empty() {
            let names: Vec<String> = rewrite
                .uses
                .iter()
                .map(|name| {
                    let local = local_name(self.tree, self.names, name);
                    let written = match *name {
                        "User" => "type User",
                        "RunSummary" => "type RunSummary",
                        _ => name,
                    };
                    if local == *name { written.to_owned() } else { format!("{written} as {local}") }
                })
                .collect();
            text.push_str(&format!("import {{ {} }} from \"loadstone\";\n", names.join(", ")));
        }
        let way = if file.is_test { rebased(self.folder, PARAMETERS) } else { from_within(file.path) };
        if let Some(import) = rewrite.environment.import(&way) {
            text.push_str(&import);
            text.push('\n');
        }
        text.push('\n');
        for declaration in &declarations {
            text.push_str(declaration);
            text.push('\n');
        }
        text.push('\n');
        text.push_str(body.trim());
        text.push('\n');
        let user_type = local_name(self.tree, self.names, "User");
        for (name, source) in HELPERS {
            if rewrite.helpers.contains(name) {
                text.push('\n');
                text.push_str(&source.replace("user: User", &format!("user: {user_type}")));
            }
        }
        text.push_str(tail);
        without_blank_lines(&text)
    }
}

/// To the file of parameters, from a file of the user's own.
fn from_within(path: &str) -> String {
    let up = path.matches('/').count();
    if up == 0 { PARAMETERS.to_owned() } else { format!("{}{}", "../".repeat(up), &PARAMETERS[2..]) }
}

fn contains_source(value: &Value) -> bool {
    match value {
        Value::Source(_) => true,
        Value::List(list) => list.iter().any(contains_source),
        Value::Object(entries) => entries.iter().any(|(_, value)| contains_source(value)),
        _ => false,
    }
}

fn note(tree: &Tree<'_>, id: NodeId, kind: NoteKind, text: &str) -> Note {
    Note { kind, line: Some(tree.line(id)), text: text.to_owned() }
}

fn first_line(source: &str) -> String {
    let line = source.lines().next().unwrap_or("").trim();
    let cut: String = line.chars().take(60).collect();
    if cut.len() < line.len() { format!("`{cut}…`") } else { format!("`{cut}`") }
}

/// At most one blank line in a row.
fn without_blank_lines(text: &str) -> String {
    let mut out = String::new();
    let mut blank = 0;
    for line in text.lines() {
        blank = if line.trim().is_empty() { blank + 1 } else { 0 };
        if blank <= 1 {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out
}
