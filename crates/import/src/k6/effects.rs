//! Which functions act as a user, and which of them wait.
//!
//! k6 has one user in the air and stops the world while it waits. A Loadstone function is handed its user, and awaits what it asks of it. So
//! each function that makes a request, sleeps, checks, or calls one that does, gets both.

use std::collections::{HashMap, HashSet};

use oxc_ast::AstKind;
use oxc_semantic::NodeId;

use super::clients;
use super::names::{Effect, K6Module, Names};
use super::tree::Tree;

/// The effects of all functions of a file.
#[derive(Default)]
pub(super) struct Effects {
    functions: HashMap<NodeId, Effect>,
    /// By the name of a method.
    methods: HashMap<String, Effect>,
}

/// Members of a response that are read from the user's own cookies.
const COOKIES: &str = "cookies";

impl Effects {
    /// `entries` are handed a user in any case; what stands in a node that `left_out` says does not count.
    pub(super) fn of(tree: &Tree<'_>, names: &Names, entries: &HashSet<NodeId>, left_out: &dyn Fn(NodeId) -> bool) -> Self {
        let mut effects = Self::default();
        for &entry in entries {
            effects.functions.insert(entry, Effect::ACTS);
        }
        let candidates: Vec<NodeId> = tree.all().filter(|&id| !left_out(id)).collect();
        loop {
            let mut changed = false;
            for &id in &candidates {
                let effect = effects.of_node(tree, names, id);
                if effect == Effect::default() {
                    continue;
                }
                for function in tree.ancestors(id).filter(|&at| tree.function(at).is_some()) {
                    changed |= effects.add(tree, function, effect);
                }
            }
            if !changed {
                return effects;
            }
        }
    }

    fn add(&mut self, tree: &Tree<'_>, function: NodeId, effect: Effect) -> bool {
        let known = self.functions.get(&function).copied().unwrap_or_default();
        let now = known.or(effect);
        self.functions.insert(function, now);
        if let (None, Some(method)) = tree.bound(function)
            && tree.around(function).is_none()
        {
            self.methods.insert(method, now);
        }
        now != known
    }

    fn of_node(&self, tree: &Tree<'_>, names: &Names, id: NodeId) -> Effect {
        match tree.kind(id) {
            _ if clients::sends(tree, names, id) => Effect::WAITS,
            AstKind::CallExpression(_) => self.of_call(tree, names, id),
            AstKind::NewExpression(_) if is_socket(tree, names, id) => Effect::WAITS,
            AstKind::IdentifierReference(_) if matches!(tree.global(id), Some("__VU" | "__ITER")) => Effect::ACTS,
            AstKind::IdentifierReference(_) => match names.path(tree, id) {
                Some((K6Module::Execution, path)) if path.first().is_none_or(|part| part != "test") => Effect::ACTS,
                _ => Effect::default(),
            },
            AstKind::StaticMemberExpression(member) if member.property.name == COOKIES => Effect::ACTS,
            _ => Effect::default(),
        }
    }

    /// What a call needs where it stands.
    pub(super) fn of_call(&self, tree: &Tree<'_>, names: &Names, id: NodeId) -> Effect {
        let Some(call) = tree.call(id) else { return Effect::default() };
        if let Some((module, path)) = names.path(tree, call.callee) {
            let last = path.last().map_or("", String::as_str);
            return match (module, last) {
                (K6Module::K6, "sleep" | "group") | (K6Module::Ws, "connect") => Effect::WAITS,
                (K6Module::K6, "check" | "fail") | (K6Module::Http, "cookieJar") | (K6Module::Execution, "abort") => Effect::ACTS,
                (K6Module::Http, name) if is_verb(name) || name == "batch" => Effect::WAITS,
                _ => Effect::default(),
            };
        }
        self.of_local_call(tree, names, call.callee)
    }

    /// What a call of one of the script's own functions needs.
    pub(super) fn of_local_call(&self, tree: &Tree<'_>, names: &Names, callee: NodeId) -> Effect {
        let callee = tree.strip(callee);
        if let Some(symbol) = tree.symbol(callee) {
            let own = tree.function_of(symbol).map(|function| self.of_function(function));
            return own.or_else(|| names.local_effect(symbol)).unwrap_or_default();
        }
        if tree.function(callee).is_some() {
            return self.of_function(callee);
        }
        if let Some((object, method)) = tree.member(callee) {
            let foreign = names.path(tree, object).is_some();
            return if foreign { Effect::default() } else { self.methods.get(&method).copied().unwrap_or_default() };
        }
        let list = tree.element(callee).and_then(|object| tree.symbol(object)).and_then(|symbol| tree.initial(symbol));
        let held =
            |list: NodeId| self.functions.iter().filter(move |&(&function, _)| tree.within(function, list)).map(|(_, &effect)| effect);
        list.map(|list| held(list).fold(Effect::default(), Effect::or)).unwrap_or_default()
    }

    pub(super) fn of_function(&self, function: NodeId) -> Effect {
        self.functions.get(&function).copied().unwrap_or_default()
    }
}

/// `new WebSocket(…)` of `k6/websockets`.
pub(super) fn is_socket(tree: &Tree<'_>, names: &Names, id: NodeId) -> bool {
    let construction = tree.call(id).filter(|_| matches!(tree.kind(id), AstKind::NewExpression(_)));
    construction.is_some_and(|construction| names.member(tree, construction.callee, &K6Module::WebSockets).as_deref() == Some("WebSocket"))
}

/// Functions of `k6/http` that send one request.
pub(super) fn is_verb(name: &str) -> bool {
    matches!(name, "get" | "head" | "options" | "post" | "put" | "patch" | "del" | "request" | "asyncRequest")
}
