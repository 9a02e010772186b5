//! A script's steps on a TCP connection: writing, and exchanges that end with an answer.

use std::rc::Rc;

use bytes::Bytes;
use loadstone_protocol::Failure;
use loadstone_protocol::raw::{RawTimes, ReadUntil};
use loadstone_protocol::ws::Payload;
use rquickjs::{Class, Ctx, Exception, Promise, Value};

use super::connection::{Question, ReadPermit, UserConnection};
use super::options::TcpReadOptions;
use crate::globals::bytes::bytes_of;
use crate::protocols::http::state::HttpScenario;
use crate::protocols::messages::inbox::ArrivedMessage;
use crate::protocols::messages::message::MessageObject;
use crate::protocols::messages::receive::AWAIT;
use crate::protocols::raw_exchange::StepEnd;
use crate::runtime::refusal::own_name;
use crate::runtime::step::{MeasuredStep, StepInFlight};
use crate::runtime::user::UserState;

fn data_of(ctx: &Ctx<'_>, data: &Value<'_>) -> rquickjs::Result<Vec<u8>> {
    bytes_of(data).ok_or_else(|| Exception::throw_type(ctx, "expected the data to send as a string or bytes (Uint8Array)"))
}

/// `connection.write(data)`: the answer's time starts here.
pub(super) fn write<'js>(ctx: &Ctx<'js>, to: &Rc<UserConnection>, data: &Value<'js>) -> rquickjs::Result<Promise<'js>> {
    let user = &to.user;
    user.check_running(ctx, AWAIT)?;
    let data = user.refusing(ctx, || MeasuredStep::of_series(user, user.group(), to.series), || data_of(ctx, data))?;
    let (to, timeout_ns) = (Rc::clone(to), user.scenario.timeout_ns);
    let written = Rc::clone(&to);
    let work = async move {
        let mut times = RawTimes::from(to.user.now());
        let due = times.started.saturating_add(timeout_ns);
        let result = match to.connection() {
            Ok(connection) => connection.write(&data, due, &mut times).await,
            Err(failure) => Err(failure),
        };
        if result.is_ok() {
            note(&to, &times, &data);
        }
        result
    };
    user.promise(ctx, work, move |ctx, user, result| {
        if let Err(failure) = result {
            written.lose(&failure);
            MeasuredStep::record_unnamed(user, written.series, user.now(), &failure);
        }
        Ok(Value::new_undefined(ctx.clone()))
    })
}

/// Adds written bytes to the request that the next read answers.
fn note(to: &UserConnection, times: &RawTimes, data: &[u8]) {
    let mut question = to.question.borrow_mut();
    let question = question.get_or_insert_with(|| Question { started: times.started, sent: 0, bytes: 0, shown: Vec::new() });
    question.sent = times.sent;
    question.bytes += times.bytes_sent;
    if to.user.worker.sinks.exchanges.is_some() {
        question.shown.extend_from_slice(data);
    }
}

/// `connection.read({ until, name, timeout, tags })`.
pub(super) fn read<'js>(ctx: &Ctx<'js>, from: &Rc<UserConnection>, options: Option<&Value<'js>>) -> rquickjs::Result<Promise<'js>> {
    from.user.check_running(ctx, AWAIT)?;
    exchange(ctx, from, None, "read", TcpReadOptions::read(ctx, options)?)
}

/// `connection.request(data, { until, name, timeout, tags })`.
pub(super) fn request<'js>(
    ctx: &Ctx<'js>,
    with: &Rc<UserConnection>,
    data: &Value<'js>,
    options: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    with.user.check_running(ctx, AWAIT)?;
    let user = &with.user;
    let name = || own_name(options).unwrap_or_else(|| format!("{} request", with.name));
    let step = || MeasuredStep::named(user, user.group(), &name());
    let (data, options) = user.refusing(ctx, step, || Ok((data_of(ctx, data)?, TcpReadOptions::read(ctx, options)?)))?;
    exchange(ctx, with, Some(data), "request", options)
}

/// The result of an exchange.
struct Exchanged {
    times: RawTimes,
    result: Result<Bytes, Failure>,
    /// The bytes sent, if the exchange is shown.
    question: Vec<u8>,
}

fn exchange<'js>(
    ctx: &Ctx<'js>,
    with: &Rc<UserConnection>,
    data: Option<Vec<u8>>,
    what: &str,
    options: TcpReadOptions,
) -> rquickjs::Result<Promise<'js>> {
    let user = &with.user;
    let busy = || Exception::throw_message(ctx, "another read of this connection is in progress: await it first");
    let permit = with.begin_reading().ok_or_else(busy)?;
    let name = options.name.unwrap_or_else(|| format!("{} {what}", with.name));
    let step = MeasuredStep::named(user, user.group(), &name).with_tags(user, &options.tags);
    step.note_place(ctx, user);
    let timeout_ns = options.timeout_ns.unwrap_or(user.scenario.timeout_ns);
    let work = perform(step.in_flight(user), Rc::clone(with), permit, data, options.until, timeout_ns);
    let with = Rc::clone(with);
    user.promise(ctx, work, move |ctx, user, exchanged| conclude(ctx, user, &with, &step, *exchanged))
}

async fn perform(
    mut flight: StepInFlight,
    with: Rc<UserConnection>,
    permit: ReadPermit,
    data: Option<Vec<u8>>,
    until: ReadUntil,
    timeout_ns: u64,
) -> Box<Exchanged> {
    let now = flight.begin();
    let due = now.saturating_add(timeout_ns);
    let earlier = with.question.take();
    let (mut times, mut question) = match earlier.filter(|_| data.is_none()) {
        Some(earlier) => (RawTimes { sent: earlier.sent, bytes_sent: earlier.bytes, ..RawTimes::from(earlier.started) }, earlier.shown),
        None => (RawTimes::from(now), Vec::new()),
    };
    let bytes_max = HttpScenario::of(&with.user).body_bytes_max;
    let exchanging = async {
        let connection = with.connection()?;
        if let Some(data) = &data {
            connection.write(data, due, &mut times).await?;
        }
        connection.read(&until, bytes_max, due, &mut times).await
    };
    let result = exchanging.await;
    if times.ended == 0 {
        times.ended = with.user.now();
    }
    flight.end(times.ended);
    drop(permit);
    if let Err(failure) = &result {
        with.lose(failure);
    }
    if let Some(data) = data.filter(|_| with.user.worker.sinks.exchanges.is_some()) {
        question = data;
    }
    Box::new(Exchanged { times, result, question })
}

/// Records an exchange and creates the object of its answer.
fn conclude<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    with: &UserConnection,
    step: &MeasuredStep,
    exchanged: Exchanged,
) -> rquickjs::Result<Value<'js>> {
    let Exchanged { times, result, question } = exchanged;
    let end = StepEnd::of(&result);
    end.record(user, step, &times);
    if user.worker.sinks.exchanges.is_some() {
        let method = if question.is_empty() { "READ" } else { "TCP" };
        let answer = result.as_ref().ok().map(|bytes| bytes.to_vec());
        end.show(user, step, &times, (method, with.address.to_string(), question), answer);
    }
    let content = result.map(|bytes| ArrivedMessage { payload: Payload::Binary(bytes), at: times.ended, labels: None });
    let message = MessageObject::new(&user.worker, &step.name(user), content.map_err(|failure| failure.message));
    Class::instance(ctx.clone(), message).map(Class::into_value)
}
