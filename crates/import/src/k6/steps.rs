//! `sleep`, `group`, `check` and `fail`: the user's actions other than requests.

use oxc_ast::AstKind;
use oxc_semantic::NodeId;

use super::edits::Pieces;
use super::names::K6Module;
use super::rewrite::Rewrite;
use super::tree::{CallParts, Property};
use crate::text::{quoted, seconds};

impl Rewrite<'_, '_> {
    pub(super) fn k6_call(&mut self, id: NodeId, call: &CallParts, name: &str) -> bool {
        match (name, &call.arguments[..]) {
            ("sleep", [time]) => {
                let pause = Pieces::from(format!("{}.pause(", self.user)).then(self.delay(*time)).text(")");
                let pause = self.awaited(id, pause);
                self.edits.replace(self.tree.span(id), pause);
                true
            }
            ("group", [name, steps]) => {
                let group =
                    Pieces::from(format!("{}.group(", self.user)).node(self.tree, *name).text(", ").node(self.tree, *steps).text(")");
                let group = self.awaited(id, group);
                self.edits.replace(self.tree.span(id), group);
                true
            }
            ("fail", arguments) => {
                let message = arguments.first().map_or(Pieces::from("\"failed\""), |&message| Pieces::new().node(self.tree, message));
                let fail = Pieces::from(format!("{}.fail(", self.user)).then(message).text(")");
                self.edits.replace(self.tree.span(id), fail);
                true
            }
            ("check", [subject, checks, ..]) => self.check(id, *subject, *checks, call.arguments.get(2).copied()),
            ("randomSeed", [_]) => {
                self.note(id, "`randomSeed` is left out: the run's seed makes random values repeatable (`options: { seed: 1 }`)");
                self.edits.replace(self.tree.span(id), "undefined".into());
                true
            }
            _ => false,
        }
    }

    /// Seconds in k6: `sleep(1)`, `sleep(Math.random() * 3)`, `sleep(randomIntBetween(1, 3))`.
    fn delay(&mut self, time: NodeId) -> Pieces {
        let inner = self.tree.strip(time);
        if let Some(number) = self.tree.number(inner) {
            return quoted(&seconds(number)).into();
        }
        if let Some((low, high)) = self.range(inner) {
            return quoted(&format!("uniform({}, {})", seconds(low), seconds(high))).into();
        }
        Pieces::from("`${").node(self.tree, time).text("}s`")
    }

    /// The bounds of a random number that is written out.
    fn range(&mut self, id: NodeId) -> Option<(f64, f64)> {
        let id = self.tree.strip(id);
        if let Some(call) = self.tree.call(id) {
            if self.tree.source(call.callee) == "Math.random" {
                return Some((0.0, 1.0));
            }
            if matches!(self.names.member(self.tree, call.callee, &K6Module::Utils).as_deref(), Some("randomIntBetween")) {
                let [low, high] = call.arguments[..] else { return None };
                return Some((self.tree.number(low)?, self.tree.number(high)?));
            }
        }
        let AstKind::BinaryExpression(binary) = self.tree.kind(id) else { return None };
        let (left, right) = (self.tree.children(id)[0], self.tree.children(id)[1]);
        let (range, number) = match (self.range(left), self.range(right)) {
            (Some(range), None) => (range, self.tree.number(right)?),
            (None, Some(range)) => (range, self.tree.number(left)?),
            _ => return None,
        };
        match binary.operator.as_str() {
            "*" => Some((range.0 * number, range.1 * number)),
            "+" => Some((range.0 + number, range.1 + number)),
            _ => None,
        }
    }

    /// As a statement a line for each check; as an expression their conjunction, all of them made.
    fn check(&mut self, id: NodeId, subject: NodeId, checks: NodeId, tags: Option<NodeId>) -> bool {
        let statement = self
            .tree
            .parent(id)
            .filter(|&parent| matches!(self.tree.kind(parent), AstKind::ExpressionStatement(_)) && self.tree.in_list(parent));
        let properties = self.tree.properties(self.tree.strip(checks)).filter(|list| list.iter().all(|property| !property.spread));
        let simple = self.tree.nothing(subject) || matches!(self.tree.kind(self.tree.strip(subject)), AstKind::IdentifierReference(_));
        let (pieces, span) = match (properties, statement) {
            (Some(properties), Some(statement)) => {
                (self.check_lines(statement, subject, simple, &properties, tags), self.tree.span(statement))
            }
            (Some(properties), None) if simple && properties.len() == 1 => {
                let name = self.tree.source(subject).to_owned();
                let Some(one) = self.one_check(&properties[0], &name, tags) else { return false };
                (one, self.tree.span(id))
            }
            _ => (self.check_all(subject, checks, tags), self.tree.span(id)),
        };
        self.edits.replace(span, pieces);
        true
    }

    fn check_all(&mut self, subject: NodeId, checks: NodeId, tags: Option<NodeId>) -> Pieces {
        self.helpers.insert("k6Check");
        self.uses.insert("User");
        let call = Pieces::from(format!("k6Check({}, ", self.user)).node(self.tree, subject).text(", ").node(self.tree, checks);
        match tags {
            Some(tags) => call.text(", { tags: ").node(self.tree, tags).text(" })"),
            None => call.text(")"),
        }
    }

    fn check_lines(&mut self, statement: NodeId, subject: NodeId, simple: bool, properties: &[Property], tags: Option<NodeId>) -> Pieces {
        let indent = self.tree.indent(statement).to_owned();
        let mut lines = Vec::new();
        let name = if simple {
            self.tree.source(subject).to_owned()
        } else {
            let name = self.fresh("checked");
            lines.push(Pieces::from(format!("const {name} = ")).node(self.tree, subject).text(";"));
            name
        };
        for property in properties {
            lines.push(match (self.left_out_here)(property.node) {
                Some(reason) => commented(self.tree.source(property.node), &reason, &indent).into(),
                None => match self.one_check(property, &name, tags) {
                    Some(check) => check.text(";"),
                    None => Pieces::new(),
                },
            });
        }
        Pieces::joined(lines, &format!("\n{indent}"))
    }

    fn one_check(&mut self, property: &Property, subject: &str, tags: Option<NodeId>) -> Option<Pieces> {
        let key = property.key_node?;
        let name = match (&property.key, property.computed) {
            (Some(name), _) if self.tree.string(key).is_none() => Pieces::from(quoted(name)),
            _ => Pieces::new().node(self.tree, key),
        };
        let holds = self.holds(property.value, subject);
        let check = Pieces::from(format!("{}.check(", self.user)).then(name).text(", ").then(holds);
        Some(match tags {
            Some(tags) => check.text(", { tags: ").node(self.tree, tags).text(" })"),
            None => check.text(")"),
        })
    }

    /// What a check's function says of the subject.
    fn holds(&mut self, value: NodeId, subject: &str) -> Pieces {
        let inner = self.tree.strip(value);
        if let Some(parts) = self.tree.function(inner) {
            let plain = parts.parameters.len() <= 1
                && parts.parameters.iter().all(|&parameter| matches!(self.tree.kind(parameter), AstKind::BindingIdentifier(_)));
            if parts.is_expression && plain {
                if let Some(symbol) = parts.parameters.first().and_then(|&parameter| self.tree.symbol(parameter))
                    && self.tree.symbol_name(symbol) != subject
                {
                    for used in self.tree.references(symbol) {
                        self.edits.replace(self.tree.span(used), subject.into());
                    }
                }
                let body = Pieces::new().node(self.tree, parts.body);
                return if self.is_boolean(parts.body) { body } else { Pieces::from("Boolean(").then(body).text(")") };
            }
            return Pieces::from("Boolean((").node(self.tree, value).text(format!(")({subject}))"));
        }
        if self.tree.symbol(inner).and_then(|symbol| self.tree.function_of(symbol)).is_some() {
            return Pieces::from("Boolean(").node(self.tree, value).text(format!("({subject}))"));
        }
        let plain = Pieces::new().node(self.tree, value);
        if self.is_boolean(inner) { plain } else { Pieces::from("Boolean(").then(plain).text(")") }
    }

    /// Whether an expression is true or false, whatever it is about.
    pub(super) fn is_boolean(&self, id: NodeId) -> bool {
        let id = self.tree.strip(id);
        match self.tree.kind(id) {
            AstKind::BooleanLiteral(_) => true,
            AstKind::BinaryExpression(binary) => {
                binary.operator.is_equality() || binary.operator.is_compare() || matches!(binary.operator.as_str(), "in" | "instanceof")
            }
            AstKind::UnaryExpression(unary) => unary.operator.as_str() == "!",
            AstKind::LogicalExpression(_) => self.tree.children(id).iter().all(|&side| self.is_boolean(side)),
            AstKind::CallExpression(_) => self.tree.call(id).is_some_and(|call| {
                let method = self.tree.member(call.callee).map(|(_, name)| name);
                matches!(method.as_deref(), Some("includes" | "startsWith" | "endsWith" | "some" | "every" | "isArray" | "hasOwnProperty"))
                    || self.tree.global(call.callee) == Some("Boolean")
                    || self.names.member(self.tree, call.callee, &K6Module::K6).as_deref() == Some("check")
            }),
            AstKind::IdentifierReference(_) => {
                let initial = self.tree.symbol(id).and_then(|symbol| self.tree.initial(symbol));
                initial.is_some_and(|initial| self.tree.call(initial).is_some() && self.is_boolean(initial))
            }
            _ => false,
        }
    }
}

/// Source as comment lines, below the reason.
pub(super) fn commented(source: &str, reason: &str, indent: &str) -> String {
    let lines = source.lines().map(|line| {
        let line = line.strip_prefix(indent).unwrap_or(line).trim_end();
        format!("// {line}").trim_end().to_owned()
    });
    std::iter::once(format!("// Left out: {reason}.")).chain(lines).collect::<Vec<_>>().join(&format!("\n{indent}"))
}
