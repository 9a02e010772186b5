//! What the names of a script hold, as far as its translation hangs on it: a response of Loadstone's has other members than one of k6's.

use std::collections::HashMap;

use oxc_ast::AstKind;
use oxc_semantic::{NodeId, SymbolId};

use super::clients::{ClientCall, client_call, is_construction};
use super::effects::is_verb;
use super::names::{K6Module, Names};
use super::tree::Tree;

/// What an expression holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Response,
    /// What `http.batch` returns.
    Responses,
    /// What `client.invoke` of gRPC returns.
    GrpcResponse,
    /// What its `client.healthCheck` returns.
    GrpcHealth,
    /// `http.cookieJar()`.
    Jar,
    /// `response.html()`.
    Document,
    /// A text, JSON among them.
    Text,
    Bytes,
    /// An object that is no text.
    Object,
    Unknown,
}

/// What the names of a script hold.
#[derive(Default)]
pub(super) struct Kinds {
    symbols: HashMap<SymbolId, Kind>,
}

impl Kinds {
    pub(super) fn of(tree: &Tree<'_>, names: &Names) -> Self {
        let mut kinds = Self::default();
        // The kind of a variable determines the kind of variables that are assigned from it. Scripts rarely have longer chains of assignments.
        for _ in 0..4 {
            for id in tree.all() {
                kinds.learn(tree, names, id);
            }
        }
        kinds
    }

    fn learn(&mut self, tree: &Tree<'_>, names: &Names, id: NodeId) {
        match tree.kind(id) {
            AstKind::VariableDeclarator(declarator) if declarator.init.is_some() => {
                if let [target, .., value] = tree.children(id) {
                    let kind = self.kind(tree, names, *value);
                    self.hold(tree, *target, kind);
                }
            }
            AstKind::AssignmentExpression(_) => {
                if let [target, value] = tree.children(id) {
                    let kind = self.kind(tree, names, *value);
                    self.hold(tree, *target, kind);
                }
            }
            AstKind::ForOfStatement(_) => {
                if let [left, right, ..] = tree.children(id)
                    && self.kind(tree, names, *right) == Kind::Responses
                    && let Some(&declarator) = tree.children(*left).first()
                    && let Some(&target) = tree.children(declarator).first()
                {
                    self.hold(tree, target, Kind::Response);
                }
            }
            AstKind::CallExpression(_) => self.learn_call(tree, names, id),
            _ => {}
        }
    }

    fn learn_call(&mut self, tree: &Tree<'_>, names: &Names, id: NodeId) {
        let Some(call) = tree.call(id) else { return };
        if names.member(tree, call.callee, &K6Module::K6).as_deref() == Some("check") {
            let [subject, checks, ..] = call.arguments[..] else { return };
            let kind = match self.kind(tree, names, subject) {
                // Most of what is checked and not known is a response that came from another file.
                Kind::Unknown if matches!(tree.kind(tree.strip(subject)), AstKind::IdentifierReference(_)) => Kind::Response,
                kind => kind,
            };
            for property in tree.properties(checks).unwrap_or_default() {
                if let Some(first) = tree.function(property.value).and_then(|parts| parts.parameters.first().copied()) {
                    self.hold(tree, first, kind);
                }
            }
            return;
        }
        if let Some((list, "forEach" | "map" | "every" | "some" | "filter")) =
            tree.member(call.callee).as_ref().map(|(list, method)| (*list, method.as_str()))
            && self.kind(tree, names, list) == Kind::Responses
            && let Some(parts) = call.arguments.first().and_then(|&callback| tree.function(callback))
            && let Some(&first) = parts.parameters.first()
        {
            self.hold(tree, first, Kind::Response);
        }
        // The messages of a gRPC stream.
        if let Some((stream, method)) = tree.member(call.callee)
            && method == "on"
            && tree.symbol(stream).and_then(|symbol| tree.initial(symbol)).is_some_and(|made| is_construction(tree, names, made, "Stream"))
            && let Some(parts) = call.arguments.get(1).and_then(|&callback| tree.function(callback))
            && let Some(&first) = parts.parameters.first()
        {
            self.hold(tree, first, Kind::Object);
        }
        let function = tree.symbol(tree.strip(call.callee)).and_then(|symbol| tree.function_of(symbol));
        if let Some(parts) = function.and_then(|function| tree.function(function)) {
            for (&parameter, &argument) in parts.parameters.iter().zip(&call.arguments) {
                let kind = self.kind(tree, names, argument);
                self.hold(tree, parameter, kind);
            }
        }
    }

    fn hold(&mut self, tree: &Tree<'_>, target: NodeId, kind: Kind) {
        if kind == Kind::Unknown {
            return;
        }
        if let AstKind::ArrayPattern(_) = tree.kind(target) {
            if kind == Kind::Responses {
                for &element in tree.children(target) {
                    self.hold(tree, element, Kind::Response);
                }
            }
            return;
        }
        let Some(symbol) = tree.symbol(target) else { return };
        let known = self.symbols.entry(symbol).or_insert(kind);
        if kind == Kind::Response {
            *known = kind;
        }
    }

    pub(super) fn kind(&self, tree: &Tree<'_>, names: &Names, id: NodeId) -> Kind {
        let id = tree.strip(id);
        match tree.kind(id) {
            AstKind::IdentifierReference(_) | AstKind::BindingIdentifier(_) => {
                tree.symbol(id).and_then(|symbol| self.symbols.get(&symbol)).copied().unwrap_or(Kind::Unknown)
            }
            AstKind::StringLiteral(_) | AstKind::TemplateLiteral(_) => Kind::Text,
            AstKind::ObjectExpression(_) => Kind::Object,
            AstKind::BinaryExpression(_) => {
                let text = tree.children(id).iter().any(|&side| self.kind(tree, names, side) == Kind::Text);
                if text { Kind::Text } else { Kind::Unknown }
            }
            AstKind::ConditionalExpression(_) => {
                let kinds: Vec<Kind> = tree.children(id)[1..].iter().map(|&side| self.kind(tree, names, side)).collect();
                if kinds.iter().all(|kind| *kind == kinds[0]) { kinds[0] } else { Kind::Unknown }
            }
            AstKind::StaticMemberExpression(_) | AstKind::ComputedMemberExpression(_) => match tree.children(id).first() {
                Some(&object)
                    if self.kind(tree, names, object) == Kind::Responses && tree.member(id).is_none_or(|(_, name)| name != "length") =>
                {
                    Kind::Response
                }
                _ => Kind::Unknown,
            },
            AstKind::CallExpression(_) => self.of_call(tree, names, id),
            _ => Kind::Unknown,
        }
    }

    fn of_call(&self, tree: &Tree<'_>, names: &Names, id: NodeId) -> Kind {
        let Some(call) = tree.call(id) else { return Kind::Unknown };
        if let Some((module, path)) = names.path(tree, call.callee) {
            return match (module, path.last().map_or("", String::as_str)) {
                (K6Module::Http, name) if is_verb(name) => Kind::Response,
                (K6Module::Http, "batch") => Kind::Responses,
                (K6Module::Http, "cookieJar") => Kind::Jar,
                (K6Module::K6, "group") => call.arguments.get(1).map_or(Kind::Unknown, |&steps| self.returned(tree, names, steps)),
                _ => Kind::Unknown,
            };
        }
        if let Some((_, asked)) = client_call(tree, names, &call) {
            return match asked {
                ClientCall::Invoke | ClientCall::AsyncInvoke => Kind::GrpcResponse,
                ClientCall::HealthCheck => Kind::GrpcHealth,
                _ => Kind::Unknown,
            };
        }
        if tree.global(call.callee) == Some("open") {
            return if call.arguments.len() > 1 { Kind::Bytes } else { Kind::Text };
        }
        if let Some((object, method)) = tree.member(call.callee) {
            return match method.as_str() {
                "stringify" if tree.global(object) == Some("JSON") => Kind::Text,
                "html" if self.kind(tree, names, object) == Kind::Response && call.arguments.is_empty() => Kind::Document,
                _ => Kind::Unknown,
            };
        }
        let function = tree.symbol(tree.strip(call.callee)).and_then(|symbol| tree.function_of(symbol));
        function.map_or(Kind::Unknown, |function| self.returned(tree, names, function))
    }

    /// What a function returns.
    fn returned(&self, tree: &Tree<'_>, names: &Names, function: NodeId) -> Kind {
        let Some(parts) = tree.function(function) else { return Kind::Unknown };
        if parts.is_expression {
            return self.kind(tree, names, parts.body);
        }
        let returns = tree.all().filter(|&id| matches!(tree.kind(id), AstKind::ReturnStatement(_)) && tree.around(id) == Some(function));
        let kind = |id: NodeId| tree.children(id).first().map_or(Kind::Unknown, |&value| self.kind(tree, names, value));
        returns.map(kind).find(|kind| *kind != Kind::Unknown).unwrap_or(Kind::Unknown)
    }
}
