//! `handleSummary`: files of the whole data are written by `summarize`; what it prints, a run prints by itself.

use oxc_ast::AstKind;
use oxc_semantic::NodeId;

use super::edits::Pieces;
use super::names::{K6Module, Names};
use super::rewrite::{Rewrite, local_name};
use super::tree::{FunctionParts, Property, Tree};

/// What becomes of one entry of what `handleSummary` returns.
enum Output {
    /// A file of the whole data, as JSON.
    File,
    /// The summary in words: on the terminal, or in a file.
    Words,
}

/// Whether a `handleSummary` can be kept: it returns the data as JSON, and summaries in words.
pub(super) fn is_plain(tree: &Tree<'_>, names: &Names, id: NodeId) -> bool {
    returned(tree, id).is_some_and(|(parts, entries)| entries.iter().all(|entry| output(tree, names, &parts, entry).is_some()))
}

fn returned(tree: &Tree<'_>, id: NodeId) -> Option<(FunctionParts, Vec<Property>)> {
    let function = tree.function(id).map(|_| id).or_else(|| tree.function_of(tree.symbol(id)?))?;
    let parts = tree.function(function).filter(|parts| parts.parameters.len() <= 1)?;
    let object = if parts.is_expression {
        parts.body
    } else {
        let [statement] = tree.children(parts.body) else { return None };
        let AstKind::ReturnStatement(_) = tree.kind(*statement) else { return None };
        *tree.children(*statement).first()?
    };
    let entries = tree.properties(tree.strip(object))?;
    Some((parts, entries))
}

fn output(tree: &Tree<'_>, names: &Names, parts: &FunctionParts, entry: &Property) -> Option<Output> {
    let call = tree.call(tree.strip(entry.value)).filter(|_| entry.key.is_some())?;
    if names.path(tree, call.callee).is_some_and(|(module, _)| module == K6Module::Summary) {
        return Some(Output::Words);
    }
    let is_json = tree.member(call.callee).is_some_and(|(object, name)| name == "stringify" && tree.global(object) == Some("JSON"));
    let whole = tree
        .symbol(*call.arguments.first()?)
        .is_some_and(|symbol| parts.parameters.first().and_then(|&data| tree.symbol(data)) == Some(symbol));
    let printed = matches!(entry.key.as_deref(), Some("stdout" | "stderr"));
    (is_json && whole && !printed).then_some(Output::File)
}

impl Rewrite<'_, '_> {
    /// Writes `summarize` in place of a `handleSummary` that [`is_plain`].
    pub(super) fn summary(&mut self, exported: NodeId) {
        let tree = self.tree;
        let (Some((parts, entries)), Some(statement)) = (returned(tree, exported), tree.statement(exported)) else { return };
        let mut files = Vec::new();
        for entry in &entries {
            match output(tree, self.names, &parts, entry) {
                Some(Output::File) => files.push(Pieces::from("    ").node(tree, entry.node).text(",\n")),
                Some(Output::Words) if matches!(entry.key.as_deref(), Some("stdout" | "stderr")) => {
                    self.note(entry.node, "the printed output of `handleSummary` is left out: Loadstone prints its own summary");
                }
                _ => self.note(entry.node, "for a text summary in a file, use `loadstone show last > summary.txt`"),
            }
            for id in tree.all().filter(|&id| tree.within(id, entry.value) && self.names.path(tree, id).is_some()) {
                self.handled.insert(Names::root(tree, id));
            }
        }
        if files.is_empty() {
            return self.edits.replace(tree.span(statement), Pieces::new());
        }
        self.note(exported, "`handleSummary` became `summarize`: its data has the fields of summary.json (docs/summary-json.md)");
        self.uses.insert("RunSummary");
        let data = parts.parameters.first().map_or("data", |&data| tree.source(data));
        let head = format!("export function summarize({data}: {}) {{\n  return {{\n", local_name(tree, self.names, "RunSummary"));
        let written = Pieces::from(head).then(Pieces::joined(files, "")).text("  };\n}");
        self.edits.replace(tree.span(statement), written);
    }
}
