//! The modules of one crate: the file of each, and what it defines, imports and mentions.
//!
//! [`ModuleTree::read`] follows `mod` from the root file, as the compiler does. Test code is in the tree, so that its files
//! count as used, but its mentions are not recorded.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use proc_macro2::TokenTree;
use syn::{Expr, Item, ItemMod, Lit, Meta, Visibility};

use super::paths::{self, Imported, Segments};

/// Index of a module in its tree; the root is 0.
pub(crate) type ModuleId = usize;

#[derive(Debug, Default)]
pub(crate) struct ModuleTree {
    pub(crate) modules: Vec<SourceModule>,
}

#[derive(Debug, Default)]
pub(crate) struct SourceModule {
    /// Relative to the workspace. Several modules may share a file.
    pub(crate) file: String,
    pub(crate) parent: Option<ModuleId>,
    pub(crate) is_test: bool,
    /// Structs, enums, unions, traits and type aliases that are defined here.
    pub(crate) types: Vec<String>,
    pub(super) names: BTreeMap<String, Vec<Binding>>,
    /// What `use a::*` names.
    pub(super) globs: Vec<Segments>,
    /// Paths in the code.
    pub(super) mentions: Vec<Segments>,
    pub(super) imports: Vec<UsePath>,
}

/// The meaning of a name in a module.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Binding {
    Module(ModuleId),
    /// Something that this module defines.
    ItemOf(ModuleId),
    Import(Segments),
}

#[derive(Debug, PartialEq)]
pub(super) struct UsePath {
    pub(super) path: Segments,
    /// `pub use`, `pub(crate) use`
    pub(super) is_reexport: bool,
}

/// Reads a file by its path, relative to the workspace; `None` where there is none.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&str) -> Option<String>;

impl ModuleTree {
    /// All modules reached from a root file.
    ///
    /// # Errors
    ///
    /// If a file cannot be parsed, or a module has no file.
    pub(crate) fn read(root: &str, read: ReadFile<'_>) -> Result<Self> {
        let mut tree = Self::default();
        tree.file(SourceModule { file: root.to_owned(), ..SourceModule::default() }, folder_of(root), read)?;
        Ok(tree)
    }

    /// Adds the module of a file; `children` is the folder with the files of its modules.
    fn file(&mut self, module: SourceModule, children: String, read: ReadFile<'_>) -> Result<ModuleId> {
        let path = module.file.clone();
        let text = read(&path).with_context(|| format!("there is no {path}"))?;
        let parsed = syn::parse_file(&text).with_context(|| format!("{path} cannot be parsed"))?;
        let id = self.modules.len();
        self.modules.push(module);
        self.items(id, &parsed.items, &children, read)?;
        Ok(id)
    }

    fn items(&mut self, id: ModuleId, items: &[Item], children: &str, read: ReadFile<'_>) -> Result<()> {
        let declaring: Vec<String> = items.iter().filter_map(macro_that_declares_modules).collect();
        for item in items {
            match item {
                Item::Mod(child) => self.child(id, child, children, read)?,
                Item::Macro(call) if declaring.iter().any(|name| call.ident.is_none() && call.mac.path.is_ident(name)) => {
                    for token in call.mac.tokens.clone() {
                        if let TokenTree::Ident(name) = token {
                            self.child(id, &syn::parse_str(&format!("mod {name};"))?, children, read)?;
                        }
                    }
                }
                Item::Use(item) if !paths::is_for_tests(&item.attrs) && item.leading_colon.is_none() => {
                    let is_reexport = !matches!(item.vis, Visibility::Inherited);
                    for imported in paths::imported(&item.tree) {
                        self.modules[id].import(imported, is_reexport);
                    }
                }
                Item::Use(_) => {}
                _ => self.item(id, item),
            }
        }
        Ok(())
    }

    fn child(&mut self, parent: ModuleId, child: &ItemMod, children: &str, read: ReadFile<'_>) -> Result<()> {
        let name = child.ident.to_string().trim_start_matches("r#").to_owned();
        let is_test = self.modules[parent].is_test || paths::is_for_tests(&child.attrs);
        let own = format!("{children}/{name}");
        let module = |file: String| SourceModule { file, parent: Some(parent), is_test, ..SourceModule::default() };
        let id = if let Some((_, items)) = &child.content {
            let id = self.modules.len();
            self.modules.push(module(self.modules[parent].file.clone()));
            self.items(id, items, &own, read)?;
            id
        } else {
            let at_path = path_attribute(child).map(|path| joined(&folder_of(&self.modules[parent].file), &path));
            // The modules of a file with `#[path]` are in the same folder.
            let children = at_path.as_deref().map_or_else(|| own.clone(), folder_of);
            let candidates = at_path.map_or_else(|| vec![format!("{own}.rs"), format!("{own}/mod.rs")], |path| vec![path]);
            let file = candidates.into_iter().find(|file| read(file).is_some());
            let file = file.with_context(|| format!("{}: `mod {name}` has no file", self.modules[parent].file))?;
            self.file(module(file), children, read)?
        };
        self.modules[parent].names.entry(name).or_default().push(Binding::Module(id));
        Ok(())
    }

    fn item(&mut self, id: ModuleId, item: &Item) {
        let Some(definition) = ItemDefinition::of(item) else { return };
        self.modules[id].mentions.extend(paths::mentioned(item));
        let Some(name) = definition.name else { return };
        if definition.is_type && !self.modules[id].types.contains(&name) {
            self.modules[id].types.push(name.clone());
        }
        // An exported macro is a name in the crate's root, wherever it is defined.
        let scope = if definition.is_exported_macro { 0 } else { id };
        self.modules[scope].names.entry(name).or_default().push(Binding::ItemOf(id));
    }
}

impl SourceModule {
    fn import(&mut self, imported: Imported, is_reexport: bool) {
        match imported.name {
            Some(name) => self.names.entry(name).or_default().push(Binding::Import(imported.path.clone())),
            None => self.globs.push(imported.path.clone()),
        }
        self.imports.push(UsePath { path: imported.path, is_reexport });
    }
}

/// The name and kind that an item defines.
struct ItemDefinition {
    name: Option<String>,
    is_type: bool,
    is_exported_macro: bool,
}

impl ItemDefinition {
    /// `None` for an item that is compiled for tests only.
    fn of(item: &Item) -> Option<Self> {
        let (attributes, name, is_type) = match item {
            Item::Struct(item) => (&item.attrs, Some(&item.ident), true),
            Item::Enum(item) => (&item.attrs, Some(&item.ident), true),
            Item::Union(item) => (&item.attrs, Some(&item.ident), true),
            Item::Trait(item) => (&item.attrs, Some(&item.ident), true),
            Item::TraitAlias(item) => (&item.attrs, Some(&item.ident), true),
            Item::Type(item) => (&item.attrs, Some(&item.ident), true),
            Item::Fn(item) => (&item.attrs, Some(&item.sig.ident), false),
            Item::Const(item) => (&item.attrs, Some(&item.ident), false),
            Item::Static(item) => (&item.attrs, Some(&item.ident), false),
            Item::Macro(item) => (&item.attrs, item.ident.as_ref(), false),
            Item::Impl(item) => (&item.attrs, None, false),
            _ => return Some(Self { name: None, is_type: false, is_exported_macro: false }),
        };
        let is_exported_macro =
            matches!(item, Item::Macro(_)) && attributes.iter().any(|attribute| attribute.path().is_ident("macro_export"));
        (!paths::is_for_tests(attributes)).then(|| Self { name: name.map(ToString::to_string), is_type, is_exported_macro })
    }
}

/// The name of a macro that writes a `mod` for each name it gets: `macro_rules! rules { ($($name:ident,)+) => { $(mod $name;)+ … } }`.
fn macro_that_declares_modules(item: &Item) -> Option<String> {
    let Item::Macro(definition) = item else { return None };
    let name = definition.ident.as_ref().filter(|_| definition.mac.path.is_ident("macro_rules"))?;
    definition.mac.tokens.to_string().replace(' ', "").contains("mod$").then(|| name.to_string())
}

/// `#[path = "other.rs"]`
fn path_attribute(module: &ItemMod) -> Option<String> {
    module.attrs.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(literal) => {
                if let Lit::Str(text) = &literal.lit {
                    Some(text.value())
                } else {
                    None
                }
            }
            _ => None,
        },
        _ => None,
    })
}

/// A path from a folder, without its steps upwards.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in path.split('/') {
        match part {
            ".." => parts.truncate(parts.len().saturating_sub(1)),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn folder_of(file: &str) -> String {
    file.rsplit_once('/').map_or_else(String::new, |(folder, _)| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> ModuleTree {
        let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        ModuleTree::read("src/lib.rs", &read).unwrap()
    }

    #[test]
    fn modules_are_found_in_every_place_that_the_compiler_looks() {
        let tree = tree(&[
            (
                "src/lib.rs",
                "mod a; mod b; mod c { mod d; } #[path = \"elsewhere.rs\"] mod e; #[path = \"../shared/mod.rs\"] mod f; #[cfg(test)] mod tests;",
            ),
            ("src/a.rs", "mod inner; #[path = \"a_too.rs\"] mod too;"),
            ("src/a_too.rs", ""),
            ("src/a/inner.rs", ""),
            ("src/b/mod.rs", "mod inner;"),
            ("src/b/inner.rs", ""),
            ("src/c/d.rs", ""),
            ("src/elsewhere.rs", ""),
            ("shared/mod.rs", "mod neighbour;"),
            ("shared/neighbour.rs", ""),
            ("src/tests.rs", "mod deep;"),
            ("src/tests/deep.rs", ""),
        ]);
        let files: Vec<&str> = tree.modules.iter().map(|module| module.file.as_str()).collect();
        assert_eq!(
            files,
            [
                "src/lib.rs",
                "src/a.rs",
                "src/a/inner.rs",
                "src/a_too.rs",
                "src/b/mod.rs",
                "src/b/inner.rs",
                "src/lib.rs",
                "src/c/d.rs",
                "src/elsewhere.rs",
                "shared/mod.rs",
                "shared/neighbour.rs",
                "src/tests.rs",
                "src/tests/deep.rs"
            ]
        );
        let tests: Vec<&str> = tree.modules.iter().filter(|module| module.is_test).map(|module| module.file.as_str()).collect();
        assert_eq!(tests, ["src/tests.rs", "src/tests/deep.rs"]);
    }

    #[test]
    fn a_macro_may_declare_modules() {
        let tree = tree(&[
            (
                "src/lib.rs",
                "macro_rules! rules { ($($name:ident,)+) => { $(mod $name;)+ static ALL: &[u8] = &[$($name::A),+]; }; } rules! { a, b, } other! { c }",
            ),
            ("src/a.rs", ""),
            ("src/b.rs", ""),
        ]);
        let files: Vec<&str> = tree.modules.iter().map(|module| module.file.as_str()).collect();
        assert_eq!(files, ["src/lib.rs", "src/a.rs", "src/b.rs"]);
    }

    #[test]
    fn types_are_those_at_the_level_of_modules() {
        let text = "struct A; enum B {} trait C { type No; } type D = u8; fn f() { struct No; } #[cfg(test)] struct No; impl C for A { type No = u8; } \
                    #[cfg(unix)] struct E; #[cfg(not(unix))] struct E; const F: u8 = 0;";
        assert_eq!(tree(&[("src/lib.rs", text)]).modules[0].types, ["A", "B", "C", "D", "E"]);
    }

    #[test]
    fn a_missing_file_and_a_broken_one_are_named() {
        let read = |path: &str| (path == "src/lib.rs").then(|| "mod gone;".to_owned());
        assert_eq!(ModuleTree::read("src/lib.rs", &read).unwrap_err().to_string(), "src/lib.rs: `mod gone` has no file");
        assert!(
            ModuleTree::read("src/lib.rs", &|_| Some("fn (".to_owned()))
                .unwrap_err()
                .to_string()
                .starts_with("src/lib.rs cannot be parsed")
        );
    }
}
