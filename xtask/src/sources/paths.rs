//! The paths that an item of Rust mentions: in types, expressions, patterns, bounds, and inside macros.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemFn, ItemMod, ItemUse, Macro, Path, UseTree, Visibility};

/// A path by its segments, without generic arguments: `["crate", "http", "Client"]`.
pub(super) type Segments = Vec<String>;

/// One name that a `use` brings into scope.
#[derive(Debug, PartialEq)]
pub(super) struct Imported {
    /// `None` for a glob.
    pub(super) name: Option<String>,
    pub(super) path: Segments,
}

/// Every path that an item mentions outside test code; of a `use` inside a function, what it imports.
pub(super) fn mentioned(item: &Item) -> Vec<Segments> {
    let mut mentions = Mentions::default();
    mentions.visit_item(item);
    mentions.paths
}

/// The names that a `use` brings into scope.
pub(super) fn imported(tree: &UseTree) -> Vec<Imported> {
    let mut all = Vec::new();
    flatten(tree, &mut Vec::new(), &mut all);
    all
}

fn flatten(tree: &UseTree, before: &mut Segments, all: &mut Vec<Imported>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, all);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => all.push(Imported { name: before.last().cloned(), path: before.clone() }),
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            all.push(Imported { path: joined(before, &name), name: Some(name) });
        }
        UseTree::Rename(rename) => {
            let path = if rename.ident == "self" { before.clone() } else { joined(before, &rename.ident.to_string()) };
            all.push(Imported { name: Some(rename.rename.to_string()), path });
        }
        UseTree::Glob(_) => all.push(Imported { name: None, path: before.clone() }),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, all)),
    }
}

fn joined(before: &[String], last: &str) -> Segments {
    before.iter().cloned().chain([last.to_owned()]).collect()
}

/// Whether an item is compiled for tests only: `#[cfg(test)]`, `#[cfg(all(test, …))]`, `#[test]`.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        if attribute.path().is_ident("test") {
            return true;
        }
        let syn::Meta::List(list) = &attribute.meta else { return false };
        attribute.path().is_ident("cfg") && demands_test(list.tokens.clone())
    })
}

fn demands_test(condition: TokenStream) -> bool {
    let mut tokens = condition.into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Ident(word)), None) => word == "test",
        (Some(TokenTree::Ident(word)), Some(TokenTree::Group(group))) if word == "all" => {
            let first = group.stream().into_iter().next();
            group.stream().into_iter().any(|token| matches!(&token, TokenTree::Ident(word) if word == "test"))
                && !matches!(&first, Some(TokenTree::Ident(word)) if word == "not")
        }
        _ => false,
    }
}

#[derive(Default)]
struct Mentions {
    paths: Vec<Segments>,
}

impl<'ast> Visit<'ast> for Mentions {
    fn visit_path(&mut self, path: &'ast Path) {
        // `::name` is another crate.
        if path.leading_colon.is_none() {
            self.paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        self.visit_path(&called.path);
        scan(called.tokens.clone(), &mut self.paths);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_none() {
            self.paths.extend(imported(&item.tree).into_iter().map(|imported| imported.path));
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }

    // A module inside a function has a separate scope; none is expected.
    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    // `pub(in crate::user)` grants and uses nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

/// Paths among the tokens of a macro, which are not parsed since a macro may mean anything by them.
fn scan(tokens: TokenStream, paths: &mut Vec<Segments>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |index: usize, sign: char| matches!(tokens.get(index), Some(TokenTree::Punct(punct)) if punct.as_char() == sign);
    let follows = |at: usize, signs: &str| at >= signs.len() && signs.chars().rev().zip(1..).all(|(sign, back)| is(at - back, sign));
    let mut at = 0;
    while at < tokens.len() {
        // A field or a method (but not the end of a range), the rest of a path that begins otherwise, a lifetime.
        let continues = (follows(at, ".") && !follows(at, "..")) || follows(at, "::") || follows(at, "'");
        match &tokens[at] {
            TokenTree::Group(group) => scan(group.stream(), paths),
            TokenTree::Ident(first) if !continues => {
                let mut path = vec![first.to_string()];
                while is(at + 1, ':') && is(at + 2, ':') {
                    let Some(TokenTree::Ident(next)) = tokens.get(at + 3) else { break };
                    path.push(next.to_string());
                    at += 3;
                }
                paths.push(path);
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths_of(text: &str) -> Vec<String> {
        let file = syn::parse_file(text).unwrap();
        file.items.iter().flat_map(mentioned).map(|path| path.join("::")).collect()
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        let found = paths_of("fn f(a: &super::A) -> crate::b::B<C> { d::e(); match a { G::H => vec![crate::i::J, k.l, m(n::o)] } }");
        for path in ["super::A", "crate::b::B", "C", "d::e", "G::H", "crate::i::J", "k", "m", "n::o"] {
            assert!(found.iter().any(|found| found == path), "{path} is not among {found:?}");
        }
        assert!(!found.iter().any(|found| found == "l"));
    }

    #[test]
    fn visibility_attributes_and_tests_mention_nothing() {
        assert_eq!(paths_of("#[derive(Debug)] pub(in crate::user) struct A { pub(super) b: u8 }"), ["u8"]);
        assert!(paths_of("impl A { #[cfg(test)] fn f() { crate::x::y() } }").iter().all(|path| path == "A"));
    }

    #[test]
    fn a_use_is_flattened() {
        let item: ItemUse = syn::parse_str("use super::{a::{self, B as C}, d::*, E as _};").unwrap();
        let found: Vec<(Option<String>, String)> = imported(&item.tree).into_iter().map(|i| (i.name, i.path.join("::"))).collect();
        let expected = [(Some("a"), "super::a"), (Some("C"), "super::a::B"), (None, "super::d"), (Some("_"), "super::E")];
        assert_eq!(found, expected.map(|(name, path)| (name.map(str::to_owned), path.to_owned())));
    }

    #[test]
    fn test_code_is_told_by_its_condition() {
        let attributes = |text: &str| syn::parse_str::<ItemFn>(&format!("{text} fn f() {{}}")).unwrap().attrs;
        assert!(is_for_tests(&attributes("#[cfg(test)]")) && is_for_tests(&attributes("#[test]")));
        assert!(is_for_tests(&attributes("#[cfg(all(test, unix))]")));
        assert!(!is_for_tests(&attributes("#[cfg(any(test, feature = \"x\"))]")) && !is_for_tests(&attributes("#[cfg(not(test))]")));
    }
}
