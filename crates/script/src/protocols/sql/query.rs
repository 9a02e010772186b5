//! `query(…)`: a statement as a measured request.

use std::future::Future;
use std::rc::Rc;

use loadstone_protocol::sql::{SqlClient, SqlStatement};
use rquickjs::{Ctx, Promise, Value};

use super::conclude::{IssuedStatement, conclude};
use super::name::name_of;
use super::options::StatementOptions;
use super::parameters;
use super::state::SqlHandle;
use super::value;
use crate::protocols::http::state::HttpScenario;
use crate::protocols::messages::receive::AWAIT;
use crate::protocols::options::{text as text_of, wrong};
use crate::runtime::refusal::own_name;
use crate::runtime::step::{MeasuredStep, StepInFlight};

/// `sql.query("SELECT …", [id], { name })`. The list is optional.
pub(super) fn query<'js>(
    ctx: &Ctx<'js>,
    on: &SqlHandle,
    text: Option<Value<'js>>,
    second: Option<Value<'js>>,
    third: Option<Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    on.user.check_running(ctx, AWAIT)?;
    let (parameters, options) = match second {
        Some(second) if third.is_none() && second.is_object() && !second.is_array() => (None, Some(second)),
        second => (second, third),
    };
    let step = || {
        let written = text.as_ref().and_then(Value::as_string).and_then(|text| text.to_string().ok());
        let default_name = || written.map_or_else(|| "query".to_owned(), |text| name_of(&text, on.client.address().dialect));
        let name = own_name(options.as_ref()).unwrap_or_else(default_name);
        MeasuredStep::named(&on.user, on.group.clone().or_else(|| on.user.group()), &name)
    };
    let read = || Ok((statement(ctx, on, text.clone(), parameters.as_ref())?, StatementOptions::read(ctx, options.as_ref())?));
    let (statement, options) = on.user.refusing(ctx, step, read)?;
    let dialect = on.client.address().dialect;
    let name = options.name.clone().unwrap_or_else(|| name_of(&statement.text, dialect));
    let (issued, flight) = issue(ctx, on, &statement, &name, &options);
    let within = on.within.as_ref().and_then(|transaction| transaction.id);
    let (client, timeout_ns, bytes_max) = (Rc::clone(&on.client), issued.timeout_ns, HttpScenario::of(&on.user).body_bytes_max);
    let exchange = async move { client.run(within, &statement, timeout_ns, bytes_max).await };
    let work = in_flight(on, flight, async move { Box::new(exchange.await) }, |exchange| exchange.times.ended);
    on.user.promise(ctx, work, move |ctx, user, exchange| conclude(ctx, user, issued, *exchange))
}

fn statement<'js>(
    ctx: &Ctx<'js>,
    on: &SqlHandle,
    text: Option<Value<'js>>,
    parameters: Option<&Value<'js>>,
) -> rquickjs::Result<SqlStatement> {
    let text = text_of(ctx, &text.unwrap_or_else(|| Value::new_undefined(ctx.clone())), "the statement")?;
    if text.contains('\0') {
        return Err(wrong(ctx, "the statement has a NUL character, which SQL does not allow"));
    }
    let parameters = parameters::read(ctx, parameters, on.client.address().dialect)?;
    Ok(SqlStatement { text, parameters, preamble: None })
}

/// The state of a statement before its answer.
pub(super) fn issue(
    ctx: &Ctx<'_>,
    on: &SqlHandle,
    statement: &SqlStatement,
    name: &str,
    options: &StatementOptions,
) -> (IssuedStatement, StepInFlight) {
    let user = &on.user;
    let group = on.group.clone().or_else(|| user.group());
    let step = MeasuredStep::named(user, group, name).with_tags(user, &options.tags);
    step.note_place(ctx, user);
    let flight = step.in_flight(user);
    let shown = user.worker.sinks.exchanges.is_some().then(|| value::statement_shown(statement));
    let timeout_ns = options.timeout_ns.unwrap_or(on.timeout_ns);
    (IssuedStatement { step, on: on.clone(), shown, arrays: options.arrays, timeout_ns }, flight)
}

/// The work while it is in flight. A new connection first waits for the rate limit of connections.
pub(super) fn in_flight<T, F: Future<Output = T>, E: Fn(&T) -> u64>(
    on: &SqlHandle,
    mut flight: StepInFlight,
    work: F,
    ended: E,
) -> impl Future<Output = T> + use<T, F, E> {
    let (client, network): (Rc<SqlClient>, _) = (Rc::clone(&on.client), Rc::clone(&on.user.worker.network));
    async move {
        if network.limits_connections() && !client.is_connected() {
            network.admit().await;
        }
        flight.begin();
        let done = work.await;
        flight.end(ended(&done));
        done
    }
}
