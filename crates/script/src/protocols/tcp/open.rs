//! `user.tcp(…)`: connecting as a measured request.

use std::rc::Rc;

use loadstone_protocol::Failure;
use loadstone_protocol::raw::{RawConnection, RawTarget, RawTimes};
use rquickjs::{Class, Ctx, Value};

use super::connection::UserConnection;
use super::object::TcpObject;
use super::options::TcpOptions;
use crate::protocols::host_and_port;
use crate::protocols::options::text;
use crate::protocols::raw_exchange::StepEnd;
use crate::runtime::object::UserObject;
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;
use crate::runtime::verb::{Verb, VerbArguments};

/// `user.tcp(address, options)`.
pub(super) struct OpenTcp;

impl Verb for OpenTcp {
    const NAME: &'static str = "tcp";
    const ARGUMENTS: usize = 2;

    fn refused_name(_: &VerbArguments<'_, '_>) -> Option<String> {
        Some("TCP".to_owned())
    }

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        open(ctx, user, &arguments.get(0), &arguments.get(1))
    }
}

/// Connects. The promise resolves with the connection, even if connecting failed.
fn open<'js>(ctx: &Ctx<'js>, object: &UserObject, address: &Value<'js>, options: &Value<'js>) -> rquickjs::Result<Value<'js>> {
    let user = &object.state;
    user.check_running(ctx, "open every connection")?;
    let options = TcpOptions::read(ctx, options)?;
    let target = target(ctx, &text(ctx, address, "the address")?, options.tls)?;
    let shown: Rc<str> = format!("{}://{}", if target.tls { "tls" } else { "tcp" }, target.authority()).into();
    let name = options.name.unwrap_or_else(|| format!("TCP {}", target.authority()));
    let step = MeasuredStep::named(user, object.group(), &name).with_tags(user, &options.tags);
    step.note_place(ctx, user);
    let mut flight = step.in_flight(user);
    let timeout_ns = options.timeout_ns.unwrap_or(user.scenario.timeout_ns);
    let network = user.network();
    let work = async move {
        network.admit().await;
        let mut times = RawTimes::from(flight.begin());
        let opened = RawConnection::open(&network, &target, timeout_ns, &mut times).await;
        flight.end(times.ended);
        Box::new((times, opened))
    };
    let keep = options.keep;
    let promise = user.promise(ctx, work, move |ctx, user, connected| conclude(ctx, user, &step, shown, *connected, keep))?;
    Ok(promise.into_value())
}

/// From `host:port`, `tcp://host:port` or `tls://host:port`.
fn target(ctx: &Ctx<'_>, written: &str, tls: bool) -> rquickjs::Result<RawTarget> {
    let (scheme, host, port) = host_and_port::read(ctx, written)?;
    match scheme {
        None | Some("tcp") => Ok(RawTarget { host, port, tls }),
        Some("tls") => Ok(RawTarget { host, port, tls: true }),
        Some(other) => Err(host_and_port::unknown_scheme(ctx, written, other, "\"host:port\", or \"tls://host:port\"")),
    }
}

/// Records the result of connecting and creates the connection's object.
fn conclude<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    step: &MeasuredStep,
    address: Rc<str>,
    (times, opened): (RawTimes, Result<RawConnection, Failure>),
    kept: bool,
) -> rquickjs::Result<Value<'js>> {
    let end = StepEnd::of(&opened);
    end.record(user, step, &times);
    if user.worker.sinks.exchanges.is_some() {
        end.show(user, step, &times, ("CONNECT", address.to_string(), Vec::new()), opened.is_ok().then(Vec::new));
    }
    let connection = UserConnection::new(user, (step.name(user), step.series), address, opened, kept);
    Class::instance(ctx.clone(), TcpObject { connection }).map(Class::into_value)
}
