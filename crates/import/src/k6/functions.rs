//! Functions that act as a user are handed it and become `async`; their calls hand it over and await them.

use oxc_ast::AstKind;
use oxc_semantic::NodeId;
use oxc_span::Span;

use super::edits::Pieces;
use super::rewrite::Rewrite;
use super::tree::CallParts;

impl Rewrite<'_, '_> {
    pub(super) fn function(&mut self, id: NodeId) {
        let effect = self.effects.of_function(id);
        let Some(parts) = self.tree.function(id) else { return };
        let method = self.tree.parent(id).filter(|&parent| match self.tree.kind(parent) {
            AstKind::MethodDefinition(_) => true,
            AstKind::ObjectProperty(property) => property.method,
            _ => false,
        });
        if effect.awaits && !parts.is_async {
            if matches!(self.tree.kind(id), AstKind::Function(function) if function.generator) {
                return self.problem(id, "a generator cannot wait");
            }
            let constructor = method.is_some_and(|method| {
                matches!(self.tree.kind(method), AstKind::MethodDefinition(method) if method.kind.is_constructor() || method.kind.is_accessor())
            });
            if constructor {
                return self.problem(id, "a constructor or accessor cannot wait");
            }
            let at = method.unwrap_or(id);
            let at = match self.tree.kind(at) {
                // `static` comes first.
                AstKind::MethodDefinition(_) => self.tree.children(at).first().map_or(at, |&key| key),
                _ => at,
            };
            // A parameter without parentheses is replaced below, with what stands in front of it.
            if !self.takes_user_bare(id) {
                self.edits.insert(self.tree.span(at).start, "async ".into());
            }
        }
        self.typed(id, &parts.parameters);
        // Functions within others find the user around them.
        if effect.user && self.tree.around(id).is_none() {
            self.uses.insert("User");
            let list = self.tree.span(parts.list);
            let typed = format!("{}: {}", self.user, super::rewrite::local_name(self.tree, self.names, "User"));
            let source = self.tree.of(list);
            if source.starts_with('(') {
                let empty = source.trim_start_matches('(').trim_start().starts_with(')');
                self.edits.insert(list.start + 1, if empty { typed } else { format!("{typed}, ") }.into());
            } else {
                let waits = if effect.awaits && !parts.is_async { "async " } else { "" };
                self.edits.replace(list, format!("{waits}({typed}, {source}: any)").into());
            }
        }
    }

    /// `path => …` that is to be handed a user.
    fn takes_user_bare(&self, id: NodeId) -> bool {
        let bare = self.tree.function(id).is_some_and(|parts| !parts.is_async && !self.tree.source(parts.list).starts_with('('));
        bare && self.effects.of_function(id).user && self.tree.around(id).is_none()
    }

    /// TypeScript wants a type where nothing around a function says what it is given.
    fn typed(&mut self, id: NodeId, parameters: &[NodeId]) {
        let bound = match self.tree.kind(id) {
            AstKind::Function(function) => function.is_declaration() || self.tree.bound(id).1.is_some(),
            _ => self.tree.bound(id).0.is_some(),
        };
        let in_parentheses = self.tree.function(id).is_some_and(|parts| self.tree.source(parts.list).starts_with('('));
        for &parameter in parameters.iter().filter(|_| bound && in_parentheses) {
            let plain = self.tree.parent(parameter).is_some_and(|list| {
                matches!(self.tree.kind(list), AstKind::FormalParameter(one) if one.type_annotation.is_none() && one.initializer.is_none())
            });
            let in_check = self.tree.parent(id).is_some_and(|up| matches!(self.tree.kind(up), AstKind::ObjectProperty(_)));
            if plain && !in_check {
                self.edits.insert(self.tree.span(parameter).end, ": any".into());
            }
        }
    }

    pub(super) fn local_call(&mut self, id: NodeId, call: &CallParts) {
        let effect = self.effects.of_local_call(self.tree, self.names, call.callee);
        if !effect.user {
            return;
        }
        let callee = self.tree.strip(call.callee);
        let defined =
            self.tree.symbol(callee).and_then(|symbol| self.tree.function_of(symbol)).or(self.tree.function(callee).map(|_| callee));
        let takes_user = defined.is_none_or(|function| self.tree.around(function).is_none());
        if self.tree.around(id).is_none() {
            return self.problem(id, "this needs a user, and there is none before the test runs: move it to `setup`");
        }
        let mut arguments: Vec<Pieces> = call.arguments.iter().map(|&argument| Pieces::new().node(self.tree, argument)).collect();
        if takes_user {
            arguments.insert(0, self.user.into());
        }
        let callee = self.tree.span(call.callee);
        let called = Pieces::new().span(Span::new(callee.start, callee.end)).text("(").then(Pieces::joined(arguments, ", ")).text(")");
        let called = if effect.awaits { self.awaited(id, called) } else { called };
        self.edits.replace(self.tree.span(id), called);
    }

    /// `list.forEach(…)` and `list.map(…)` of steps: one after another, as in k6.
    pub(super) fn in_turn(&mut self, id: NodeId, call: &CallParts) -> bool {
        let Some((list, method)) = self.tree.member(call.callee) else { return false };
        let Some(&callback) = call.arguments.first() else { return false };
        if !matches!(method.as_str(), "forEach" | "map" | "filter" | "some" | "every" | "find" | "reduce" | "flatMap") {
            return false;
        }
        let waits = self.tree.function(callback).is_some() && self.effects.of_function(callback).awaits;
        if !waits {
            return false;
        }
        if !matches!(method.as_str(), "forEach" | "map") {
            self.problem(id, format!("the function of `{method}` cannot wait: use a loop"));
            return true;
        }
        self.helpers.insert("k6InTurn");
        let done = Pieces::from("k6InTurn(").node(self.tree, list).text(", ").node(self.tree, callback).text(")");
        let done = self.awaited(id, done);
        self.edits.replace(self.tree.span(id), done);
        true
    }
}
