//! Event streams of a session: with its header lines and cookies, and through redirects.

use std::rc::Rc;

use super::stream::{EventStream, EventStreamOpening, open};
use crate::http::{CookieUse, Hop, Hops, HttpSession, Request};

impl HttpSession {
    /// Opens an event stream with the session's header lines and cookies, starting after the event with this id. Empty: from now on. Redirects are
    /// followed as in [`HttpSession::send`].
    pub async fn open_events(&self, mut request: Request, last_id: &str, redirects_max: u8) -> (Hops, Option<EventStream>) {
        let mut original_cookie = self.complete(&mut request, CookieUse::Jar(&self.jar()));
        if !last_id.is_empty() {
            request.headers.push(("Last-Event-ID".to_owned(), last_id.to_owned()));
        }
        let (mut request, mut before) = (Rc::new(request), Vec::new());
        loop {
            let EventStreamOpening { mut exchange, stream } = open(self.client().network(), Request::clone(&request)).await;
            match self.next(&request, original_cookie, &exchange, (before.len(), redirects_max), CookieUse::Jar(&self.jar())) {
                None => return (Hops { last: Hop { request, exchange }, before }, stream),
                Some(Err(failure)) => {
                    exchange.fail_answered(failure);
                    return (Hops { last: Hop { request, exchange }, before }, None);
                }
                Some(Ok(next)) => {
                    before.push(Hop { request, exchange });
                    (request, original_cookie) = (Rc::new(next.request), next.original_cookie);
                }
            }
        }
    }
}
