//! What is known of one file of a script, before its translation and after it.

use std::collections::{BTreeMap, HashMap};

use oxc_semantic::NodeId;

use super::names::{Effect, Names};
use super::tree::Tree;
use super::values::{ImportedValues, Value, value};
use crate::imported::Note;

/// The file of parameters that several files read, next to the script.
pub(super) const PARAMETERS: &str = "./parameters.loadstone.ts";

/// A file to translate.
pub(super) struct ScriptFile<'f> {
    /// For messages.
    pub(super) name: &'f str,
    pub(super) text: &'f str,
    /// From the folder of the script; empty for the script itself.
    pub(super) path: &'f str,
    /// The script itself, which has options and a default function.
    pub(super) is_test: bool,
}

/// A file, translated.
pub(super) struct TranslatedFile {
    pub(super) text: String,
    pub(super) notes: Vec<Note>,
    pub(super) module: ModuleFacts,
    /// Parameters that are declared in the separate parameter file, by variable.
    pub(super) shared: Vec<(String, String)>,
}

/// What others may import of a file.
#[derive(Clone, Default)]
pub(super) struct ModuleFacts {
    /// Whether there is a translation of it to import instead.
    pub(super) is_translated: bool,
    pub(super) effects: HashMap<String, Effect>,
    pub(super) values: HashMap<String, Value>,
}

/// Why statements, or entries of checks, are left out.
pub(super) type Omissions = BTreeMap<NodeId, String>;

/// What is known of a file before its translation.
pub(super) struct State<'t, 'a> {
    pub(super) tree: &'t Tree<'a>,
    pub(super) names: &'t Names,
    pub(super) imported: &'t ImportedValues,
    pub(super) specifiers: &'t HashMap<String, String>,
    pub(super) folder: &'t str,
    /// Variables of the environment that files of the script's own read.
    pub(super) shared: &'t BTreeMap<String, String>,
    /// Whether nothing was left out of the files that were translated before this one.
    pub(super) is_whole: bool,
}

impl State<'_, '_> {
    pub(super) fn value(&self, id: NodeId) -> Value {
        value(self.tree, self.imported, id)
    }
}
