//! Checks literal calls of users before anything runs: unknown verbs and options, and invalid addresses, are errors.
//!
//! A user is recognised as the parameter of a function that Loadstone calls with it (`scenario`, `setup`, `teardown`, `user.group`), or by
//! its type (`user: User`). Values that reach a call through variables are checked when the call runs.

use std::collections::{HashMap, HashSet};

use loadstone_plan::Secrets;
use oxc_ast::ast::{
    Argument, AssignmentExpression, AssignmentTarget, BindingPattern, CallExpression, Expression, FormalParameter, FormalParameters,
    IdentifierReference, ImportDeclarationSpecifier, ObjectExpression, ObjectPropertyKind, Program as Tree, Statement, TSType, TSTypeName,
    VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::Scoping;
use oxc_span::Span;
use oxc_syntax::symbol::SymbolId;

use super::options::properties;
use super::source::SourceText;
use crate::error::ScriptError;
use crate::known_verbs::{AddressOfVerb, AddressParameter, CalledVerb, CheckedLater, KnownVerbs};
use crate::unknown_options::{OptionSet, unknown_option};

/// Functions of the module that call a function with a user.
const CALL_WITH_USERS: [&str; 3] = ["scenario", "setup", "teardown"];

/// Calls that can be checked only once parameters and verbs are known.
///
/// # Errors
/// The first unknown option in the file, or the first invalid address.
pub(super) fn look_through(
    tree: &Tree<'_>,
    scoping: &Scoping,
    source: &SourceText,
    verbs: &KnownVerbs,
) -> Result<CheckedLater, ScriptError> {
    let mut calls = UserCalls::new(scoping, verbs);
    calls.imports(tree);
    calls.visit_program(tree);
    let place = |span: Span| source.place_of(span.start as usize, span.size() as usize);
    if let Some((problem, span)) = calls.found {
        // The line may show a URL with a password.
        let mut secrets = Secrets::default();
        secrets.learn_urls(&source.text);
        return Err(ScriptError::new(problem).at(place(span)).hiding(&secrets));
    }
    let addresses = calls.addressed.into_iter().map(|(of, parameter, span)| AddressParameter { of, parameter, at: place(span) });
    let own = calls.assigned;
    let verbs = calls.called_verbs.into_iter().filter(|(verb, _)| !own.contains(verb));
    let verbs = verbs.map(|(verb, span)| CalledVerb { verb, at: place(span) });
    Ok(CheckedLater { addresses: addresses.collect(), verbs: verbs.collect() })
}

struct UserCalls<'t> {
    scoping: &'t Scoping,
    verbs: &'t KnownVerbs,
    /// Local names of [`CALL_WITH_USERS`].
    callers: HashSet<SymbolId>,
    /// The type `User`.
    types: HashSet<SymbolId>,
    users: HashSet<SymbolId>,
    /// `param`.
    declarers: HashSet<SymbolId>,
    /// Constants that hold the value of a parameter, with its name.
    parameters: HashMap<SymbolId, String>,
    /// The problem, and its place.
    found: Option<(String, Span)>,
    addressed: Vec<(AddressOfVerb, String, Span)>,
    /// Verbs of users, with the place of their first call.
    called_verbs: Vec<(String, Span)>,
    /// Names that the file assigns to objects of any kind: `user.token = …`.
    assigned: HashSet<String>,
}

impl<'t> UserCalls<'t> {
    fn new(scoping: &'t Scoping, verbs: &'t KnownVerbs) -> Self {
        Self {
            scoping,
            verbs,
            callers: HashSet::new(),
            types: HashSet::new(),
            users: HashSet::new(),
            declarers: HashSet::new(),
            parameters: HashMap::new(),
            found: None,
            addressed: Vec::new(),
            called_verbs: Vec::new(),
            assigned: HashSet::new(),
        }
    }

    fn imports(&mut self, tree: &Tree<'_>) {
        for statement in &tree.body {
            let Statement::ImportDeclaration(import) = statement else { continue };
            if import.source.value != "loadstone" {
                continue;
            }
            for specifier in import.specifiers.iter().flatten() {
                let ImportDeclarationSpecifier::ImportSpecifier(specifier) = specifier else { continue };
                match specifier.imported.name().as_str() {
                    "param" => self.declarers.insert(specifier.local.symbol_id()),
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
    fn called_with_a_user(&mut self, function: &Expression<'_>) {
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
                    self.called_with_a_user(argument);
                    // Functions that users run around their iterations: `{ onStart, onEnd }`.
                    if let Expression::ObjectExpression(options) = argument {
                        values(options).for_each(|value| self.called_with_a_user(value));
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
                if !self.called_verbs.iter().any(|(known, _)| known == verb) {
                    self.called_verbs.push((verb.to_owned(), callee.property.span));
                }
                if let Some(steps) = argument(1).filter(|_| verb == "group") {
                    self.called_with_a_user(steps);
                }
                for of in self.verbs.addresses.iter().filter(|of| of.verb == verb) {
                    argument(0).into_iter().for_each(|address| self.addressed(*of, address.get_inner_expression()));
                }
                for of in self.verbs.options.iter().filter(|of| of.verb == verb) {
                    if let Some(Expression::ObjectExpression(object)) = argument(of.argument).map(Expression::get_inner_expression) {
                        self.check(object, of.options);
                    }
                }
            }
            _ => {}
        }
    }

    fn addressed(&mut self, of: AddressOfVerb, address: &Expression<'_>) {
        match address {
            Expression::StringLiteral(written) => {
                if let Some(problem) = of.problem(&written.value) {
                    self.found.get_or_insert((problem, written.span));
                }
            }
            Expression::Identifier(name) => {
                let symbol = self.scoping.get_reference(name.reference_id()).symbol_id();
                if let Some(parameter) = symbol.and_then(|symbol| self.parameters.get(&symbol)) {
                    self.addressed.push((of, parameter.clone(), name.span));
                }
            }
            _ => {}
        }
    }

    /// `const database = param.url("database", …)`
    fn declared(&mut self, declared: &VariableDeclarator<'_>) {
        let (BindingPattern::BindingIdentifier(constant), Some(Expression::CallExpression(call))) = (&declared.id, &declared.init) else {
            return;
        };
        let Expression::StaticMemberExpression(callee) = &call.callee else { return };
        let Expression::Identifier(declarer) = &callee.object else { return };
        if let (true, Some(Argument::StringLiteral(name))) = (self.is_one_of(declarer, &self.declarers), call.arguments.first()) {
            self.parameters.insert(constant.symbol_id(), name.value.to_string());
        }
    }

    fn check(&mut self, object: &ObjectExpression<'_>, options: &'static OptionSet) {
        for (name, span, value) in properties(object) {
            if !options.known.contains(&&*name) {
                self.found.get_or_insert_with(|| (unknown_option(options.of, &name, options.known), span));
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

    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        if let AssignmentTarget::StaticMemberExpression(member) = &assignment.left {
            self.assigned.insert(member.property.name.to_string());
        }
        walk::walk_assignment_expression(self, assignment);
    }

    fn visit_variable_declarator(&mut self, declared: &VariableDeclarator<'a>) {
        self.declared(declared);
        walk::walk_variable_declarator(self, declared);
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
