//! Sends the request of a call. Its promise resolves with the response.

use std::rc::Rc;

use loadstone_protocol::http::{Hops, Request};
use rquickjs::{Ctx, Value};

use super::build::{build, label, url_text};
use super::calls::{CallLookup, PreparedCall};
use super::conclude::{ExpectedResponse, IssuedRequest, SentExchange, conclude};
use super::methods::RequestMethod;
use super::name;
use super::options::RequestOptions;
use super::retry::{RetriedRequest, retry};
use super::state::{HttpRealm, HttpScenario, HttpUser};
use crate::protocols::options::wrong;
use crate::runtime::group::Group;
use crate::runtime::object::UserObject;
use crate::runtime::promise::AwaitedBy;
use crate::runtime::step::{MeasuredStep, StepInFlight};
use crate::runtime::user::UserState;

/// Sends a request. The promise resolves with the response, even if the request failed.
pub(super) fn send<'js>(
    ctx: &Ctx<'js>,
    object: &UserObject,
    method: RequestMethod,
    url: &Value<'js>,
    options: &Value<'js>,
    awaited_by: AwaitedBy,
) -> rquickjs::Result<Value<'js>> {
    let user = &object.state;
    user.check_running(ctx, "await every request")?;
    let options = Some(options).filter(|value| !value.is_undefined());
    let realm = user.realm(ctx)?;
    let http: &HttpRealm = realm.parts.get();
    let policy = HttpScenario::of(user).retry.as_ref();
    let found = match &method {
        RequestMethod::Known(method) if policy.is_none() => http.calls.look(ctx, realm.realm.constants(), user, *method, url, options)?,
        RequestMethod::Known(_) | RequestMethod::Other(_) => CallLookup::Unknown,
    };
    if let CallLookup::Found(prepared) = found {
        return send_prepared(ctx, user, object.group(), prepared, awaited_by);
    }
    let method = match method {
        RequestMethod::Known(method) => Rc::clone(&http.methods[usize::from(method)]),
        RequestMethod::Other(method) => method,
    };
    let options = match options {
        None => RequestOptions::default(),
        Some(value) => {
            let options = value.as_object().ok_or_else(|| wrong(ctx, "a request: expected an object of options"))?;
            RequestOptions::read(ctx, user, options)?
        }
    };
    let written = url_text(ctx, url)?;
    let (mut request, redirects) = build(ctx, user, method, &written, &options)?;
    if let CallLookup::SeenBefore(key, status) = found {
        let prepared = Rc::new(prepare(ctx, user, request, redirects, options, status)?);
        http.calls.keep(key, &prepared);
        return send_prepared(ctx, user, object.group(), prepared, awaited_by);
    }
    let group = object.group();
    let name = options.name.unwrap_or_else(|| name::of_request(&request.method, &request.path));
    label(user, &mut request, &name);
    let step = MeasuredStep::named(user, group, &name).with_tags(user, &options.tags);
    step.note_place(ctx, user);
    let expected = options.expect.map_or(ExpectedResponse::Status(0), ExpectedResponse::Full);
    if let Some(policy) = options.retry.unwrap_or_else(|| policy.cloned()) {
        let (sender, without_cookies) = (Rc::clone(user), options.without_cookies);
        let attempt = async move |step: &MeasuredStep| {
            Box::new(perform(step.in_flight(&sender), HttpUser::of(&sender), request.clone(), redirects, without_cookies).await)
        };
        let work = retry(Rc::clone(user), step, expected, (policy, options.tags), attempt);
        let promise = user.promise(ctx, work, |ctx, user, RetriedRequest { step, expected, hops, attempts }| {
            conclude(ctx, user, IssuedRequest { step, expected, prepared: None, attempts }, SentExchange::Hops(hops))
        })?;
        return Ok(promise.into_value());
    }
    let work = perform(step.in_flight(user), HttpUser::of(user), request, redirects, options.without_cookies);
    let work = async move { SentExchange::Hops(Box::new(work.await)) };
    let issued = IssuedRequest { step, expected, prepared: None, attempts: 1 };
    let promise = user.promise(ctx, work, move |ctx, user, sent| conclude(ctx, user, issued, sent))?;
    Ok(promise.into_value())
}

fn send_prepared<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    group: Option<Rc<Group>>,
    prepared: Rc<PreparedCall>,
    awaited_by: AwaitedBy,
) -> rquickjs::Result<Value<'js>> {
    let step = match group {
        None => MeasuredStep::of_series(user, None, prepared.series),
        Some(group) => MeasuredStep::named(user, Some(group), &prepared.name),
    };
    let step = step.with_tags(user, &prepared.tags);
    let work = perform_prepared(step.in_flight(user), HttpUser::of(user), Rc::clone(&prepared));
    let issued = IssuedRequest { step, expected: ExpectedResponse::Status(prepared.status), prepared: Some(prepared), attempts: 1 };
    user.awaited(ctx, awaited_by, work, move |ctx, user, sent| conclude(ctx, user, issued, sent))
}

fn prepare(
    ctx: &Ctx<'_>,
    user: &UserState,
    mut request: Request,
    redirects: u8,
    options: RequestOptions,
    status: u16,
) -> rquickjs::Result<PreparedCall> {
    let name = options.name.unwrap_or_else(|| name::of_request(&request.method, &request.path));
    label(user, &mut request, &name);
    let series = MeasuredStep::series(user, None, &name);
    let wire = HttpUser::of(user).session.prepare(request).map_err(|failure| wrong(ctx, &failure.message))?;
    Ok(PreparedCall { wire, redirects, series, name, status, tags: options.tags })
}

async fn perform_prepared(mut flight: StepInFlight, http: Rc<HttpUser>, prepared: Rc<PreparedCall>) -> SentExchange {
    let session = &http.session;
    if flight.user().worker.network.limits_connections() {
        // A request that needs a new connection begins when the rate limit of connections permits it.
        Box::pin(session.client().admit(prepared.wire.request())).await;
    }
    let began = flight.begin();
    let hops = if session.has_cookies() {
        Box::pin(session.send_at(prepared.wire.request().clone(), prepared.redirects, began)).await
    } else {
        let exchange = session.client().send_prepared_at(&prepared.wire, began).await;
        if session.is_last(&exchange, prepared.redirects) {
            flight.end(exchange.ended);
            return SentExchange::Prepared(Box::new(exchange));
        }
        Box::pin(session.follow_prepared(&prepared.wire, exchange, prepared.redirects)).await
    };
    flight.end(hops.last.exchange.ended);
    SentExchange::Hops(Box::new(hops))
}

async fn perform(mut flight: StepInFlight, http: Rc<HttpUser>, request: Request, redirects: u8, without_cookies: bool) -> Hops {
    let session = &http.session;
    if flight.user().worker.network.limits_connections() {
        Box::pin(session.client().admit(&request)).await;
    }
    let began = flight.begin();
    let hops = match without_cookies {
        true => session.send_without_cookies_at(request, redirects, began).await,
        false => session.send_at(request, redirects, began).await,
    };
    flight.end(hops.last.exchange.ended);
    hops
}
