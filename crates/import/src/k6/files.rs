//! The files of a script: itself, and those of the user's own that it imports.

use std::collections::{BTreeMap, HashMap};

use loadstone_units::source;
use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;

use super::library::rebased;
use super::names::{LocalImport, Names};
use super::state::{ModuleFacts, PARAMETERS, ScriptFile, State, TranslatedFile};
use super::tree::Tree;
use super::values::ImportedValues;
use crate::error::ImportError;
use crate::imported::{Input, Note, NoteKind};

/// The files of the user's own that a script imports.
pub(super) struct Files<'i> {
    input: &'i Input<'i>,
    done: HashMap<String, ModuleFacts>,
    pub(super) modules: Vec<(String, String)>,
    /// Declarations of the parameters that files of the user's own read, by variable.
    shared: BTreeMap<String, String>,
    /// What was left out of files of the user's own.
    left_out: Vec<Note>,
}

impl<'i> Files<'i> {
    pub(super) fn new(input: &'i Input<'i>) -> Self {
        Self { input, done: HashMap::new(), modules: Vec::new(), shared: BTreeMap::new(), left_out: Vec::new() }
    }

    /// The script itself.
    pub(super) fn script(&mut self, input: &Input<'_>) -> Result<TranslatedFile, ImportError> {
        let mut main = translate(self, &ScriptFile { name: input.name, text: input.text, path: "", is_test: true })?;
        main.notes.append(&mut self.left_out);
        if !self.shared.is_empty() {
            let declarations: Vec<&str> = self.shared.values().map(String::as_str).collect();
            let text = format!("import {{ param }} from \"loadstone\";\n\n{}\n", declarations.join("\n"));
            self.modules.push((rebased(self.input.folder, PARAMETERS), text));
        }
        Ok(main)
    }

    /// What a file exports, by its path from the folder of the script; translated where it uses k6.
    fn module(&mut self, path: &str) -> Result<ModuleFacts, ImportError> {
        if let Some(done) = self.done.get(path) {
            return Ok(done.clone());
        }
        // Files that import each other: the second look finds this.
        self.done.insert(path.to_owned(), ModuleFacts::default());
        let Some(text) = (self.input.read)(path) else { return Ok(ModuleFacts::default()) };
        if path.ends_with(".json") {
            return Ok(ModuleFacts::default());
        }
        let translated = translate(self, &ScriptFile { name: path, text: &text, path, is_test: false })?;
        for note in translated.notes.iter().filter(|note| note.kind == NoteKind::LeftOut) {
            let line = note.line.map(|line| format!(":{line}")).unwrap_or_default();
            self.left_out.push(Note::left_out(format!("{path}{line}: {}", note.text)));
        }
        if translated.module.is_translated {
            let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
            self.modules.push((rebased(self.input.folder, &format!("{stem}.loadstone.ts")), translated.text));
        }
        self.done.insert(path.to_owned(), translated.module.clone());
        Ok(translated.module)
    }
}

fn translate(files: &mut Files<'_>, file: &ScriptFile<'_>) -> Result<TranslatedFile, ImportError> {
    source::check(file.text)
        .map_err(|problem| ImportError::new(file.name, None, problem.to_string(), "import the script from which it was built"))?;
    let allocator = Allocator::default();
    let source_type = if file.name.ends_with(".js") || file.name.ends_with(".mjs") { SourceType::mjs() } else { SourceType::ts() };
    let parsed = Parser::new(&allocator, file.text, source_type).parse();
    if let Some(error) = parsed.diagnostics.errors().next() {
        let line = error.labels.first().map(|label| file.text[..label.offset() as usize].matches('\n').count() + 1);
        return Err(ImportError::new(
            file.name,
            line,
            format!("this is not JavaScript or TypeScript: {}", error.message),
            "give the script that k6 runs; build a bundle first",
        ));
    }
    let semantic = SemanticBuilder::new().with_build_nodes(true).build(&parsed.program).semantic;
    let tree = Tree::new(file.text, semantic);
    let (mut names, locals) = Names::of(&tree);
    let mut imported = ImportedValues::new();
    let mut specifiers = HashMap::new();
    for local in &locals {
        let specifier = import_local(files, file, local, &mut names, &mut imported)?;
        specifiers.insert(local.from.clone(), specifier);
    }
    let mut notes = Vec::new();
    let folder = if file.is_test { files.input.folder } else { "" };
    let shared = files.shared.clone();
    let is_whole = files.left_out.is_empty();
    let state = State { tree: &tree, names: &names, imported: &imported, specifiers: &specifiers, folder, shared: &shared, is_whole };
    let mut translated = state.translate(file, &mut notes)?;
    for (name, declaration) in translated.shared.drain(..) {
        files.shared.entry(name).or_insert(declaration);
    }
    translated.notes = notes;
    Ok(translated)
}

/// Reads a file of the user's own; returns what to import instead.
fn import_local(
    files: &mut Files<'_>,
    file: &ScriptFile<'_>,
    local: &LocalImport,
    names: &mut Names,
    imported: &mut ImportedValues,
) -> Result<String, ImportError> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let joined = rebased(folder, &local.from);
    let path = joined.strip_prefix("./").unwrap_or(&joined);
    let module = files.module(path)?;
    for (name, symbol) in &local.names {
        if let Some(effect) = module.effects.get(name) {
            names.local(*symbol, *effect);
        }
        if let Some(value) = module.values.get(name) {
            imported.insert(*symbol, value.clone());
        }
    }
    let outer = if file.is_test { files.input.folder } else { "" };
    let specifier = rebased(outer, &local.from);
    Ok(if module.is_translated {
        format!("{}.loadstone.ts", specifier.rsplit_once('.').map_or(specifier.as_str(), |(stem, _)| stem))
    } else {
        specifier
    })
}
