//! The end of a transaction, a measured request.

use std::rc::Rc;

use loadstone_protocol::sql::SqlStatement;
use rquickjs::{Ctx, Promise};

use super::conclude::conclude;
use super::options::StatementOptions;
use super::query::{in_flight, issue};
use super::state::SqlHandle;
use crate::protocols::messages::receive::AWAIT;
use crate::protocols::options::wrong;

/// Answers to `BEGIN`, `COMMIT` and `ROLLBACK` are short. Bytes.
pub(super) const ANSWER_BYTES_MAX: u64 = 1024 * 1024;

/// `Order commit`, or `COMMIT`.
pub(super) fn name(options: &StatementOptions, keyword: &str) -> String {
    options.name.as_ref().map_or_else(|| keyword.to_owned(), |name| format!("{name} {}", keyword.to_lowercase()))
}

/// `COMMIT` or `ROLLBACK`.
pub(super) fn end<'js>(ctx: &Ctx<'js>, on: &SqlHandle, options: &StatementOptions, keyword: &str) -> rquickjs::Result<Promise<'js>> {
    on.user.check_running(ctx, AWAIT)?;
    let ended = || wrong(ctx, "the transaction did not begin, so it cannot end");
    let state = on.within.clone().ok_or_else(ended)?;
    let id = state.id.ok_or_else(ended)?;
    let statement = SqlStatement::plain(keyword);
    let (issued, flight) = issue(ctx, on, &statement, &name(options, keyword), options);
    let (client, timeout_ns) = (Rc::clone(&on.client), issued.timeout_ns);
    let exchange = async move { Box::new(client.end(id, &statement, timeout_ns, ANSWER_BYTES_MAX).await) };
    let work = in_flight(on, flight, exchange, |exchange| exchange.times.ended);
    let commits = keyword == "COMMIT";
    on.user.promise(ctx, work, move |ctx, user, exchange| {
        state.committed.set(commits && exchange.is_done());
        conclude(ctx, user, issued, *exchange)
    })
}
