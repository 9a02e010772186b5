//! Walks from the test file through all its imports.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::path::{Component, Path, PathBuf};

use super::commonjs::{body, body_id, facade, json_module};
use super::guest::{GuestModules, RemoteModules, require_prelude};
use super::program::{CompiledModule, ModuleForm, Program};
use super::resolve::{ResolvedImport, Resolvers};
use super::source::{Positions, SourceText};
use super::transpile::{Import, SourceDialect, Transpiled, transpile};
use crate::error::ScriptError;
use crate::known_verbs::{CheckedLater, KnownVerbs};
use crate::permissions::{AccessKind, AccessRefused, FileAccess, Permissions};

/// Maximum number of files in one test, so that a wrong import ends with a message.
const FILES_MAX: usize = 5_000;

/// Compiles the test file at `path` and all its imports. `own` are Loadstone's modules, by id. `verbs` are the functions of users.
pub(crate) fn compile(
    path: &Path,
    own: &[(&'static str, String)],
    verbs: KnownVerbs,
    permissions: &Permissions,
) -> Result<Program, ScriptError> {
    compile_with(path, own, verbs, None, permissions)
}

/// Compiles a script of another tool, whose modules are `guest`.
pub(crate) fn compile_guest(
    path: &Path,
    guest: &GuestModules,
    remote: &dyn RemoteModules,
    permissions: &Permissions,
) -> Result<Program, ScriptError> {
    let own: Vec<_> = guest.own.iter().map(|(id, text)| (*id, (*text).to_owned())).collect();
    compile_with(path, &own, KnownVerbs::default(), Some((*guest, remote)), permissions)
}

fn compile_with(
    path: &Path,
    own: &[(&'static str, String)],
    verbs: KnownVerbs,
    guest: Option<(GuestModules, &dyn RemoteModules)>,
    permissions: &Permissions,
) -> Result<Program, ScriptError> {
    let entry = path.canonicalize().map_err(|error| unreadable(path, &error))?;
    let folder = entry.parent().unwrap_or(Path::new("/")).to_path_buf();
    let (resolvers, files, waiting) = (Resolvers::new(), HashMap::new(), VecDeque::new());
    let (guest, remote) = guest.unzip();
    let access = FileAccess::new(&folder, permissions);
    let mut graph = Graph { folder: folder.clone(), access, resolvers, files, waiting, verbs, guest, remote };
    graph.add_own(own)?;
    let entry = graph.id_of(&entry);
    graph.waiting.push_back((entry.clone(), folder.join(&entry)));
    while let Some((id, file)) = graph.waiting.pop_front() {
        graph.add_file(id, &file)?;
    }
    if let Some(guest) = guest {
        graph.add_missing(&guest)?;
    }
    graph.check_names()?;
    let mut checked_later = CheckedLater::default();
    graph.files.values_mut().for_each(|file| checked_later.extend(std::mem::take(&mut file.compiled.checked_later)));
    Ok(Program { entry, modules: graph.finish(), checked_later, folder })
}

fn unreadable(path: &Path, error: &std::io::Error) -> ScriptError {
    ScriptError::new(format!("cannot read {}: {error}", path.display()))
        .help("check the path of the test file; `loadstone init` creates an example")
}

/// A file of the graph with its imports resolved to ids.
struct File {
    source: Option<SourceText>,
    compiled: Transpiled,
    imports: HashMap<String, String>,
    json: bool,
}

struct Graph<'r> {
    folder: PathBuf,
    access: FileAccess,
    resolvers: Resolvers,
    files: HashMap<String, File>,
    waiting: VecDeque<(String, PathBuf)>,
    verbs: KnownVerbs,
    guest: Option<GuestModules>,
    /// Finds imports by URL. The id of such a file is its URL.
    remote: Option<&'r dyn RemoteModules>,
}

impl Graph<'_> {
    /// The path for messages, relative to the test's folder.
    fn id_of(&self, path: &Path) -> String {
        let mut base = self.folder.as_path();
        let mut up = String::new();
        loop {
            if let Ok(rest) = path.strip_prefix(base) {
                let parts: Vec<_> =
                    rest.components().filter_map(|part| if let Component::Normal(p) = part { p.to_str() } else { None }).collect();
                return up + &parts.join("/");
            }
            match base.parent() {
                Some(parent) => base = parent,
                None => return path.display().to_string(),
            }
            up.push_str("../");
        }
    }

    /// Loadstone's modules, written in TypeScript like the scenarios.
    fn add_own(&mut self, own: &[(&'static str, String)]) -> Result<(), ScriptError> {
        for (id, text) in own {
            let source = SourceText { file: (*id).into(), text: text.clone() };
            let compiled = transpile(Path::new("loadstone.ts"), &source, &KnownVerbs::default(), SourceDialect::Loadstone)?;
            let imports = compiled.imports.iter().map(|import| (import.specifier.clone(), import.specifier.clone())).collect();
            self.files.insert((*id).to_owned(), File { source: None, compiled, imports, json: false });
        }
        Ok(())
    }

    fn add_file(&mut self, id: String, path: &Path) -> Result<(), ScriptError> {
        if self.files.contains_key(&id) {
            return Ok(());
        }
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
        let source = SourceText { file: id.as_str().into(), text };
        let json = path.extension().is_some_and(|extension| extension == "json");
        let dialect = if self.guest.is_some() { SourceDialect::Guest } else { SourceDialect::Loadstone };
        let compiled = if json { json_file(&source)? } else { transpile(path, &source, &self.verbs, dialect)? };
        let mut imports = HashMap::new();
        for import in &compiled.imports {
            if let Some(id) = self.guest.and_then(|guest| (guest.id_of)(&import.specifier)) {
                imports.insert(import.specifier.clone(), id);
                continue;
            }
            if let Some((url, remote)) = url_of(&id, &import.specifier).zip(self.remote) {
                let file = remote
                    .file(&url)
                    .map_err(|(message, help)| ScriptError::new(message).at(source.place_of(import.offset, import.length)).help(help))?;
                self.waiting.push_back((url.clone(), file));
                imports.insert(import.specifier.clone(), url);
                continue;
            }
            let target = match self.resolvers.resolve(path, &import.specifier, import.by_require) {
                Ok(ResolvedImport::Builtin) => "loadstone".to_owned(),
                Ok(ResolvedImport::File(file)) => {
                    self.check_data(&file)
                        .map_err(|refused| ScriptError::new(refused.to_string()).at(source.place_of(import.offset, import.length)))?;
                    let target = self.id_of(&file);
                    self.waiting.push_back((target.clone(), file));
                    target
                }
                // A `require` in a branch or a `try` may never run. It fails when it is reached.
                Err(_) if import.by_require => continue,
                Err(unresolved) => {
                    let at = source.place_of(import.offset, import.length);
                    return Err(ScriptError::new(unresolved.message).at(at).help(unresolved.help));
                }
            };
            imports.insert(import.specifier.clone(), target);
        }
        if self.files.len() + self.waiting.len() > FILES_MAX {
            return Err(
                ScriptError::new(format!("the test imports more than {FILES_MAX} files")).help("import less, or bundle the package first")
            );
        }
        self.files.insert(id, File { source: Some(source), compiled, imports, json });
        Ok(())
    }

    /// Code may be imported from anywhere. JSON is data, so it needs the permission to read it, except in a package.
    fn check_data(&self, file: &Path) -> Result<(), AccessRefused> {
        let is_code = file.extension().is_none_or(|extension| extension != "json");
        if is_code || file.components().any(|part| part.as_os_str() == "node_modules") {
            return Ok(());
        }
        self.access.check(AccessKind::Read, file)
    }

    /// Adds to the guest's modules the names that files import and no module has, so that they link. They fail when they are used.
    fn add_missing(&mut self, guest: &GuestModules) -> Result<(), ScriptError> {
        let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for file in self.files.values().filter(|file| file.source.is_some()) {
            for import in &file.compiled.imports {
                let Some(id) = (guest.id_of)(&import.specifier) else { continue };
                wanted.entry(id).or_default().extend(import.names.iter().map(|(name, _)| name.clone()));
            }
        }
        for (id, names) in wanted {
            let mut known = BTreeSet::new();
            let is_known = self.files.contains_key(&id);
            self.exports(&id, &mut known, &mut HashSet::new());
            let missing: Vec<&str> = names.iter().map(String::as_str).filter(|name| !known.contains(name)).collect();
            if is_known && missing.is_empty() {
                continue;
            }
            let text = guest.own.iter().find(|(own, _)| *own == id).map_or("", |(_, text)| *text);
            let source = SourceText { file: id.as_str().into(), text: format!("{text}\n{}", (guest.missing)(&id, &missing)) };
            let compiled = transpile(Path::new("loadstone.ts"), &source, &KnownVerbs::default(), SourceDialect::Loadstone)?;
            let imports = compiled.imports.iter().map(|import| (import.specifier.clone(), import.specifier.clone())).collect();
            self.files.insert(id, File { source: None, compiled, imports, json: false });
        }
        Ok(())
    }

    /// Checks that an ES module exports every name imported from it.
    fn check_names(&self) -> Result<(), ScriptError> {
        for file in self.files.values() {
            for import in &file.compiled.imports {
                self.check_import(file, import)?;
            }
        }
        Ok(())
    }

    fn check_import(&self, file: &File, import: &Import) -> Result<(), ScriptError> {
        let Some((target, source)) = file.imports.get(&import.specifier).zip(file.source.as_ref()) else { return Ok(()) };
        let mut exported = BTreeSet::new();
        if !self.exports(target, &mut exported, &mut HashSet::new()) {
            return Ok(());
        }
        for (name, offset) in &import.names {
            if !exported.contains(name.as_str()) {
                let at = source.place_of(*offset, name.len());
                let error = ScriptError::new(format!("\"{}\" has no export `{name}`", import.specifier)).at(at);
                return Err(error.help(suggest(name, &exported)));
            }
        }
        Ok(())
    }

    /// Collects the exports of a module. Returns false when they cannot be known (CommonJS is involved).
    fn exports<'g>(&'g self, id: &str, into: &mut BTreeSet<&'g str>, seen: &mut HashSet<String>) -> bool {
        let Some(file) = self.files.get(id) else { return false };
        if file.compiled.form == ModuleForm::CommonJs {
            return false;
        }
        if !seen.insert(id.to_owned()) {
            return true;
        }
        into.extend(file.compiled.exports.iter().map(String::as_str));
        file.compiled.stars.iter().all(|star| file.imports.get(star).is_some_and(|target| self.exports(target, into, seen)))
    }

    /// Names that other files import from a CommonJS file.
    fn names_wanted(&self, id: &str) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = self.files[id].compiled.exports.iter().cloned().collect();
        for file in self.files.values() {
            for import in &file.compiled.imports {
                if file.imports.get(&import.specifier).is_some_and(|target| target == id) {
                    names.extend(import.names.iter().map(|(name, _)| name.clone()));
                }
            }
        }
        names
    }

    /// ES modules that a CommonJS file may require, directly or through the CommonJS files that it requires.
    fn modules_required(&self, id: &str) -> BTreeSet<String> {
        let mut modules = BTreeSet::new();
        let mut seen = HashSet::from([id]);
        let mut open = vec![id];
        while let Some(at) = open.pop() {
            for target in self.files.get(at).iter().flat_map(|file| file.imports.values()) {
                match self.files.get(target).map(|file| file.compiled.form) {
                    Some(ModuleForm::Module) => {
                        modules.insert(target.clone());
                    }
                    Some(ModuleForm::CommonJs) if seen.insert(target) => open.push(target),
                    _ => {}
                }
            }
        }
        modules
    }

    /// The first line of an ES module that uses `require`.
    fn prelude(&self, id: &str, file: &File) -> Option<String> {
        let requires = file.compiled.form == ModuleForm::Module && file.compiled.imports.iter().any(|import| import.by_require);
        if !requires {
            return None;
        }
        let required: BTreeMap<&str, &str> = file
            .compiled
            .imports
            .iter()
            .filter(|import| import.by_require)
            .filter_map(|import| Some((import.specifier.as_str(), file.imports.get(&import.specifier)?.as_str())))
            .collect();
        let is_module = |target: &str| self.files.get(target).is_some_and(|file| file.compiled.form == ModuleForm::Module);
        Some(require_prelude(id, &required, is_module))
    }

    fn finish(mut self) -> HashMap<String, CompiledModule> {
        let mut modules = HashMap::new();
        let facades: Vec<(String, String, BTreeSet<String>)> = self
            .files
            .iter()
            .filter(|(_, file)| file.compiled.form == ModuleForm::CommonJs)
            .map(|(id, _)| {
                let required = self.modules_required(id);
                (id.clone(), facade(id, &self.names_wanted(id), &required), required)
            })
            .collect();
        for (id, code, required) in facades {
            let mut imports: HashMap<String, String> = required.into_iter().map(|module| (module.clone(), module)).collect();
            imports.insert("loadstone:commonjs".to_owned(), "loadstone:commonjs".to_owned());
            modules.insert(
                id,
                CompiledModule {
                    form: ModuleForm::Module,
                    code,
                    imports,
                    positions: Positions::default(),
                    source: None,
                    loops: Vec::new(),
                },
            );
        }
        let preludes: HashMap<String, String> = match self.guest {
            Some(_) => self.files.iter().filter_map(|(id, file)| Some((id.clone(), self.prelude(id, file)?))).collect(),
            None => HashMap::new(),
        };
        for (id, mut file) in self.files.drain() {
            let Transpiled { form, mut code, mut positions, loops, .. } = file.compiled;
            if let Some(prelude) = preludes.get(&id) {
                code = format!("{prelude}\n{code}");
                positions = positions.shifted(1);
                let targets: Vec<String> = file.imports.values().cloned().chain(["loadstone:commonjs".to_owned()]).collect();
                file.imports.extend(targets.into_iter().map(|target| (target.clone(), target)));
            }
            let (id, code) = if form == ModuleForm::CommonJs { (body_id(&id), body(&code)) } else { (id, code) };
            let positions = if form == ModuleForm::CommonJs { positions.shifted(1) } else { positions };
            let source = file.source.filter(|_| !file.json);
            modules.insert(id, CompiledModule { form, code, imports: file.imports, positions, source, loops });
        }
        modules
    }
}

/// The URL that a specifier names in a file. `None`: it names a local file or a package.
fn url_of(importer: &str, specifier: &str) -> Option<String> {
    let is_url = |text: &str| text.starts_with("https://") || text.starts_with("http://");
    if is_url(specifier) {
        return Some(specifier.to_owned());
    }
    let base = url::Url::parse(importer).ok().filter(|_| is_url(importer))?;
    specifier.starts_with(['.', '/']).then(|| base.join(specifier).ok()).flatten().map(String::from)
}

fn json_file(source: &SourceText) -> Result<Transpiled, ScriptError> {
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&source.text) {
        let at = source.place(error.line() as u32, error.column() as u32);
        return Err(ScriptError::new(format!("not valid JSON: {error}"))
            .at(at)
            .help("correct the file, or read it as text with `template`"));
    }
    let code = json_module(&source.text);
    let (imports, stars) = (Vec::new(), Vec::new());
    Ok(Transpiled {
        form: ModuleForm::Module,
        code,
        positions: Positions::default(),
        imports,
        exports: vec!["default".to_owned()],
        stars,
        loops: Vec::new(),
        checked_later: CheckedLater::default(),
    })
}

fn suggest(name: &str, exported: &BTreeSet<&str>) -> String {
    let close = exported.iter().find(|known| known.eq_ignore_ascii_case(name) || known.starts_with(name) || name.starts_with(**known));
    match close {
        Some(known) if *known != "default" => format!("did you mean `{known}`?"),
        _ => format!("it exports: {}", exported.iter().copied().collect::<Vec<_>>().join(", ")),
    }
}
