//! Library calls of scripts other than requests: metrics, data, hashes, encodings, `k6/execution`, and the helpers of k6-utils.

use oxc_ast::AstKind;
use oxc_semantic::NodeId;

use super::edits::Pieces;
use super::names::{K6Module, Names};
use super::rewrite::{Rewrite, local_name};
use super::tree::CallParts;
use crate::text::quoted;

impl Rewrite<'_, '_> {
    /// `new Trend(name, isTime)`, `new SharedArray(name, make)`, `new http.CookieJar()`.
    pub(super) fn construct(&mut self, id: NodeId) {
        let Some(call) = self.tree.call(id) else { return };
        match self.names.path(self.tree, call.callee) {
            Some((K6Module::Grpc, path)) if path == ["Client"] || path == ["Stream"] => self.grpc_construct(id, &call),
            Some((K6Module::Metrics, path)) => {
                let Some(kind) = path.last().and_then(|name| metric_kind(name)) else { return };
                let Some(&name) = call.arguments.first() else { return };
                let metric = self.loadstone("metric");
                let unit = match call.arguments.get(1) {
                    Some(&time) if matches!(self.tree.kind(time), AstKind::BooleanLiteral(literal) if literal.value) => {
                        ", { unit: \"ms\" }"
                    }
                    _ => "",
                };
                let value_text = Pieces::from(format!("{metric}.{kind}(")).node(self.tree, name).text(format!("{unit})"));
                self.edits.replace(self.tree.span(id), value_text);
                self.handled.insert(Names::root(self.tree, call.callee));
            }
            Some((K6Module::WebSockets, path)) if path == ["WebSocket"] => {
                let Some(&url) = call.arguments.first() else { return };
                let mut value_text = Pieces::from(format!("new K6Socket({}, ", self.user)).node(self.tree, url);
                // Sub-protocols come between the two.
                if let Some(&params) = call.arguments.get(2) {
                    value_text = value_text.text(", ").node(self.tree, params);
                }
                self.edits.replace(self.tree.span(id), value_text.text(")"));
                self.use_sockets();
                self.handled.insert(Names::root(self.tree, call.callee));
            }
            Some((K6Module::Data, path)) if path == ["SharedArray"] => {
                let Some(&make) = call.arguments.get(1) else { return };
                let value_text = match self.only_value(make) {
                    Some(value) => Pieces::new().node(self.tree, value),
                    None => Pieces::from("(").node(self.tree, make).text(")()"),
                };
                self.edits.replace(self.tree.span(id), value_text);
                self.handled.insert(Names::root(self.tree, call.callee));
            }
            _ => {}
        }
    }

    /// What a function returns that does nothing else.
    fn only_value(&self, function: NodeId) -> Option<NodeId> {
        let parts = self.tree.function(function)?;
        if parts.is_expression {
            return Some(parts.body);
        }
        let [statement] = self.tree.children(parts.body) else { return None };
        let AstKind::ReturnStatement(_) = self.tree.kind(*statement) else { return None };
        self.tree.children(*statement).first().copied()
    }

    /// `counter.add(1, { tag })`.
    pub(super) fn metric_call(&mut self, id: NodeId, call: &CallParts) -> bool {
        let Some((metric, method)) = self.tree.member(call.callee) else { return false };
        let Some(kind) = self.metric_of(metric).filter(|_| method == "add") else { return false };
        let Some(&value) = call.arguments.first() else { return false };
        let mut recorded = Pieces::new().node(self.tree, metric).text(if kind == "gauge" { ".set(" } else { ".add(" });
        let plain = Pieces::new().node(self.tree, value);
        recorded =
            recorded.then(if kind == "rate" && !self.is_boolean(value) { Pieces::from("Boolean(").then(plain).text(")") } else { plain });
        if let Some(&tags) = call.arguments.get(1) {
            recorded = recorded.text(", { tags: ").node(self.tree, tags).text(" }");
        }
        recorded = recorded.text(")");
        // In k6 recording is true; here it says nothing.
        let is_statement = self.tree.parent(id).is_some_and(|parent| match self.tree.kind(parent) {
            AstKind::ExpressionStatement(_) => true,
            AstKind::ArrowFunctionExpression(_) => {
                !self.tree.parent(parent).is_some_and(|up| matches!(self.tree.kind(up), AstKind::ObjectProperty(_)))
            }
            _ => false,
        });
        let recorded = if is_statement { recorded } else { Pieces::from("(").then(recorded).text(", true)") };
        self.edits.replace(self.tree.span(id), recorded);
        true
    }

    /// The kind of a metric that a name was declared as.
    fn metric_of(&self, id: NodeId) -> Option<&'static str> {
        let initial = self.tree.initial(self.tree.symbol(self.tree.strip(id))?)?;
        let value_text = self.tree.call(initial)?;
        let name = self.names.member(self.tree, value_text.callee, &K6Module::Metrics)?;
        metric_kind(&name)
    }

    /// `open(path)` is the text of a file, `open(path, "b")` its bytes.
    pub(super) fn open(&mut self, id: NodeId, call: &CallParts) {
        let Some(&path) = call.arguments.first() else { return };
        let file = self.loadstone("file");
        let what = if call.arguments.len() > 1 { "bytes" } else { "text" };
        let path = match self.tree.string(path) {
            Some(path) => quoted(&self.rebased(&path)).into(),
            None => Pieces::new().node(self.tree, path),
        };
        self.edits.replace(self.tree.span(id), Pieces::from(format!("{file}(")).then(path).text(format!(").{what}")));
    }

    /// `__ENV.NAME`: a parameter.
    pub(super) fn env(&mut self, id: NodeId) {
        let used = self.tree.parent(id).and_then(|parent| Some((parent, self.tree.member(parent)?)));
        let Some((place, (_, name))) = used.filter(|(_, (object, _))| *object == id) else {
            return self.problem(id, "environment variables whose names are computed at run time cannot become parameters");
        };
        let param = local_name(self.tree, self.names, "param");
        if let Some((span, value)) = self.environment.replacement(self.tree, place, &name, &param) {
            self.edits.replace(span, Pieces::from(value));
        }
    }

    /// A path relative to the script, from the folder of the output.
    pub(super) fn rebased(&self, path: &str) -> String {
        rebased(self.folder, path)
    }

    /// `exec.vu.idInTest` and its like.
    pub(super) fn execution(&mut self, id: NodeId) {
        let Some((K6Module::Execution, path)) = self.names.path(self.tree, id) else { return };
        let user = self.user;
        let value = match path.join(".").as_str() {
            "vu.idInTest" | "vu.idInInstance" => format!("({user}.number + 1)"),
            "vu.iterationInInstance" | "vu.iterationInScenario" => format!("{user}.state.iteration"),
            "scenario.iterationInTest" | "scenario.iterationInInstance" => format!("{user}.iteration"),
            "scenario.name" => format!("{user}.scenario"),
            _ => return,
        };
        self.handled.insert(Names::root(self.tree, id));
        self.edits.replace(self.tree.span(id), value.into());
    }

    /// `exec.test.abort(message)`.
    pub(super) fn abort(&mut self, id: NodeId, call: &CallParts, name: &str) -> bool {
        if name != "test.abort" {
            return false;
        }
        self.note(id, "`exec.test.abort` ends the iteration, not the run: a threshold with `.abortEarly()` ends a run");
        let message = call.arguments.first().map_or(Pieces::from("\"aborted\""), |&message| Pieces::new().node(self.tree, message));
        self.edits.replace(self.tree.span(id), Pieces::from(format!("{}.fail(", self.user)).then(message).text(")"));
        true
    }

    /// `crypto.sha256(data, "hex")`, `crypto.hmac("sha256", key, data, "hex")`.
    pub(super) fn crypto_call(&mut self, id: NodeId, call: &CallParts, name: &str) -> bool {
        if matches!(name, "createHash" | "createHMAC") {
            self.helpers.insert("k6Hasher");
            self.uses.extend(["hash", "hmac"]);
            let arguments = call.arguments.iter().map(|&argument| Pieces::new().node(self.tree, argument));
            self.edits.replace(self.tree.span(id), Pieces::from("k6Hasher(").then(Pieces::joined(arguments, ", ")).text(")"));
            return true;
        }
        let known = |hash: &str| matches!(hash, "md5" | "sha1" | "sha256" | "sha512");
        let arguments = &call.arguments;
        let (function, first, values, encoding) = match (name, &arguments[..]) {
            (hash, [data, encoding]) if known(hash) => ("hash", quoted(hash), vec![*data], *encoding),
            ("hmac", [hash, key, data, encoding]) => match self.tree.string(*hash) {
                Some(hash) if known(&hash) => ("hmac", quoted(&hash), vec![*key, *data], *encoding),
                _ => return false,
            },
            ("randomBytes", [count]) => {
                let random = self.loadstone("random");
                self.edits.replace(self.tree.span(id), Pieces::from(format!("{random}.bytes(")).node(self.tree, *count).text(").buffer"));
                return true;
            }
            _ => return false,
        };
        let written = self.tree.string(encoding);
        let encoding = match written.as_deref() {
            Some(same @ ("hex" | "base64")) => same,
            Some("base64rawurl" | "base64url") => "base64url",
            Some("binary") => "bytes",
            _ => return false,
        };
        let function = self.loadstone(function);
        let values = values.into_iter().map(|value| Pieces::new().node(self.tree, value));
        let hashed = Pieces::from(format!("{function}({first}, ")).then(Pieces::joined(values, ", ")).text(format!(", \"{encoding}\")"));
        self.edits.replace(self.tree.span(id), hashed);
        true
    }

    /// `encoding.b64encode(data, "rawurl")`, `encoding.b64decode(text, "rawurl", "s")`.
    pub(super) fn encoding_call(&mut self, id: NodeId, call: &CallParts, name: &str) -> bool {
        let Some(&data) = call.arguments.first() else { return false };
        let variant = call.arguments.get(1).and_then(|&variant| self.tree.string(variant));
        let codec = match variant.as_deref() {
            Some("url" | "rawurl") => "base64url",
            None | Some("std" | "rawstd") => "base64",
            Some(_) => return false,
        };
        let as_text = call.arguments.get(2).is_some();
        let method = match name {
            "b64encode" => "encode",
            "b64decode" if as_text => "decodeText",
            "b64decode" => "decode",
            _ => return false,
        };
        let codec = self.loadstone(codec);
        self.edits.replace(self.tree.span(id), Pieces::from(format!("{codec}.{method}(")).node(self.tree, data).text(")"));
        true
    }

    /// The helpers of k6-utils that draw or search.
    pub(super) fn utils_call(&mut self, id: NodeId, call: &CallParts, name: &str) -> bool {
        let method = match name {
            "randomIntBetween" => "integer",
            "randomItem" => "choice",
            "randomString" => "string",
            "uuidv4" => "uuid",
            "findBetween" => {
                self.helpers.insert("k6FindBetween");
                self.edits.replace(self.tree.span(call.callee), "k6FindBetween".into());
                return true;
            }
            _ => return false,
        };
        let inside = self.tree.ancestors(id).any(|at| self.effects.of_function(at).user);
        let random = if inside { format!("{}.random", self.user) } else { self.loadstone("random") };
        let arguments = if name == "uuidv4" { &[][..] } else { &call.arguments };
        let arguments = arguments.iter().map(|&argument| Pieces::new().node(self.tree, argument));
        let drawn = Pieces::from(format!("{random}.{method}(")).then(Pieces::joined(arguments, ", ")).text(")");
        self.edits.replace(self.tree.span(id), drawn);
        true
    }

    fn use_sockets(&mut self) {
        self.helpers.insert("K6Socket");
        self.uses.insert("User");
    }

    /// `ws.connect(url, params, begin)`.
    pub(super) fn socket_call(&mut self, id: NodeId, call: &CallParts, name: &str) -> bool {
        if name != "connect" {
            return false;
        }
        self.use_sockets();
        self.helpers.insert("k6Connect");
        let arguments = call.arguments.iter().map(|&argument| Pieces::new().node(self.tree, argument));
        let connected = Pieces::from(format!("k6Connect({}, ", self.user)).then(Pieces::joined(arguments, ", ")).text(")");
        let connected = self.awaited(id, connected);
        self.edits.replace(self.tree.span(id), connected);
        true
    }

    /// `tracing.instrumentHTTP(…)`: the test's option `traceparent` does it.
    pub(super) fn tempo_call(&mut self, id: NodeId) -> bool {
        let statement = self.tree.parent(id).filter(|&parent| matches!(self.tree.kind(parent), AstKind::ExpressionStatement(_)));
        let Some(statement) = statement else { return false };
        self.edits.replace(self.tree.span(statement), Pieces::new());
        true
    }
}

/// What `metric.KIND` is called.
pub(super) fn metric_kind(name: &str) -> Option<&'static str> {
    Some(match name {
        "Trend" => "trend",
        "Counter" => "counter",
        "Gauge" => "gauge",
        "Rate" => "rate",
        _ => return None,
    })
}

/// A path of the script, seen from the folder of the output.
pub(super) fn rebased(folder: &str, path: &str) -> String {
    if path.starts_with('/') || path.contains("://") || folder.is_empty() && !path.contains("/../") {
        return path.to_owned();
    }
    let path = path.strip_prefix("./").unwrap_or(path);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    for part in path.split('/') {
        if part == ".." && parts.last().is_some_and(|last| *last != "..") {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    let joined = parts.join("/");
    match folder {
        _ if folder.starts_with('/') => format!("/{joined}"),
        _ if joined.starts_with("..") => joined,
        _ => format!("./{joined}"),
    }
}
