//! The translation of one file, node by node. What it cannot translate becomes a problem, and with that the statement is left out.
//!
//! Read [`Rewrite::all`].

use std::collections::{BTreeSet, HashSet};

use oxc_ast::AstKind;
use oxc_semantic::NodeId;

use super::edits::{Edits, Pieces};
use super::effects::Effects;
use super::environment::Environment;
use super::kinds::{Kind, Kinds};
use super::names::{K6Module, Names};
use super::tree::Tree;
use crate::text::fresh;

/// What the translation of a file needs to know, and what it leads to.
pub(super) struct Rewrite<'t, 'a> {
    pub(super) tree: &'t Tree<'a>,
    pub(super) names: &'t Names,
    pub(super) effects: &'t Effects,
    pub(super) kinds: &'t Kinds,
    /// Whether a node is part of what is left out.
    pub(super) left_out: &'t dyn Fn(NodeId) -> bool,
    /// Of checks: why an entry is left out.
    pub(super) left_out_here: &'t dyn Fn(NodeId) -> Option<String>,
    pub(super) environment: &'t Environment,
    /// What the virtual user is called.
    pub(super) user: &'t str,
    /// From the folder of the output to that of the script.
    pub(super) folder: &'t str,
    /// Whether this is the script itself, which has the test.
    pub(super) is_test: bool,
    /// Whether a gRPC client asks its server what it offers.
    pub(super) reflects: bool,
    pub(super) edits: Edits,
    /// Names of k6 that were dealt with.
    pub(super) handled: HashSet<NodeId>,
    pub(super) problems: Vec<(NodeId, String)>,
    pub(super) notes: Vec<(NodeId, String)>,
    /// Taken from the module "loadstone".
    pub(super) uses: BTreeSet<&'static str>,
    pub(super) helpers: BTreeSet<&'static str>,
    taken: HashSet<String>,
}

impl<'t, 'a> Rewrite<'t, 'a> {
    #[expect(clippy::too_many_arguments, reason = "the translation needs all of them")]
    pub(super) fn new(
        tree: &'t Tree<'a>,
        names: &'t Names,
        effects: &'t Effects,
        kinds: &'t Kinds,
        left_out: &'t dyn Fn(NodeId) -> bool,
        left_out_here: &'t dyn Fn(NodeId) -> Option<String>,
        environment: &'t Environment,
        user: &'t str,
        folder: &'t str,
        is_test: bool,
    ) -> Self {
        let taken = tree.names().map(|(_, name)| name.to_owned()).collect();
        Self {
            tree,
            names,
            effects,
            kinds,
            left_out,
            left_out_here,
            environment,
            user,
            folder,
            is_test,
            reflects: false,
            edits: Edits::default(),
            handled: HashSet::new(),
            problems: Vec::new(),
            notes: Vec::new(),
            uses: BTreeSet::new(),
            helpers: BTreeSet::new(),
            taken,
        }
    }

    /// Translates everything that is not left out.
    pub(super) fn all(&mut self) {
        for id in self.tree.all().collect::<Vec<_>>() {
            if (self.left_out)(id) {
                continue;
            }
            match self.tree.kind(id) {
                AstKind::CallExpression(_) => self.call(id),
                AstKind::NewExpression(_) => self.construct(id),
                AstKind::StaticMemberExpression(_) | AstKind::ComputedMemberExpression(_) => {
                    self.response_member(id);
                    self.grpc_member(id);
                    self.grpc_constant(id);
                    self.execution(id);
                }
                AstKind::IdentifierReference(_) => self.identifier(id),
                AstKind::ObjectProperty(_) => self.shorthand(id),
                AstKind::Function(_) | AstKind::ArrowFunctionExpression(_) => self.function(id),
                _ => {}
            }
        }
        self.what_nothing_dealt_with();
    }

    fn call(&mut self, id: NodeId) {
        let Some(call) = self.tree.call(id) else { return };
        if let Some((module, path)) = self.names.path(self.tree, call.callee) {
            let name = path.join(".");
            let known = match module {
                K6Module::K6 => self.k6_call(id, &call, &name),
                K6Module::Http => self.http_call(id, &call, &name),
                K6Module::Execution => self.abort(id, &call, &name),
                K6Module::Crypto => self.crypto_call(id, &call, &name),
                K6Module::Encoding => self.encoding_call(id, &call, &name),
                K6Module::Utils => self.utils_call(id, &call, &name),
                K6Module::Tempo => self.tempo_call(id),
                K6Module::Ws => self.socket_call(id, &call, &name),
                _ => false,
            };
            if known {
                self.handled.insert(Names::root(self.tree, call.callee));
            }
            return;
        }
        if self.tree.global(call.callee) == Some("open") {
            return self.open(id, &call);
        }
        if self.client_call(id, &call) {
            return;
        }
        if self.response_call(id, &call) || self.jar_call(id, &call) || self.metric_call(id, &call) || self.in_turn(id, &call) {
            return;
        }
        self.local_call(id, &call);
    }

    fn identifier(&mut self, id: NodeId) {
        self.grpc_constant(id);
        match self.tree.global(id) {
            Some("__VU") => {
                let number = format!("({}.number + 1)", self.user);
                self.edits.replace(self.tree.span(id), number.into());
            }
            Some("__ITER") => {
                let count = format!("{}.state.iteration", self.user);
                self.edits.replace(self.tree.span(id), count.into());
            }
            Some("__ENV") => self.env(id),
            Some(name @ ("WebSocket" | "fetch" | "XMLHttpRequest" | "require" | "module" | "exports")) => {
                self.problem(id, format!("`{name}` is not there"));
            }
            Some("crypto") => {
                let member = self.tree.parent(id).and_then(|parent| self.tree.member(parent)).map(|(_, name)| name);
                if !matches!(member.as_deref(), Some("randomUUID" | "getRandomValues")) {
                    self.problem(id, "WebCrypto has only `randomUUID` and `getRandomValues`");
                }
            }
            _ => {}
        }
    }

    /// `{ __VU }` becomes `{ __VU: … }` where the name is replaced.
    fn shorthand(&mut self, id: NodeId) {
        let AstKind::ObjectProperty(property) = self.tree.kind(id) else { return };
        let [key, value] = self.tree.children(id) else { return };
        if property.shorthand && matches!(self.tree.global(*value), Some("__VU" | "__ITER" | "__ENV")) {
            let name = self.tree.source(*key).to_owned();
            self.edits.replace(self.tree.span(id), Pieces::new().text(format!("{name}: ")).node(self.tree, *value));
        }
    }

    /// Uses of k6 that no part of the translation knows.
    fn what_nothing_dealt_with(&mut self) {
        for id in self.tree.all().collect::<Vec<_>>() {
            let Some(symbol) = self.tree.symbol(id).filter(|_| matches!(self.tree.kind(id), AstKind::IdentifierReference(_))) else {
                continue;
            };
            if (self.left_out)(id) || self.handled.contains(&id) {
                continue;
            }
            let Some((module, _)) = self.names.thing(symbol) else { continue };
            let whole = self.whole_path(id);
            let written = self.tree.source(whole).to_owned();
            let reason = match module {
                K6Module::Timers => continue,
                K6Module::Other(reason) => reason.clone(),
                K6Module::Summary => "Loadstone prints its own summary: export a function `summarize` to write custom files".to_owned(),
                _ => format!("`{written}` has no counterpart"),
            };
            self.problem(id, reason);
        }
    }

    /// The longest `a.b.c` that begins with a name.
    fn whole_path(&self, id: NodeId) -> NodeId {
        let mut at = id;
        while let Some(parent) = self.tree.parent(at).filter(|&parent| self.tree.member(parent).is_some_and(|(object, _)| object == at)) {
            at = parent;
        }
        at
    }

    pub(super) fn problem(&mut self, id: NodeId, reason: impl Into<String>) {
        self.problems.push((id, reason.into()));
    }

    pub(super) fn note(&mut self, id: NodeId, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.iter().any(|(_, known)| *known == text) {
            self.notes.push((id, text));
        }
    }

    pub(super) fn kind_of(&self, id: NodeId) -> Kind {
        self.kinds.kind(self.tree, self.names, id)
    }

    /// A name that nothing else in the file has.
    pub(super) fn fresh(&mut self, wanted: &str) -> String {
        fresh(&mut self.taken, wanted)
    }

    /// Something of the module "loadstone", by the name that it has in this file.
    pub(super) fn loadstone(&mut self, name: &'static str) -> String {
        self.uses.insert(name);
        local_name(self.tree, self.names, name)
    }

    /// A promise's value, at the place of the node that makes it.
    pub(super) fn awaited(&self, id: NodeId, promise: Pieces) -> Pieces {
        let mut at = id;
        let mut parent = self.tree.parent(at);
        while let Some(up) = parent.filter(|&up| matches!(self.tree.kind(up), AstKind::ChainExpression(_))) {
            at = up;
            parent = self.tree.parent(at);
        }
        let Some(parent) = parent else { return promise };
        let first = self.tree.children(parent).first() == Some(&at);
        match self.tree.kind(parent) {
            AstKind::AwaitExpression(_) => promise,
            AstKind::StaticMemberExpression(_)
            | AstKind::ComputedMemberExpression(_)
            | AstKind::CallExpression(_)
            | AstKind::NewExpression(_)
                if first =>
            {
                Pieces::from("(await ").then(promise).text(")")
            }
            _ => Pieces::from("await ").then(promise),
        }
    }
}

/// What a name of Loadstone's is called in a file that may have given the name to something else.
pub(super) fn local_name(tree: &Tree<'_>, names: &Names, name: &str) -> String {
    // The script's own `setup` and `teardown` are renamed.
    let renamed = matches!(name, "setup" | "teardown");
    let foreign = |&(symbol, known): &(oxc_semantic::SymbolId, &str)| known == name && !renamed && names.thing(symbol).is_none();
    if tree.names().any(|entry| foreign(&entry)) {
        let mut letters = name.chars();
        let first = letters.next().map_or(String::new(), |c| c.to_uppercase().to_string());
        format!("loadstone{first}{}", letters.as_str())
    } else {
        name.to_owned()
    }
}
