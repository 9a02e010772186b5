//! Options that are written out where users are told to do something: those that do not exist are an error before anything runs.
//!
//! A user is known as one where it is the parameter of a function that Loadstone calls with it (`scenario`, `setup`, `teardown`,
//! `user.group`), or says so itself (`user: User`). What reaches a call through variables is looked at when the call is made.

use std::collections::HashSet;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    Argument, ArrayExpressionElement, BindingPattern, CallExpression, Expression, FormalParameter, FormalParameters, IdentifierReference,
    ImportDeclarationSpecifier, ObjectExpression, ObjectPropertyKind, Program as Tree, Statement, TSType, TSTypeName,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_semantic::Scoping;
use oxc_span::{GetSpan, SourceType, Span};
use oxc_syntax::symbol::SymbolId;

use super::source::SourceText;
use crate::error::{ScriptError, SourcePlace};
use crate::unknown_options::{OptionSet, OptionsOfVerb, unknown_option};

/// Functions of the module that call a function with a user.
const CALL_WITH_USERS: [&str; 3] = ["scenario", "setup", "teardown"];

/// The first option in a file that does not exist.
pub(super) fn misspelt(tree: &Tree<'_>, scoping: &Scoping, source: &SourceText, verbs: &[OptionsOfVerb]) -> Option<ScriptError> {
    let mut calls = UserCalls { scoping, verbs, callers: HashSet::new(), types: HashSet::new(), users: HashSet::new(), found: None };
    calls.imports(tree);
    calls.visit_program(tree);
    let (options, name, span) = calls.found?;
    let at = source.place_of(span.start as usize, span.size() as usize);
    Some(ScriptError::new(unknown_option(options.of, &name, options.known)).at(at))
}

struct UserCalls<'t> {
    scoping: &'t Scoping,
    verbs: &'t [OptionsOfVerb],
    /// What is imported of [`CALL_WITH_USERS`].
    callers: HashSet<SymbolId>,
    /// The type `User`.
    types: HashSet<SymbolId>,
    users: HashSet<SymbolId>,
    found: Option<(&'static OptionSet, String, Span)>,
}

impl UserCalls<'_> {
    fn imports(&mut self, tree: &Tree<'_>) {
        for statement in &tree.body {
            let Statement::ImportDeclaration(import) = statement else { continue };
            if import.source.value != "loadstone" {
                continue;
            }
            for specifier in import.specifiers.iter().flatten() {
                let ImportDeclarationSpecifier::ImportSpecifier(specifier) = specifier else { continue };
                match specifier.imported.name().as_str() {
                    "User" => self.types.insert(specifier.local.symbol_id()),
                    name if CALL_WITH_USERS.contains(&name) => self.callers.insert(specifier.local.symbol_id()),
                    _ => false,
                };
            }
        }
    }

    fn is_one_of(&self, identifier: &IdentifierReference<'_>, symbols: &HashSet<SymbolId>) -> bool {
        self.scoping.get_reference(identifier.reference_id()).symbol_id().is_some_and(|symbol| symbols.contains(&symbol))
    }

    /// The function is called with a user.
    fn given_a_user(&mut self, function: &Expression<'_>) {
        let parameters: &FormalParameters<'_> = match function {
            Expression::ArrowFunctionExpression(arrow) => &arrow.params,
            Expression::FunctionExpression(function) => &function.params,
            _ => return,
        };
        self.users.extend(parameters.items.first().and_then(symbol_of));
    }

    fn called(&mut self, call: &CallExpression<'_>) {
        match &call.callee {
            Expression::Identifier(callee) if self.is_one_of(callee, &self.callers) => {
                for argument in call.arguments.iter().filter_map(Argument::as_expression) {
                    self.given_a_user(argument);
                    // What users do around their iterations: `{ onStart, onEnd }`.
                    if let Expression::ObjectExpression(options) = argument {
                        values(options).for_each(|value| self.given_a_user(value));
                    }
                }
            }
            Expression::StaticMemberExpression(callee) => {
                let Expression::Identifier(user) = &callee.object else { return };
                if !self.is_one_of(user, &self.users) {
                    return;
                }
                let argument = |index: usize| call.arguments.get(index).and_then(Argument::as_expression);
                let verb = callee.property.name.as_str();
                if let Some(steps) = argument(1).filter(|_| verb == "group") {
                    self.given_a_user(steps);
                }
                for of in self.verbs.iter().filter(|of| of.verb == verb) {
                    if let Some(Expression::ObjectExpression(given)) = argument(of.argument).map(Expression::get_inner_expression) {
                        self.check(given, of.options);
                    }
                }
            }
            _ => {}
        }
    }

    fn check(&mut self, given: &ObjectExpression<'_>, options: &'static OptionSet) {
        for (name, span, value) in properties(given) {
            if !options.known.contains(&&*name) {
                self.found.get_or_insert((options, name, span));
            } else if let Some((_, within)) = options.within.iter().find(|(known, _)| *known == name)
                && let Expression::ObjectExpression(inner) = value.get_inner_expression()
            {
                self.check(inner, within);
            }
        }
    }
}

impl<'a> Visit<'a> for UserCalls<'_> {
    fn visit_formal_parameter(&mut self, parameter: &FormalParameter<'a>) {
        if let Some(annotation) = &parameter.type_annotation
            && let TSType::TSTypeReference(written) = &annotation.type_annotation
            && let TSTypeName::IdentifierReference(written) = &written.type_name
            && self.is_one_of(written, &self.types)
        {
            self.users.extend(symbol_of(parameter));
        }
        walk::walk_formal_parameter(self, parameter);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        self.called(call);
        walk::walk_call_expression(self, call);
    }
}

fn symbol_of(parameter: &FormalParameter<'_>) -> Option<SymbolId> {
    match &parameter.pattern {
        BindingPattern::BindingIdentifier(identifier) => Some(identifier.symbol_id()),
        _ => None,
    }
}

fn values<'o, 'a>(object: &'o ObjectExpression<'a>) -> impl Iterator<Item = &'o Expression<'a>> {
    object.properties.iter().filter_map(|property| match property {
        ObjectPropertyKind::ObjectProperty(property) => Some(&property.value),
        ObjectPropertyKind::SpreadProperty(_) => None,
    })
}

/// Names that are written out, where they stand, and their values.
fn properties<'o, 'a>(object: &'o ObjectExpression<'a>) -> impl Iterator<Item = (String, Span, &'o Expression<'a>)> {
    object.properties.iter().filter_map(|property| match property {
        ObjectPropertyKind::ObjectProperty(property) => {
            Some((property.key.static_name()?.into_owned(), property.key.span(), &property.value))
        }
        ObjectPropertyKind::SpreadProperty(_) => None,
    })
}

/// Where an option stands that a call was given, if it is written out in the call. `known`: what QuickJS knows of the call's place, which
/// is its line and roughly its column.
pub(super) fn place_of_option(source: &SourceText, source_type: SourceType, known: &SourcePlace, option: &str) -> Option<SourcePlace> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &source.text, source_type).parse();
    let at = source.offset(known.line, known.column) as u32;
    let mut calls = CallsWithOption { option, found: Vec::new() };
    calls.visit_program(&parsed.program);
    let around = calls.found.iter().filter(|(call, _)| (call.start..call.end).contains(&at)).min_by_key(|(call, _)| call.size());
    let in_line = || calls.found.iter().find(|(call, _)| source.place_of(call.start as usize, 1).line == known.line);
    let (_, span) = around.or_else(in_line)?;
    Some(source.place_of(span.start as usize, span.size() as usize))
}

struct CallsWithOption<'o> {
    option: &'o str,
    /// The call, and the option.
    found: Vec<(Span, Span)>,
}

impl CallsWithOption<'_> {
    fn look(&mut self, call: Span, value: &Expression<'_>) {
        match value.get_inner_expression() {
            Expression::ObjectExpression(object) => {
                for (name, span, value) in properties(object) {
                    if name == self.option {
                        self.found.push((call, span));
                    }
                    self.look(call, value);
                }
            }
            Expression::ArrayExpression(array) => {
                array.elements.iter().filter_map(ArrayExpressionElement::as_expression).for_each(|value| self.look(call, value));
            }
            _ => {}
        }
    }
}

impl<'a> Visit<'a> for CallsWithOption<'_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        call.arguments.iter().filter_map(Argument::as_expression).for_each(|value| self.look(call.span, value));
        walk::walk_call_expression(self, call);
    }
}
