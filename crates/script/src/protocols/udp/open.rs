//! `user.udp(…)`: opens a socket. This sends nothing and is not a request.

use std::rc::Rc;

use loadstone_protocol::Failure;
use loadstone_protocol::udp::DatagramSocket;
use rquickjs::{Class, Ctx, Value};

use super::connection::{UdpConnection, UserDatagrams, read};
use super::object::UdpObject;
use super::options::UdpOptions;
use crate::protocols::host_and_port;
use crate::protocols::messages::channel::{ChannelConnection, ChannelEnd, ChannelIdentity, MessageChannel};
use crate::protocols::options::text;
use crate::runtime::object::UserObject;
use crate::runtime::step::MeasuredStep;
use crate::runtime::verb::{Verb, VerbArguments};

/// `user.udp(address, options)`.
pub(super) struct OpenUdp;

impl Verb for OpenUdp {
    const NAME: &'static str = "udp";
    const ARGUMENTS: usize = 2;

    fn refused_name(_: &VerbArguments<'_, '_>) -> Option<String> {
        Some("UDP".to_owned())
    }

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        open(ctx, user, &arguments.get(0), &arguments.get(1))
    }
}

/// Opens a socket. The promise resolves with it, even if opening failed.
fn open<'js>(ctx: &Ctx<'js>, object: &UserObject, address: &Value<'js>, options: &Value<'js>) -> rquickjs::Result<Value<'js>> {
    let user = &object.state;
    user.check_running(ctx, "open every socket")?;
    let options = UdpOptions::read(ctx, options)?;
    let written = text(ctx, address, "the address")?;
    let (scheme, host, port) = host_and_port::read(ctx, &written)?;
    if let Some(other) = scheme.filter(|scheme| *scheme != "udp") {
        return Err(host_and_port::unknown_scheme(ctx, &written, other, "\"host:port\""));
    }
    let name = options.name.clone().unwrap_or_else(|| format!("UDP {host}:{port}"));
    let series = MeasuredStep::series(user, object.group().as_ref(), &name);
    let identity =
        ChannelIdentity { user: Rc::clone(user), name: name.into(), series, drops_unread: options.drops_unread, is_kept: options.keep };
    let (network, timeout_ns) = (Rc::clone(&user.worker.network), options.timeout_ns.unwrap_or(user.scenario.timeout_ns));
    let work = async move { DatagramSocket::open(&network, &host, port, timeout_ns).await };
    let promise = user.promise(ctx, work, move |ctx, _, opened| conclude(ctx, identity, opened))?;
    Ok(promise.into_value())
}

/// Creates the object. A socket that could not be opened is recorded as an error under its name.
fn conclude<'js>(ctx: &Ctx<'js>, identity: ChannelIdentity, opened: Result<DatagramSocket, Failure>) -> rquickjs::Result<Value<'js>> {
    let socket = opened.map(Rc::new);
    let weak = socket.as_ref().map(Rc::downgrade).unwrap_or_default();
    let channel = match socket {
        Ok(socket) => {
            let connection: Rc<dyn ChannelConnection> = Rc::new(UdpConnection);
            let channel = MessageChannel::new(identity, Ok(connection));
            channel.read_with(read(Rc::clone(&channel), socket));
            channel
        }
        Err(failure) => {
            let end = ChannelEnd::broken(failure.outcome, failure.message);
            let channel = MessageChannel::new(identity, Err(end.clone()));
            channel.count_loss(end.outcome, &end.message);
            channel
        }
    };
    Class::instance(ctx.clone(), UdpObject { socket: UserDatagrams { channel, socket: weak } }).map(Class::into_value)
}
