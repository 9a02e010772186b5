//! The result of compilation: JavaScript modules, and the mapping back to the source.

use std::collections::HashMap;
use std::path::Path;

use loadstone_protocol::HostPattern;
use sha2::{Digest, Sha256};

use super::call_place::place_of_call;
use super::computed_reads::place_of_computed_read;
use super::members::place_of_member;
use super::options::place_of_option;
use super::source::{Positions, SourceText, source_type};
use crate::error::SourcePlace;
use crate::known_verbs::CheckedLater;
use crate::named_hosts;

/// The form in which the loader receives a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModuleForm {
    /// An ES module (TypeScript, JavaScript or JSON as compiled).
    Module,
    /// A function expression around a CommonJS file, evaluated by `require`.
    CommonJs,
}

/// One compiled file.
#[derive(Debug)]
pub(crate) struct CompiledModule {
    pub(crate) form: ModuleForm,
    pub(crate) code: String,
    /// Specifier as written → id of the module it refers to.
    pub(crate) imports: HashMap<String, String>,
    pub(crate) positions: Positions,
    /// `None` for Loadstone's modules.
    pub(crate) source: Option<SourceText>,
    /// Byte ranges of the loops, in the source.
    pub(super) loops: Vec<(u32, u32)>,
}

/// A test file and all its imports, compiled. Shared by all realms of all workers.
#[derive(Debug)]
pub struct Program {
    pub(crate) entry: String,
    pub(crate) modules: HashMap<String, CompiledModule>,
    pub(crate) checked_later: CheckedLater,
    /// Folder of the test file. Paths of data files are relative to it.
    pub(crate) folder: std::path::PathBuf,
}

impl Program {
    /// SHA-256 of every file of the test with its name, in hexadecimal.
    pub(crate) fn digest(&self) -> String {
        let mut sources: Vec<&SourceText> = self.modules.values().filter_map(|module| module.source.as_ref()).collect();
        sources.sort_by(|a, b| a.file.cmp(&b.file));
        let mut digest = Sha256::new();
        for source in sources {
            for part in [&*source.file, &source.text] {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part);
            }
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Id of the module that `specifier` refers to in `importer`.
    pub(crate) fn resolve(&self, importer: &str, specifier: &str) -> Option<&str> {
        self.modules.get(importer)?.imports.get(specifier).map(String::as_str)
    }

    /// The source of generated code. `None` for Loadstone's code.
    pub(crate) fn place(&self, module: &str, line: u32, column: u32) -> Option<SourcePlace> {
        let module = self.modules.get(module)?;
        let source = module.source.as_ref()?;
        let (line, column) = module.positions.source_of(line, column)?;
        Some(source.place(line, column))
    }

    /// The place of an option of a call, if the call has it as a literal. `known`: the place of the call, see [`Self::endless_loop`].
    pub(crate) fn option_place(&self, known: &SourcePlace, option: &str) -> Option<SourcePlace> {
        let source = self.source_of(known)?;
        place_of_option(source, source_type(Path::new(&*known.file)), known, option)
    }

    /// The place of a member that an object does not have. `known`: as for [`Self::option_place`].
    pub(crate) fn member_place(&self, known: &SourcePlace, member: &str) -> Option<SourcePlace> {
        let source = self.source_of(known)?;
        place_of_member(source, source_type(Path::new(&*known.file)), known, member)
    }

    fn source_of(&self, known: &SourcePlace) -> Option<&SourceText> {
        self.modules.values().find_map(|module| module.source.as_ref().filter(|source| source.file == known.file))
    }

    /// The hosts that the text of its files names. Imported JSON may hold the settings of an environment.
    pub(crate) fn named_hosts(&self) -> impl Iterator<Item = HostPattern> {
        let of_code =
            self.modules.values().filter_map(|module| module.source.as_ref()).flat_map(|source| named_hosts::in_source(&source.text));
        let settings = self.modules.iter().filter(|(id, module)| {
            module.source.is_none() && id.ends_with(".json") && module.code.len() <= named_hosts::SETTINGS_BYTES_MAX
        });
        // The compiled module has the JSON as a string literal.
        let of_settings = settings.flat_map(|(_, module)| named_hosts::in_source(&module.code.replace("\\\"", "\"")).collect::<Vec<_>>());
        of_code.chain(of_settings)
    }

    /// Where a function that generates load, or a function that it uses, reads a file whose path is computed.
    pub(crate) fn computed_path(&self) -> Option<SourcePlace> {
        place_of_computed_read(self.modules.values().filter_map(|module| module.source.as_ref()))
    }

    /// The first call in the test of Loadstone's export `name`. The test file has priority over other files.
    pub(crate) fn call_place(&self, name: &str) -> Option<SourcePlace> {
        let of_entry = self.modules.get(&self.entry).into_iter();
        let mut sources: Vec<&SourceText> = self.modules.values().filter_map(|module| module.source.as_ref()).collect();
        sources.sort_by(|a, b| a.file.cmp(&b.file));
        of_entry.filter_map(|module| module.source.as_ref()).chain(sources).find_map(|source| place_of_call(source, name))
    }

    /// The loop that ran without end, based on the last place that QuickJS knows. It knows only places of calls and property accesses. For
    /// a loop without any, the result may precede the loop.
    pub(crate) fn endless_loop(&self, known: &SourcePlace) -> Option<SourcePlace> {
        let (module, source) = self.modules.values().find_map(|m| m.source.as_ref().filter(|s| s.file == known.file).map(|s| (m, s)))?;
        let at = source.offset(known.line, known.column) as u32;
        if module.loops.iter().any(|(start, end)| (*start..*end).contains(&at)) {
            return None;
        }
        let start = module.loops.iter().map(|(start, _)| *start).filter(|start| *start >= at).min()?;
        Some(source.place_of(start as usize, 1))
    }
}
