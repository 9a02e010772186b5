//! WebSockets of a session: with its header lines and cookies.

use super::open::{SocketOptions, WebSocketOpening, open};
use crate::http::{CookieUse, HttpSession, Request};

impl HttpSession {
    /// Opens a WebSocket with the session's header lines and cookies.
    pub async fn open_socket(&self, mut request: Request, options: &SocketOptions) -> WebSocketOpening {
        self.complete(&mut request, CookieUse::Jar);
        let opening = open(self.client().network(), request.clone(), options).await;
        if let Ok(response) = &opening.exchange.result {
            self.take_cookies(&request, response);
        }
        opening
    }
}
