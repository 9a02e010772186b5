//! The beginning of a transaction, a measured request.

use std::rc::Rc;

use loadstone_protocol::sql::SqlStatement;
use rquickjs::{Class, Ctx, Promise, Value};

use super::conclude::judge;
use super::ending::{ANSWER_BYTES_MAX, name};
use super::open_transaction::SqlTransactionObject;
use super::options::TransactionOptions;
use super::query::{in_flight, issue};
use super::state::{SqlHandle, TransactionState};
use crate::protocols::messages::receive::AWAIT;
use crate::runtime::refusal::own_name;
use crate::runtime::step::MeasuredStep;

/// Returns a transaction object, whether or not the transaction began.
pub(super) fn begin<'js>(ctx: &Ctx<'js>, on: &SqlHandle, options: Option<&Value<'js>>) -> rquickjs::Result<Promise<'js>> {
    on.user.check_running(ctx, AWAIT)?;
    let step = || {
        let name = own_name(options).unwrap_or_else(|| "BEGIN".to_owned());
        MeasuredStep::named(&on.user, on.group.clone().or_else(|| on.user.group()), &name)
    };
    let TransactionOptions { statements: options, isolation } = on.user.refusing(ctx, step, || TransactionOptions::read(ctx, options))?;
    let statement = SqlStatement::begin(on.client.address().dialect, isolation);
    let (issued, flight) = issue(ctx, on, &statement, &name(&options, "BEGIN"), &options);
    let (client, timeout_ns) = (Rc::clone(&on.client), issued.timeout_ns);
    let begun = async move { Box::new(client.begin(&statement, timeout_ns, ANSWER_BYTES_MAX).await) };
    let work = in_flight(on, flight, begun, |begun| begun.0.times.ended);
    on.user.promise(ctx, work, move |ctx, user, begun| {
        let (exchange, id) = *begun;
        let state = Rc::new(TransactionState::of(id));
        let on = SqlHandle { within: Some(Rc::clone(&state)), ..issued.on.clone() };
        let (_, failure) = judge(user, &issued, &exchange);
        failure.iter().for_each(|failure| state.note(failure));
        let object = SqlTransactionObject { handle: on, state, options };
        Class::instance(ctx.clone(), object).map(Class::into_value)
    })
}
