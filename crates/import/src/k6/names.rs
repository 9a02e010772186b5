//! What the names of a k6 script stand for: modules of k6 and its libraries, by their imports.

use std::collections::HashMap;

use oxc_ast::AstKind;
use oxc_ast::ast::ImportDeclarationSpecifier;
use oxc_semantic::{NodeId, SymbolId};

use super::tree::Tree;

/// What a function needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Effect {
    /// It acts as a user.
    pub(super) user: bool,
    /// It waits for something.
    pub(super) awaits: bool,
}

impl Effect {
    pub(super) const ACTS: Self = Self { user: true, awaits: false };
    pub(super) const WAITS: Self = Self { user: true, awaits: true };

    pub(super) fn or(self, other: Self) -> Self {
        Self { user: self.user || other.user, awaits: self.awaits || other.awaits }
    }
}

/// A module that a k6 script may import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum K6Module {
    K6,
    Http,
    Metrics,
    Data,
    Execution,
    Crypto,
    Encoding,
    Timers,
    Grpc,
    /// `k6/ws`: a function of events.
    Ws,
    /// `k6/websockets`: the browser's class.
    WebSockets,
    Utils,
    Summary,
    /// Adds trace headers to every request.
    Tempo,
    /// Why it has no counterpart.
    Other(String),
}

impl K6Module {
    fn named(from: &str) -> Option<Self> {
        Some(match from {
            "k6" => Self::K6,
            "k6/http" => Self::Http,
            "k6/metrics" => Self::Metrics,
            "k6/data" => Self::Data,
            "k6/execution" => Self::Execution,
            "k6/crypto" => Self::Crypto,
            "k6/encoding" => Self::Encoding,
            "k6/timers" | "k6/experimental/timers" => Self::Timers,
            "k6/ws" => Self::Ws,
            "k6/websockets" | "k6/experimental/websockets" => Self::WebSockets,
            "k6/browser" | "k6/experimental/browser" => Self::Other("Loadstone does not drive a browser".into()),
            "k6/net/grpc" | "k6/experimental/grpc" => Self::Grpc,
            "k6/html" => Self::Other("read HTML with `response.css` and `response.xpath`".into()),
            _ if from.starts_with("k6/") => Self::Other(format!("{from} has no counterpart")),
            _ if from.contains("jslib.k6.io/k6-utils/") => Self::Utils,
            _ if from.contains("jslib.k6.io/k6-summary/") => Self::Summary,
            _ if from.contains("jslib.k6.io/http-instrumentation-tempo/") => Self::Tempo,
            _ if from.starts_with("http:") || from.starts_with("https:") => {
                Self::Other(format!("Loadstone does not load modules over the network: {from}"))
            }
            _ if from.starts_with('.') || from.starts_with('/') => return None,
            _ => Self::Other(format!("{from} is not installed here")),
        })
    }
}

/// What imported names stand for.
#[derive(Default)]
pub(super) struct Names {
    /// A module as a whole (an empty path), or a member of it.
    things: HashMap<SymbolId, (K6Module, Vec<String>)>,
    /// Functions of files that were translated, too.
    locals: HashMap<SymbolId, Effect>,
}

/// An import of a file of the user's own.
pub(super) struct LocalImport {
    pub(super) from: String,
    /// Name there and symbol here.
    pub(super) names: Vec<(String, SymbolId)>,
}

impl Names {
    /// The names that a script imports, and its imports of local files.
    pub(super) fn of(tree: &Tree<'_>) -> (Self, Vec<LocalImport>) {
        let (mut names, mut locals) = (Self::default(), Vec::new());
        for id in tree.all() {
            let AstKind::ImportDeclaration(import) = tree.kind(id) else { continue };
            let from = import.source.value.as_str();
            let specifiers = import.specifiers.iter().flatten().filter_map(|specifier| match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(s) => Some((s.imported.name().to_string(), s.local.symbol_id.get()?)),
                ImportDeclarationSpecifier::ImportDefaultSpecifier(s) => Some(("default".to_owned(), s.local.symbol_id.get()?)),
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(s) => Some(("*".to_owned(), s.local.symbol_id.get()?)),
            });
            match K6Module::named(from) {
                None => locals.push(LocalImport { from: from.to_owned(), names: specifiers.collect() }),
                Some(module) => {
                    for (name, symbol) in specifiers {
                        let path = if name == "default" || name == "*" { Vec::new() } else { vec![name] };
                        names.things.insert(symbol, (module.clone(), path));
                    }
                }
            }
        }
        (names, locals)
    }

    pub(super) fn is_k6(from: &str) -> bool {
        K6Module::named(from).is_some()
    }

    pub(super) fn local(&mut self, symbol: SymbolId, effect: Effect) {
        self.locals.insert(symbol, effect);
    }

    pub(super) fn local_effect(&self, symbol: SymbolId) -> Option<Effect> {
        self.locals.get(&symbol).copied()
    }

    pub(super) fn thing(&self, symbol: SymbolId) -> Option<&(K6Module, Vec<String>)> {
        self.things.get(&symbol)
    }

    /// `exec.vu.idInTest` as a module and a path in it.
    pub(super) fn path(&self, tree: &Tree<'_>, id: NodeId) -> Option<(K6Module, Vec<String>)> {
        let id = tree.strip(id);
        if let Some((object, name)) = tree.member(id) {
            let (module, mut path) = self.path(tree, object)?;
            path.push(name);
            return Some((module, path));
        }
        self.things.get(&tree.symbol(id)?).cloned()
    }

    /// The same, as `http.get`, of a module that is wanted.
    pub(super) fn member(&self, tree: &Tree<'_>, id: NodeId, module: &K6Module) -> Option<String> {
        self.path(tree, id).filter(|(found, path)| found == module && !path.is_empty()).map(|(_, path)| path.join("."))
    }

    /// The name at the root of `a.b.c`.
    pub(super) fn root(tree: &Tree<'_>, id: NodeId) -> NodeId {
        let id = tree.strip(id);
        match tree.member(id) {
            Some((object, _)) => Self::root(tree, object),
            None => id,
        }
    }
}
