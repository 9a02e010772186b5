//! WebSockets of a session: with its header lines and cookies.

use super::open::{SocketOptions, WebSocketOpening, open};
use crate::http::{CookieJar, CookieUse, HttpSession, Request};

impl HttpSession {
    /// Opens a WebSocket with the session's header lines and cookies.
    pub async fn open_socket(&self, request: Request, options: &SocketOptions) -> WebSocketOpening {
        self.open_socket_with_jar(request, options, &self.jar()).await
    }

    /// The same, with the cookies of another jar.
    pub async fn open_socket_with_jar(&self, mut request: Request, options: &SocketOptions, jar: &CookieJar) -> WebSocketOpening {
        self.complete(&mut request, CookieUse::Jar(jar));
        let opening = open(self.client().network(), request.clone(), options).await;
        if let Ok(response) = &opening.exchange.result {
            self.take_cookies(jar, &request, response);
        }
        opening
    }
}
