//! Where the names that a module mentions are defined, and so which file uses which.
//!
//! Start with [`uses`]. It follows a name through imports and re-exports to the file that defines it: a module that imports `super::Pool` from a
//! parent that only re-exports it uses the file of `Pool`, and not the parent. So `mod` and `pub use` of a child are no edge, and the edges
//! that remain between a parent and its child are real.

use std::collections::BTreeSet;

use super::graph::FileGraph;
use super::module_tree::{Binding, ModuleId, ModuleTree};

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Resolved {
    Module(ModuleId),
    /// Something that is defined in this module.
    ItemOf(ModuleId),
}

/// Names under way, against imports that name each other.
type Trail = Vec<(ModuleId, String)>;

/// Which file of a crate uses which, tests apart.
pub(crate) fn uses(tree: &ModuleTree) -> FileGraph {
    let mut graph = FileGraph::default();
    for (id, module) in tree.modules.iter().enumerate().filter(|(_, module)| !module.is_test) {
        let mut add = |path: &[String], passes_on: bool| {
            for home in tree.homes(id, path) {
                if !(passes_on && tree.lies_below(home, id)) {
                    graph.add(&module.file, &tree.modules[home].file, &shown(path));
                }
            }
        };
        module.mentions.iter().for_each(|path| add(path, false));
        module.imports.iter().for_each(|import| add(&import.path, import.is_reexport));
    }
    graph
}

fn shown(path: &[String]) -> String {
    let start = path.iter().position(|segment| !["crate", "self", "super"].contains(&segment.as_str())).unwrap_or(0);
    path[start..].join("::")
}

impl ModuleTree {
    /// The modules that define what a path names; none where it is another crate's.
    fn homes(&self, from: ModuleId, path: &[String]) -> BTreeSet<ModuleId> {
        let destinations = self.find(from, path, &mut Trail::new());
        destinations.into_iter().filter_map(|found| if let Resolved::ItemOf(home) = found { Some(home) } else { None }).collect()
    }

    fn lies_below(&self, module: ModuleId, above: ModuleId) -> bool {
        std::iter::successors(self.modules[module].parent, |parent| self.modules[*parent].parent).any(|parent| parent == above)
    }

    fn find(&self, from: ModuleId, path: &[String], trail: &mut Trail) -> Vec<Resolved> {
        let (mut scope, mut rest) = (from, path);
        let mut is_anchored = false;
        while let Some((first, further)) = rest.split_first() {
            scope = match first.as_str() {
                "crate" => 0,
                "self" => scope,
                "super" => self.modules[scope].parent.unwrap_or(0),
                _ => break,
            };
            (rest, is_anchored) = (further, true);
        }
        if rest.is_empty() { vec![Resolved::Module(scope)] } else { self.within(scope, rest, is_anchored, trail) }
    }

    /// What the rest of a path names in a module. Of an anchored path (`crate::…`) the module must have it, if only by a macro that wrote it.
    fn within(&self, module: ModuleId, path: &[String], is_anchored: bool, trail: &mut Trail) -> Vec<Resolved> {
        let Some((name, rest)) = path.split_first() else { return vec![Resolved::Module(module)] };
        let found = self.named(module, name, trail);
        if found.is_empty() && is_anchored {
            return vec![Resolved::ItemOf(module)];
        }
        let further = |found| match found {
            Resolved::Module(inner) => self.within(inner, rest, true, trail),
            // A variant, a constant or a function of a type.
            Resolved::ItemOf(_) => vec![found],
        };
        found.into_iter().flat_map(further).collect()
    }

    /// What a name means in a module, by definition, import or glob.
    fn named(&self, module: ModuleId, name: &str, trail: &mut Trail) -> Vec<Resolved> {
        let step = (module, name.to_owned());
        if trail.contains(&step) {
            return Vec::new();
        }
        trail.push(step);
        let bindings = self.modules[module].names.get(name).map(Vec::as_slice).unwrap_or_default();
        let mut found = Vec::new();
        for binding in bindings {
            match binding {
                Binding::Module(inner) => found.push(Resolved::Module(*inner)),
                Binding::ItemOf(home) => found.push(Resolved::ItemOf(*home)),
                Binding::Import(path) => found.extend(self.find(module, path, trail)),
            }
        }
        if found.is_empty() {
            for glob in &self.modules[module].globs {
                let sources = self.find(module, glob, trail);
                // The variants that a glob of an enum imports are not known; the glob itself is an edge.
                let modules = sources.into_iter().filter_map(|source| if let Resolved::Module(id) = source { Some(id) } else { None });
                found.extend(modules.collect::<Vec<_>>().into_iter().flat_map(|source| self.named(source, name, trail)));
            }
        }
        trail.pop();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let read = |path: &str| files.iter().find(|(name, _)| format!("src/{name}") == path).map(|(_, text)| (*text).to_owned());
        let graph = uses(&ModuleTree::read("src/lib.rs", &read).unwrap());
        let short = |file: &str| file.trim_start_matches("src/").to_owned();
        graph.edges().map(|(from, to, _)| (short(from), short(to))).collect()
    }

    fn pair(from: &str, to: &str) -> (String, String) {
        (from.to_owned(), to.to_owned())
    }

    #[test]
    fn files_use_each_other_by_crate_super_and_self() {
        let found = edges(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "pub struct B; fn f(c: super::c::C) {}"),
            ("c.rs", "pub struct C; fn f() { crate::a::g(); }"),
        ]);
        assert_eq!(found, [pair("a.rs", "b.rs"), pair("b.rs", "c.rs"), pair("c.rs", "a.rs")]);
    }

    #[test]
    fn a_re_export_leads_to_the_file_behind_it() {
        let found = edges(&[
            ("lib.rs", "mod http; pub use http::Client;"),
            ("http/mod.rs", "mod client; mod pool; pub use client::Client; pub(crate) use pool::*;"),
            ("http/client.rs", "use super::Pool; pub struct Client;"),
            ("http/pool.rs", "use crate::Client; pub struct Pool;"),
        ]);
        assert_eq!(found, [pair("http/client.rs", "http/pool.rs"), pair("http/pool.rs", "http/client.rs")]);
    }

    #[test]
    fn a_parent_that_uses_what_it_re_exports_has_an_edge() {
        let files = |parent: &'static str| [("lib.rs", parent), ("a.rs", "use super::Shared; pub struct A;")];
        assert_eq!(edges(&files("mod a; pub use a::A; pub struct Shared;")), [pair("a.rs", "lib.rs")]);
        assert_eq!(edges(&files("mod a; pub use a::A; pub struct Shared(A);")), [pair("a.rs", "lib.rs"), pair("lib.rs", "a.rs")]);
        assert_eq!(edges(&files("mod a; pub struct Shared; fn f() { a::A; }")), [pair("a.rs", "lib.rs"), pair("lib.rs", "a.rs")]);
    }

    #[test]
    fn tests_and_other_crates_make_no_edges() {
        let found = edges(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use std::fmt; use http::Client; pub struct A; #[cfg(test)] mod tests { use super::*; use crate::b::B; }"),
            ("b.rs", "use crate::a::A; pub struct B; #[cfg(test)] use crate::a::A as C; #[test] fn f() {}"),
        ]);
        assert_eq!(found, [pair("b.rs", "a.rs")]);
    }

    #[test]
    fn names_that_came_by_a_glob_or_from_a_macro_are_followed() {
        let found = edges(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use super::b::*; fn f() { B; unknown(); }"),
            ("b.rs", "pub struct B; pub struct Unused;"),
            ("c.rs", "fn f() { println!(\"{}\", crate::a::written_by_a_macro(1.0, x.b)); }"),
        ]);
        assert_eq!(found, [pair("a.rs", "b.rs"), pair("c.rs", "a.rs")]);
    }

    #[test]
    fn a_variable_named_like_a_module_is_not_an_edge() {
        assert!(edges(&[("lib.rs", "mod worker; fn f(worker: u8) { g(worker) }"), ("worker.rs", "")]).is_empty());
    }

    #[test]
    fn imports_that_name_each_other_end() {
        assert!(
            edges(&[("lib.rs", "mod a; mod b;"), ("a.rs", "pub use super::b::*;"), ("b.rs", "pub use super::a::*; fn f() { x() }")])
                .is_empty()
        );
    }
}
