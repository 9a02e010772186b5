//! `k6/net/grpc`: a client that connects and then invokes is a target and `user.grpc`; a stream keeps its events, by a small class below the test.

use std::collections::HashSet;

use oxc_ast::AstKind;
use oxc_semantic::{NodeId, SymbolId};
use oxc_span::Span;

use super::clients::{ClientCall, client_call, is_client, is_construction};
use super::edits::Pieces;
use super::kinds::Kind;
use super::names::{K6Module, Names};
use super::rewrite::Rewrite;
use super::tree::{CallParts, Property};
use crate::text::quoted;

/// Where a client's calls go.
#[derive(Clone, Copy)]
struct GrpcTarget {
    /// Host and port.
    address: NodeId,
    plaintext: bool,
}

impl Rewrite<'_, '_> {
    /// `new Client()`, and `new Stream(client, method, params)`.
    pub(super) fn grpc_construct(&mut self, id: NodeId, call: &CallParts) {
        self.handled.insert(Names::root(self.tree, call.callee));
        if is_construction(self.tree, self.names, id, "Client") {
            return self.client(id);
        }
        let [client, method, ref params @ ..] = call.arguments[..] else {
            return self.problem(id, "a stream needs a client and a method");
        };
        let Some(client) = self.tree.symbol(self.tree.strip(client)).filter(|&symbol| is_client(self.tree, self.names, symbol)) else {
            return self.problem(id, "a stream's client must be a constant of the same file");
        };
        let entries = self.call_options(id, client, params.first().copied());
        self.helpers.insert("K6Stream");
        self.uses.insert("User");
        let mut call_text = Pieces::from(format!("new K6Stream({}, ", self.user)).node(self.tree, method);
        if !entries.is_empty() {
            call_text = call_text.text(", { ").then(Pieces::joined(entries, ", ")).text(" }");
        }
        self.edits.replace(self.tree.span(id), call_text.text(")"));
    }

    /// Nothing is left of a client: its user calls, and its connection is the user's.
    fn client(&mut self, id: NodeId) {
        let declarator = self.tree.parent(id).filter(|&up| matches!(self.tree.kind(up), AstKind::VariableDeclarator(_)));
        let declaration = declarator.and_then(|declarator| self.tree.parent(declarator));
        let alone = declaration.filter(|&declaration| self.tree.children(declaration).len() == 1);
        let exported =
            declaration.and_then(|at| self.tree.parent(at)).is_some_and(|up| matches!(self.tree.kind(up), AstKind::ExportDeclaration(_)));
        let symbol = declarator.and_then(|declarator| self.tree.symbol(*self.tree.children(declarator).first()?));
        let (Some(declaration), Some(symbol)) = (alone.filter(|_| !exported), symbol) else {
            return self.problem(id, "a client must be a constant of the file that uses it: `const client = new Client()`");
        };
        for used in self.tree.references(symbol) {
            let up = self.tree.parent(used);
            let called = up.filter(|&up| self.tree.member(up).is_some()).and_then(|member| self.tree.parent(member));
            let called =
                called.and_then(|call| self.tree.call(call)).is_some_and(|call| client_call(self.tree, self.names, &call).is_some());
            let streams = up.is_some_and(|up| is_construction(self.tree, self.names, up, "Stream"));
            if !called && !streams && !(self.left_out)(used) {
                self.problem(used, "a client cannot be passed on: call it in the file that declares it");
            }
        }
        let statement = self.tree.statement(declaration).unwrap_or(declaration);
        self.edits.replace(self.tree.line_of(statement), Pieces::new());
    }

    /// What is asked of a client.
    pub(super) fn client_call(&mut self, id: NodeId, call: &CallParts) -> bool {
        let Some((client, asked)) = client_call(self.tree, self.names, call) else { return false };
        match asked {
            ClientCall::Load => self.load(id, call),
            ClientCall::Connect => self.connect(id, client, call),
            ClientCall::Close => self.without(id, "undefined"),
            ClientCall::Invoke | ClientCall::AsyncInvoke => {
                let [method, ref rest @ ..] = call.arguments[..] else {
                    self.problem(id, "a call needs a method");
                    return true;
                };
                let entries = self.call_options(id, client, rest.get(1).copied());
                let mut call_text = Pieces::from(format!("{}.grpc(", self.user)).node(self.tree, method);
                match rest.first().filter(|&&message| !self.tree.nothing(message)) {
                    Some(&message) => call_text = call_text.text(", ").node(self.tree, message),
                    None if !entries.is_empty() => call_text = call_text.text(", {}"),
                    None => {}
                }
                self.grpc(id, call_text, entries, matches!(asked, ClientCall::Invoke));
            }
            ClientCall::HealthCheck => {
                let entries = self.call_options(id, client, None);
                let call_text = Pieces::from(format!("{}.grpc(\"grpc.health.v1.Health/Check\", {{", self.user));
                let call_text = match call.arguments.first() {
                    Some(&service) => call_text.text(" service: ").node(self.tree, service).text(" }"),
                    None => call_text.text("}"),
                };
                self.grpc(id, call_text, entries, true);
            }
            ClientCall::Other(method) => self.problem(id, format!("a gRPC client's `{method}` has no counterpart")),
        }
        true
    }

    fn grpc(&mut self, id: NodeId, call_text: Pieces, entries: Vec<Pieces>, waits: bool) {
        let call_text = if entries.is_empty() { call_text } else { call_text.text(", { ").then(Pieces::joined(entries, ", ")).text(" }") };
        let call_text = call_text.text(")");
        let call_text = if waits { self.awaited(id, call_text) } else { call_text };
        self.edits.replace(self.tree.span(id), call_text);
    }

    /// `client.load(["protos"], "shop.proto")` is `proto("protos/shop.proto", { imports: ["protos"] })`.
    fn load(&mut self, id: NodeId, call: &CallParts) {
        let statement = self.tree.parent(id).filter(|&up| matches!(self.tree.kind(up), AstKind::ExpressionStatement(_)));
        let (Some(statement), None) = (statement, self.tree.around(id)) else {
            return self.problem(id, "`.proto` files must be read at the top of the test: `proto(path)`");
        };
        let [folders, ref files @ ..] = call.arguments[..] else {
            return self.problem(id, "`load` names files");
        };
        let folders: Option<Vec<String>> = match self.tree.kind(self.tree.strip(folders)) {
            AstKind::ArrayExpression(_) => {
                self.tree.children(self.tree.strip(folders)).iter().map(|&folder| self.tree.string(folder)).collect()
            }
            _ if self.tree.nothing(folders) => Some(Vec::new()),
            _ => None,
        };
        let Some(folders) = folders else {
            return self.problem(
                id,
                "folders of `.proto` files are computed while the test loads: write `proto(path, { imports: [\"folder\"] })`",
            );
        };
        let proto = self.loadstone("proto");
        let rebased = |path: &str| self.rebased(path.strip_prefix("file://").unwrap_or(path));
        let declared = files.iter().map(|&file| {
            let Some(path) = self.tree.string(file) else {
                let path = Pieces::new().node(self.tree, file);
                let path = if self.folder.is_empty() { path } else { Pieces::from(format!("`{}/${{", self.folder)).then(path).text("}`") };
                return Pieces::from(format!("{proto}(")).then(path).text(");");
            };
            let found = match folders.first() {
                Some(folder) if !path.starts_with('/') => format!("{}/{path}", folder.trim_end_matches('/')),
                _ => path.clone(),
            };
            let call_text = Pieces::from(format!("{proto}({}", quoted(&rebased(&found))));
            // A file outside of the folders is not named from them.
            if folders.is_empty() || path.starts_with("..") {
                return call_text.text(");");
            }
            let imports: Vec<String> = folders.iter().map(|folder| quoted(&rebased(folder))).collect();
            call_text.text(format!(", {{ imports: [{}] }});", imports.join(", ")))
        });
        let declared = Pieces::joined(declared, "\n");
        if folders.len() > 1 {
            self.note(id, format!("the named `.proto` files are searched only in the first folder, `{}`", folders[0]));
        }
        self.edits.replace(self.tree.span(statement), declared);
    }

    /// `client.connect(…)` opens nothing here: the first call does.
    fn connect(&mut self, id: NodeId, client: SymbolId, call: &CallParts) {
        let Some(&address) = call.arguments.first() else {
            return self.problem(id, "`connect` names a server");
        };
        let first = self.connections(client).next().and_then(|(_, first)| first.arguments.first().copied());
        if let Some(first) = first
            && self.tree.source(first) != self.tree.source(address)
        {
            return self.problem(id, "a client connects to one server: use a separate client for each server");
        }
        for property in self.connect_properties(call) {
            let reason = match property.key.as_deref() {
                Some("plaintext") => continue,
                Some("reflect") => {
                    self.reflects |= matches!(self.tree.kind(property.value), AstKind::BooleanLiteral(literal) if literal.value);
                    continue;
                }
                Some("timeout") => "the time to connect is part of a call's time",
                Some("tls") => "certificates are files: `clientCertificate`, `roots` and `insecure` of the test's options",
                Some("maxReceiveSize") => "see `bodyBytesMax` of the test's options",
                _ => "it has no counterpart",
            };
            let key = property.key.clone().unwrap_or_else(|| self.tree.source(property.node).to_owned());
            self.note(property.node, format!("`{key}` of `connect` is left out: {reason}"));
        }
        self.note(
            id,
            "`connect` and `close` of a gRPC client are not needed: a user's first call connects, and the connection remains open",
        );
        self.without(id, "true");
    }

    fn connect_properties(&self, call: &CallParts) -> Vec<Property> {
        let Some(&params) = call.arguments.get(1) else { return Vec::new() };
        let inner = self.tree.strip(params);
        let declared = self.tree.symbol(inner).and_then(|symbol| self.tree.initial(symbol)).unwrap_or(inner);
        self.tree.properties(self.tree.strip(declared)).unwrap_or_default()
    }

    /// Calls of `connect` of a client, in the order of the file.
    fn connections(&self, client: SymbolId) -> impl Iterator<Item = (NodeId, CallParts)> + '_ {
        self.tree.all().filter(|&id| !(self.left_out)(id)).filter_map(move |id| {
            let call = self.tree.call(id)?;
            let (of, asked) = client_call(self.tree, self.names, &call)?;
            (of == client && matches!(asked, ClientCall::Connect)).then_some((id, call))
        })
    }

    /// Takes a call out: with its statement, and the condition that held only it; or puts a value in its place.
    fn without(&mut self, id: NodeId, value: &str) {
        let tree = self.tree;
        let statement = tree.parent(id).filter(|&up| matches!(tree.kind(up), AstKind::ExpressionStatement(_)));
        let Some(statement) = statement else {
            return self.edits.replace(tree.span(id), value.into());
        };
        let block =
            tree.parent(statement).filter(|&up| matches!(tree.kind(up), AstKind::BlockStatement(_)) && tree.children(up).len() == 1);
        let only = block.unwrap_or(statement);
        let condition = tree.parent(only).filter(|&up| matches!(tree.kind(up), AstKind::IfStatement(_)) && tree.children(up).len() == 2);
        let whole = condition.filter(|&at| tree.in_list(at)).unwrap_or(statement);
        if tree.in_list(whole) {
            self.edits.replace(tree.line_of(whole), Pieces::new());
        } else {
            self.edits.replace(tree.span(whole), "{}".into());
        }
    }

    fn target_of(&self, client: SymbolId) -> Result<GrpcTarget, &'static str> {
        let (_, call) = self.connections(client).next().ok_or("the file has no `connect` call of this client")?;
        let &address = call.arguments.first().ok_or("`connect` names no server")?;
        let outside = |id: NodeId| match self.tree.symbol(id) {
            Some(symbol) => self.tree.around(self.tree.declared(symbol)).is_none(),
            None => !matches!(self.tree.kind(id), AstKind::IdentifierReference(_)) || self.tree.global(id) == Some("__ENV"),
        };
        if !self.tree.all().filter(|&id| self.tree.within(id, address)).all(outside) {
            return Err("the server address of a gRPC client is computed while an iteration runs: pass it as `target` of each call");
        }
        let plaintext = self.connect_properties(&call).into_iter().find(|property| property.key.as_deref() == Some("plaintext"));
        let plaintext =
            plaintext.is_some_and(|property| matches!(self.tree.kind(property.value), AstKind::BooleanLiteral(literal) if literal.value));
        Ok(GrpcTarget { address, plaintext })
    }

    fn url_of(&self, target: GrpcTarget) -> Pieces {
        let scheme = if target.plaintext { "http" } else { "https" };
        match self.tree.string(target.address) {
            Some(address) => quoted(&format!("{scheme}://{address}")).into(),
            None => Pieces::from(format!("`{scheme}://${{")).node(self.tree, target.address).text("}`"),
        }
    }

    /// Where all calls of the script go: the target of its test.
    pub(super) fn grpc_target(&self) -> Option<String> {
        if !self.is_test {
            return None;
        }
        let called: Vec<SymbolId> = {
            let mut seen = HashSet::new();
            let clients = self.tree.all().filter(|&id| !(self.left_out)(id)).filter_map(|id| {
                let call = self.tree.call(id)?;
                client_call(self.tree, self.names, &call).map(|(client, _)| client)
            });
            clients.filter(|&client| seen.insert(client)).collect()
        };
        let mut urls = called.iter().map(|&client| self.target_of(client).map(|target| self.url_of(target)));
        let first = urls.next()?.ok()?;
        let same = urls.all(|url| url.is_ok_and(|url| self.written(&url) == self.written(&first)));
        same.then(|| self.written(&first))
    }

    fn written(&self, pieces: &Pieces) -> String {
        self.edits.written(self.tree.text, pieces)
    }

    /// What a call carries, and where it goes if that is not the test's target.
    fn call_options(&mut self, id: NodeId, client: SymbolId, params: Option<NodeId>) -> Vec<Pieces> {
        let mut entries = Vec::new();
        match self.target_of(client) {
            Ok(target) => {
                if self.grpc_target().is_none() {
                    entries.push(Pieces::from("target: ").then(self.url_of(target)));
                }
            }
            Err(reason) => self.problem(id, reason),
        }
        let Some(params) = params.filter(|&params| !self.tree.nothing(params)) else { return entries };
        let inner = self.tree.strip(params);
        let declared = self.tree.symbol(inner).and_then(|symbol| self.tree.initial(symbol));
        let Some(properties) = self.tree.properties(declared.map_or(inner, |declared| self.tree.strip(declared))) else {
            self.problem(
                params,
                "the parameters of a call are computed while an iteration runs: write them as `{ metadata, timeout, tags }` in the call",
            );
            return entries;
        };
        for property in properties {
            match property.key.as_deref() {
                Some("metadata") => entries.push(Pieces::new().node(self.tree, property.node)),
                Some("tags") => entries.extend(self.tags(&property)),
                Some("timeout") => entries.push(Pieces::from("timeout: ").then(self.timeout(property.value))),
                // A message is only decoded where it is read.
                Some("discardResponseMessage") => {}
                _ => {
                    let key = self.tree.source(property.node).to_owned();
                    self.note(property.node, format!("`{key}` of a gRPC call is left out: it has no counterpart"));
                }
            }
        }
        entries
    }

    /// `grpc.StatusOK` is `"OK"`.
    pub(super) fn grpc_constant(&mut self, id: NodeId) {
        let Some((K6Module::Grpc, path)) = self.names.path(self.tree, id) else { return };
        let [name] = &path[..] else { return };
        let text = match status_of(name).or_else(|| health_of(name)) {
            Some(text) => quoted(text),
            None => return,
        };
        self.handled.insert(Names::root(self.tree, id));
        self.edits.replace(self.tree.span(id), text.into());
    }

    /// `response.status`, `response.message`, `response.error.message`, `response.headers["x"][0]`.
    pub(super) fn grpc_member(&mut self, id: NodeId) {
        let Some((object, name)) = self.tree.member(id) else { return };
        let kind = self.kind_of(object);
        if !matches!(kind, Kind::GrpcResponse | Kind::GrpcHealth) {
            return;
        }
        let own = |inner: NodeId| Span::new(self.tree.span(object).end, self.tree.span(inner).end);
        let above = self.tree.parent(id).filter(|&up| self.tree.children(up).first() == Some(&id));
        let above_member = above.and_then(|above| self.tree.member(above).map(|(_, name)| (above, name)));
        let dot = if self.tree.of(own(id)).starts_with("?.") { "?." } else { "." };
        match (name.as_str(), above_member) {
            ("status", _) if kind == Kind::GrpcHealth => {
                self.edits.replace(own(id), format!("{dot}message?.status").into());
                self.compared(id, &["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"]);
            }
            ("status", _) => self.compared(id, &STATUSES.map(|(_, name)| name)),
            ("message", _) => {}
            ("error", Some((above, part))) if part == "message" => self.edits.replace(own(above), format!("{dot}details").into()),
            ("error", Some((above, part))) if part == "code" => {
                self.edits.replace(own(above), format!("{dot}status").into());
                self.compared(above, &STATUSES.map(|(_, name)| name));
            }
            ("error", None) => {}
            ("headers" | "trailers", at) => {
                let what = if name == "headers" { "metadata" } else { "trailers" };
                let key = at.map(|(above, key)| (above, format!("[{}]", quoted(&key.to_ascii_lowercase()))));
                let Some((above, key)) = key else {
                    return self.edits.replace(own(id), format!("{dot}{what}").into());
                };
                // k6 has a list of each.
                let first = self.tree.parent(above).filter(|&up| {
                    self.tree.element(up) == Some(above) && self.tree.children(up).get(1).and_then(|&at| self.tree.number(at)) == Some(0.0)
                });
                self.edits.replace(own(first.unwrap_or(above)), format!("{dot}{what}{key}").into());
            }
            (other, _) => self.problem(id, format!("a gRPC response has no `{other}`")),
        }
    }

    /// Replaces the number in a comparison with a status by the status name.
    fn compared(&mut self, id: NodeId, names: &[&str]) {
        let Some(comparison) = self.tree.parent(id).filter(|&up| matches!(self.tree.kind(up), AstKind::BinaryExpression(_))) else {
            return;
        };
        for &side in self.tree.children(comparison) {
            if let Some(&name) = self.tree.number(side).and_then(|number| names.get(number as usize)) {
                self.edits.replace(self.tree.span(side), quoted(name).into());
            }
        }
    }
}

/// In the order of their numbers; <https://grpc.io/docs/guides/status-codes/>.
const STATUSES: [(&str, &str); 17] = [
    ("StatusOK", "OK"),
    ("StatusCanceled", "CANCELLED"),
    ("StatusUnknown", "UNKNOWN"),
    ("StatusInvalidArgument", "INVALID_ARGUMENT"),
    ("StatusDeadlineExceeded", "DEADLINE_EXCEEDED"),
    ("StatusNotFound", "NOT_FOUND"),
    ("StatusAlreadyExists", "ALREADY_EXISTS"),
    ("StatusPermissionDenied", "PERMISSION_DENIED"),
    ("StatusResourceExhausted", "RESOURCE_EXHAUSTED"),
    ("StatusFailedPrecondition", "FAILED_PRECONDITION"),
    ("StatusAborted", "ABORTED"),
    ("StatusOutOfRange", "OUT_OF_RANGE"),
    ("StatusUnimplemented", "UNIMPLEMENTED"),
    ("StatusInternal", "INTERNAL"),
    ("StatusUnavailable", "UNAVAILABLE"),
    ("StatusDataLoss", "DATA_LOSS"),
    ("StatusUnauthenticated", "UNAUTHENTICATED"),
];

fn status_of(name: &str) -> Option<&'static str> {
    STATUSES.iter().find(|(known, _)| *known == name).map(|(_, status)| *status)
}

fn health_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "HealthCheckServing" => "SERVING",
        "HealthCheckNotServing" => "NOT_SERVING",
        "HealthCheckUnknown" => "UNKNOWN",
        // Spelt so in k6.
        "HealthCheckServiceUnkown" => "SERVICE_UNKNOWN",
        _ => return None,
    })
}
