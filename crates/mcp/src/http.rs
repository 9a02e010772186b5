//! The protocol over streamable HTTP, on loopback and with a token.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use loadstone_report::access::{Loopback, Token, guard};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::server::{ServeError, ToolServer};

/// Path of the endpoint.
const PATH: &str = "/mcp";

/// A listening socket and the token that requests need.
pub struct McpEndpoint {
    listener: TcpListener,
    address: SocketAddr,
    token: Token,
}

impl McpEndpoint {
    /// # Errors
    /// The address is not loopback, or is in use.
    pub fn bind(listen: SocketAddr) -> Result<Self, ServeError> {
        if !listen.ip().is_loopback() {
            return Err(ServeError::NotLoopback(listen));
        }
        let listener = TcpListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        Ok(Self { address: listener.local_addr()?, listener, token: Token::random()? })
    }

    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    pub fn token(&self) -> &str {
        self.token.as_str()
    }
}

/// Serves any number of clients until `end` resolves. Calls in progress are cancelled then.
///
/// # Errors
/// The socket fails.
pub async fn serve_http<T: Send + Sync + 'static>(
    server: ToolServer<T>,
    endpoint: McpEndpoint,
    end: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    // A browser always sends an origin. None is permitted, so no web site can use a token that it learnt.
    let config = StreamableHttpServerConfig::default().with_cancellation_token(server.closing().clone()).enforce_origin_validation();
    let offered = server.clone();
    let service = StreamableHttpService::new(move || Ok(offered.clone()), Arc::new(LocalSessionManager::default()), config);
    let router = Router::new()
        .nest_service(PATH, service)
        .layer(middleware::from_fn_with_state(endpoint.token, only_with_token))
        .layer(middleware::from_fn_with_state(Loopback(true), guard));
    let listener = tokio::net::TcpListener::from_std(endpoint.listener)?;
    let shutdown = async move {
        end.await;
        server.close();
    };
    Ok(axum::serve(listener, router).with_graceful_shutdown(shutdown).await?)
}

async fn only_with_token(State(token): State<Token>, request: Request, next: Next) -> Response {
    let authorization = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let given =
        authorization.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map_or("", |(_, token)| token.trim());
    if token.matches(given) {
        return next.run(request).await;
    }
    let scheme = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, scheme, "Send the token that the terminal shows: Authorization: Bearer TOKEN\n").into_response()
}
