//! Finds where a file calls a function that it imports from Loadstone.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{Argument, CallExpression, Expression, ImportDeclarationSpecifier, Program, Statement};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{GetSpan, Span};

use super::source::{SourceText, source_type};
use crate::error::SourcePlace;

/// Functions whose functions run on the machines that generate the load.
const LOAD: [&str; 3] = ["scenario", "setup", "teardown"];
/// Functions that read a file when they are called.
const READERS: [&str; 2] = ["file", "template"];

/// The first call, in a function that generates load, that reads a file whose path is computed: the text does not name the file.
pub(super) fn place_of_computed_path(source: &SourceText) -> Option<SourcePlace> {
    let allocator = Allocator::default();
    let tree = Parser::new(&allocator, &source.text, source_type(Path::new(&*source.file))).parse().program;
    let mut reads = ComputedReads {
        load: LOAD.map(|name| CallsOf::imported(&tree, name)).into(),
        readers: READERS.map(|name| CallsOf::imported(&tree, name)).into(),
        depth: 0,
        found: None,
    };
    reads.visit_program(&tree);
    reads.found.map(|span| source.place_of(span.start as usize, span.size() as usize))
}

/// The first call of `name`, or of one of its members (`stub.http(…)` of `stub`), under any local name.
pub(super) fn place_of_call(source: &SourceText, name: &str) -> Option<SourcePlace> {
    let allocator = Allocator::default();
    let tree = Parser::new(&allocator, &source.text, source_type(Path::new(&*source.file))).parse().program;
    let mut calls = CallsOf::imported(&tree, name);
    calls.visit_program(&tree);
    calls.found.map(|span| source.place_of(span.start as usize, span.size() as usize))
}

struct CallsOf<'n> {
    name: &'n str,
    /// The local name of the import, and the local name of the whole module.
    own: Vec<String>,
    whole: Vec<String>,
    found: Option<Span>,
}

impl<'n> CallsOf<'n> {
    /// With the names under which the file imports it.
    fn imported(tree: &Program<'_>, name: &'n str) -> Self {
        let mut calls = CallsOf { name, own: Vec::new(), whole: Vec::new(), found: None };
        for statement in &tree.body {
            let Statement::ImportDeclaration(import) = statement else { continue };
            for specifier in import.specifiers.iter().flatten().filter(|_| import.source.value == "loadstone") {
                match specifier {
                    ImportDeclarationSpecifier::ImportSpecifier(one) if one.imported.name() == name => {
                        calls.own.push(one.local.name.to_string())
                    }
                    ImportDeclarationSpecifier::ImportNamespaceSpecifier(all) => calls.whole.push(all.local.name.to_string()),
                    _ => {}
                }
            }
        }
        calls
    }

    /// `shared`, `loadstone.shared`, `stub.http`, `loadstone.stub.http`.
    fn is_it(&self, callee: &Expression<'_>) -> bool {
        match callee {
            Expression::Identifier(identifier) => self.own.iter().any(|own| identifier.name == own.as_str()),
            Expression::StaticMemberExpression(member) => {
                let of_whole = matches!(&member.object, Expression::Identifier(module) if self.whole.iter().any(|whole| module.name == whole.as_str()));
                of_whole && member.property.name == self.name || self.is_it(&member.object)
            }
            _ => false,
        }
    }
}

impl<'a> Visit<'a> for CallsOf<'_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if self.found.is_none() && self.is_it(&call.callee) {
            self.found = Some(call.callee.get_inner_expression().span());
        }
        walk::walk_call_expression(self, call);
    }
}

struct ComputedReads<'n> {
    load: Vec<CallsOf<'n>>,
    readers: Vec<CallsOf<'n>>,
    /// Number of calls around the visited node that generate load.
    depth: usize,
    found: Option<Span>,
}

impl<'a> Visit<'a> for ComputedReads<'_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        let is_computed = match call.arguments.first() {
            None | Some(Argument::StringLiteral(_)) => false,
            Some(Argument::TemplateLiteral(template)) => !template.expressions.is_empty(),
            Some(_) => true,
        };
        if self.depth > 0 && is_computed && self.found.is_none() && self.readers.iter().any(|reader| reader.is_it(&call.callee)) {
            self.found = Some(call.span);
        }
        let generates = usize::from(self.load.iter().any(|load| load.is_it(&call.callee)));
        self.depth += generates;
        walk::walk_call_expression(self, call);
        self.depth -= generates;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// `LINE:COLUMN WIDTH`
    fn place(text: &str, name: &str) -> Option<String> {
        let source = SourceText { file: Arc::from("a.load.ts"), text: text.to_owned() };
        place_of_call(&source, name).map(|place| format!("{}:{} {}", place.line, place.column, place.width))
    }

    #[test]
    fn a_call_is_found_under_any_local_name() {
        assert_eq!(place("import { shared } from \"loadstone\";\n// shared(1)\nconst a = shared(\"n\", 0);", "shared").unwrap(), "3:11 6");
        assert_eq!(place("import { shared as s } from \"loadstone\";\nconst a = s(\"n\", 0);", "shared").unwrap(), "2:11 1");
        assert_eq!(place("import * as l from \"loadstone\";\nconst a = l.shared(\"n\", 0);", "shared").unwrap(), "2:11 8");
        assert_eq!(place("import { stub } from \"loadstone\";\n\nstub.http({});\nstub.dns({});", "stub").unwrap(), "3:1 9");
        assert_eq!(place("import * as l from \"loadstone\";\nl.stub.http({});", "stub").unwrap(), "2:1 11");
    }

    #[test]
    fn paths_that_scenarios_compute_are_found() {
        let computed = |body: &str| {
            let text = format!("import {{ file, scenario, template }} from \"loadstone\";\n{body}");
            let source = SourceText { file: Arc::from("a.load.ts"), text };
            place_of_computed_path(&source).map(|place| format!("{}:{} {}", place.line, place.column, place.width))
        };
        assert_eq!(computed("scenario(\"S\", async (user) => {\n  file(`${user.number}.txt`);\n});").unwrap(), "3:3 26");
        assert_eq!(computed("scenario(\"S\", () => template(name, {}));").unwrap(), "2:21 18");
        for known in [
            "scenario(\"S\", () => file(\"a.txt\"));",
            "scenario(\"S\", () => file(`a.txt`));",
            "const read = (n) => file(`${n}.txt`); read(1);",
            "scenario(\"S\", () => other.file(name));",
        ] {
            assert_eq!(computed(known), None, "{known}");
        }
    }

    #[test]
    fn other_functions_of_the_same_name_are_ignored() {
        assert_eq!(place("import { shared } from \"./mine\";\nshared();", "shared"), None);
        assert_eq!(place("import { shared } from \"loadstone\";\nother.shared(); shared.x;", "shared"), None);
    }
}
