//! Finds where a file calls a function that it imports from Loadstone.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{CallExpression, Expression, ImportDeclarationSpecifier, Program, Statement};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{GetSpan, Span};

use super::source::{SourceText, source_type};
use crate::error::SourcePlace;

/// The first call of `name`, or of one of its members (`stub.http(…)` of `stub`), under any local name.
pub(super) fn place_of_call(source: &SourceText, name: &str) -> Option<SourcePlace> {
    let allocator = Allocator::default();
    let tree = Parser::new(&allocator, &source.text, source_type(Path::new(&*source.file))).parse().program;
    let mut calls = CallsOf::imported(&tree, name);
    calls.visit_program(&tree);
    calls.found.map(|span| source.place_of(span.start as usize, span.size() as usize))
}

pub(super) struct CallsOf<'n> {
    name: &'n str,
    /// The local name of the import, and the local name of the whole module.
    own: Vec<String>,
    whole: Vec<String>,
    found: Option<Span>,
}

impl<'n> CallsOf<'n> {
    /// With the names under which the file imports it.
    pub(super) fn imported(tree: &Program<'_>, name: &'n str) -> Self {
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
    pub(super) fn is_it(&self, callee: &Expression<'_>) -> bool {
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
    fn other_functions_of_the_same_name_are_ignored() {
        assert_eq!(place("import { shared } from \"./mine\";\nshared();", "shared"), None);
        assert_eq!(place("import { shared } from \"loadstone\";\nother.shared(); shared.x;", "shared"), None);
    }
}
