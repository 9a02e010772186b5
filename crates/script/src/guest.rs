//! What another script runtime uses of this crate: compilation, and errors in coordinates of the source.

use std::path::{Path, PathBuf};

use loadstone_protocol::HostPattern;
use loadstone_protocol::http::Hop;
use rquickjs::{Ctx, Value};

use crate::compile::{self, GuestModules, ModuleForm, Program, RemoteModules};
use crate::error::{ScriptError, SourcePlace};
use crate::named_hosts;
use crate::permissions::Permissions;
use crate::protocols::http::{TracedEnd, TracedOwner};
use crate::realm;
use crate::sinks::TracedExchange;

/// Compiles a script of another tool and all its imports. `remote` finds those by URL that are no modules of the tool.
///
/// # Errors
/// The first file that cannot be read, parsed or found.
pub fn compile_guest(
    path: &Path,
    modules: &GuestModules,
    remote: &dyn RemoteModules,
    permissions: &Permissions,
) -> Result<Program, ScriptError> {
    compile::compile_guest(path, modules, remote, permissions)
}

/// The hosts that a text names: in URLs, or as the whole text or a whole quoted part, with or without a port.
pub fn hosts_in(text: &str) -> impl Iterator<Item = HostPattern> {
    named_hosts::in_source(text)
}

/// A call into JavaScript failed: the error, with its place in the source. Takes the pending exception.
pub fn caught_error<'js>(ctx: &Ctx<'js>, program: &Program, error: rquickjs::Error) -> ScriptError {
    realm::caught(ctx, program, error)
}

/// A value that a script threw, with its place in the source.
pub fn thrown_error<'js>(ctx: &Ctx<'js>, program: &Program, thrown: &Value<'js>) -> ScriptError {
    realm::describe(ctx, program, thrown)
}

/// The place in the source of the running call.
pub fn running_place(ctx: &Ctx<'_>, program: &Program) -> Option<SourcePlace> {
    realm::caller_place(ctx, program)
}

/// Parses a page as browsers do.
///
/// # Errors
/// Its elements are nested too deeply, or parsing takes too long.
pub fn parse_html(body: &str) -> Result<scraper::Html, String> {
    crate::extract::markup::html(body, &crate::extract::effort::Effort::of_one_turn()).map_err(|error| error.to_string())
}

/// A CSS selector, unless it is invalid.
pub fn css_selector(text: &str) -> Option<scraper::Selector> {
    crate::extract::markup::selector(text).ok()
}

/// Puts `URL` and `URLSearchParams` on the global object.
///
/// # Errors
/// JavaScript has no memory left.
pub fn install_url(ctx: &Ctx<'_>) -> rquickjs::Result<()> {
    crate::globals::url::install(ctx)
}

/// The value of one reply of Redis, which is no error.
///
/// # Errors
/// It nests lists too deeply, or JavaScript has no memory left.
pub fn redis_value<'js>(ctx: &Ctx<'js>, reply: &[u8]) -> rquickjs::Result<Value<'js>> {
    crate::protocols::redis::value::single(ctx, reply, false)
}

/// Replies of Redis as JSON, one per line.
pub fn redis_text(replies: &[u8]) -> String {
    crate::protocols::redis::value::shown(replies)
}

/// `GET /tickets/:id`: the default name of a request in reports.
pub fn request_name(method: &str, path_and_query: &str) -> String {
    crate::protocols::http::name_of_request(method, path_and_query)
}

/// Shows redirects and the request that they led to, as `try` does.
pub fn trace_hops(sink: &dyn Fn(&TracedExchange<'_>), owner: TracedOwner<'_>, before: &[Hop], end: TracedEnd<'_>) {
    crate::protocols::http::show(sink, owner, before, end);
}

/// The body of a CommonJS file, as a function expression.
#[derive(Debug)]
pub struct CommonJsBody<'p> {
    /// Its file name in stack traces.
    pub id: String,
    pub code: &'p str,
    /// Specifier and id of each import.
    pub imports: Vec<(&'p str, &'p str)>,
}

impl Program {
    /// Id of the test file.
    pub fn entry_id(&self) -> &str {
        &self.entry
    }

    /// The test file.
    pub fn entry_path(&self) -> PathBuf {
        self.folder.join(&self.entry)
    }

    /// Folder of the test file.
    pub fn folder_path(&self) -> &Path {
        &self.folder
    }

    /// The hosts that the text of its files names.
    pub fn hosts_in_text(&self) -> impl Iterator<Item = HostPattern> {
        self.named_hosts()
    }

    /// Whether the text of a file contains a word.
    pub fn contains_word(&self, word: &str) -> bool {
        self.place_of_word(word).is_some()
    }

    /// Its files, and the text of each.
    pub fn source_files(&self) -> impl Iterator<Item = (PathBuf, &str)> {
        self.modules.values().filter_map(|module| module.source.as_ref()).map(|source| (self.folder.join(&*source.file), &*source.text))
    }

    /// SHA-256 of every file with its name, in hexadecimal.
    pub fn source_digest(&self) -> String {
        self.digest()
    }

    /// JavaScript of an ES module.
    pub fn module_code(&self, id: &str) -> Option<&str> {
        self.modules.get(id).filter(|module| module.form == ModuleForm::Module).map(|module| module.code.as_str())
    }

    /// The ids of its ES modules.
    pub fn module_ids(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().filter(|(_, module)| module.form == ModuleForm::Module).map(|(id, _)| id.as_str())
    }

    /// The body of a CommonJS file.
    pub fn commonjs_body(&self, id: &str) -> Option<CommonJsBody<'_>> {
        let id = format!("{id}#cjs");
        let module = self.modules.get(&id).filter(|module| module.form == ModuleForm::CommonJs)?;
        let imports = module.imports.iter().map(|(specifier, target)| (specifier.as_str(), target.as_str())).collect();
        Some(CommonJsBody { id, code: &module.code, imports })
    }

    /// Id of the module that `specifier` names in the module `importer`.
    pub fn import_id(&self, importer: &str, specifier: &str) -> Option<&str> {
        self.resolve(importer, specifier).or_else(|| self.modules.get_key_value(specifier).map(|(id, _)| id.as_str()))
    }

    /// The first place of a word in the test file, or in another file if the test file does not contain it.
    pub fn place_of_word(&self, word: &str) -> Option<SourcePlace> {
        let of_entry = self.modules.get(&self.entry).and_then(|module| module.source.as_ref());
        let mut others: Vec<_> = self.modules.values().filter_map(|module| module.source.as_ref()).collect();
        others.sort_by(|a, b| a.file.cmp(&b.file));
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        of_entry.into_iter().chain(others).find_map(|source| {
            let whole = || {
                source.text.match_indices(word).map(|(at, _)| at).filter(|at| {
                    let (before, after) = (source.text[..*at].chars().next_back(), source.text[at + word.len()..].chars().next());
                    !before.is_some_and(is_part) && !after.is_some_and(is_part)
                })
            };
            // Where it names a property, rather than in a string such as "constant-vus".
            let names_property =
                |at: &usize| source.text[at + word.len()..].trim_start_matches(['"', '\'', '`', ' ']).starts_with([':', '=']);
            let at = whole().find(names_property).or_else(|| whole().next())?;
            Some(source.place_of(at, word.len()))
        })
    }
}
