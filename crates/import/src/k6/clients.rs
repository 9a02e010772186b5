//! Clients and streams of `k6/net/grpc`: which expressions they are, and what a script asks of them.

use oxc_ast::AstKind;
use oxc_semantic::{NodeId, SymbolId};

use super::names::{K6Module, Names};
use super::tree::{CallParts, Tree};

/// What a script asks of a client.
pub(super) enum ClientCall {
    Load,
    Connect,
    Invoke,
    AsyncInvoke,
    HealthCheck,
    Close,
    Other(String),
}

/// `client.invoke(…)`, where `client` was created by `new Client()`.
pub(super) fn client_call(tree: &Tree<'_>, names: &Names, call: &CallParts) -> Option<(SymbolId, ClientCall)> {
    let (object, method) = tree.member(call.callee)?;
    let client = tree.symbol(tree.strip(object)).filter(|&symbol| is_client(tree, names, symbol))?;
    let asked = match method.as_str() {
        "load" => ClientCall::Load,
        "connect" => ClientCall::Connect,
        "invoke" => ClientCall::Invoke,
        "asyncInvoke" => ClientCall::AsyncInvoke,
        "healthCheck" => ClientCall::HealthCheck,
        "close" => ClientCall::Close,
        _ => ClientCall::Other(method),
    };
    Some((client, asked))
}

pub(super) fn is_client(tree: &Tree<'_>, names: &Names, symbol: SymbolId) -> bool {
    tree.initial(symbol).is_some_and(|initial| is_construction(tree, names, initial, "Client"))
}

/// `new Client()` or `new Stream(client, method)`.
pub(super) fn is_construction(tree: &Tree<'_>, names: &Names, id: NodeId, class: &str) -> bool {
    let construction = tree.call(tree.strip(id)).filter(|_| matches!(tree.kind(tree.strip(id)), AstKind::NewExpression(_)));
    construction.is_some_and(|construction| names.member(tree, construction.callee, &K6Module::Grpc).as_deref() == Some(class))
}

/// Whether a node sends something by a client.
pub(super) fn sends(tree: &Tree<'_>, names: &Names, id: NodeId) -> bool {
    let asked = tree.call(id).and_then(|call| client_call(tree, names, &call)).map(|(_, asked)| asked);
    matches!(asked, Some(ClientCall::Invoke | ClientCall::AsyncInvoke | ClientCall::HealthCheck))
        || is_construction(tree, names, id, "Stream")
}
