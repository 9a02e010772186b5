//! `command(…)` and `pipeline(…)`: the commands of one request.

use std::rc::Rc;

use loadstone_protocol::redis::{write_argument, write_command};
use rquickjs::{Array, Coerced, Ctx, FromJs, Promise, Value};

use super::conclude::{IssuedCommands, conclude};
use super::options::CommandOptions;
use super::state::RedisHandle;
use crate::globals::bytes::bytes_of;
use crate::protocols::http::state::HttpScenario;
use crate::protocols::messages::receive::AWAIT;
use crate::protocols::options::wrong;
use crate::runtime::refusal::own_name;
use crate::runtime::step::MeasuredStep;

/// Commands whose arguments are credentials, which are not shown.
const SECRET: [&str; 2] = ["AUTH", "HELLO"];

/// Commands as sent and, if the exchange is shown, as text.
#[derive(Default)]
struct Commands {
    wire: Vec<u8>,
    shown: Option<String>,
    /// Number of commands.
    count: usize,
    /// Of the first command.
    name: String,
}

impl Commands {
    fn add<'js>(&mut self, ctx: &Ctx<'js>, arguments: &[Value<'js>]) -> rquickjs::Result<()> {
        let named = arguments
            .first()
            .and_then(|name| name.as_string())
            .ok_or_else(|| wrong(ctx, "a command begins with its name, such as \"GET\""))?;
        let name = named.to_string()?.to_ascii_uppercase();
        write_command(&mut self.wire, arguments.len());
        for (place, argument) in arguments.iter().enumerate() {
            let from = self.wire.len();
            self.argument(ctx, argument)?;
            let Some(shown) = &mut self.shown else { continue };
            shown.push_str(if place > 0 {
                " "
            } else if self.count > 0 {
                "\n"
            } else {
                ""
            });
            if place > 0 && SECRET.contains(&&*name) {
                shown.push_str("***");
            } else {
                // Between its length and its last line end.
                let text = self.wire[from..].splitn(2, |byte| *byte == b'\n').nth(1).and_then(|text| text.strip_suffix(b"\r\n"));
                shown.push_str(&String::from_utf8_lossy(text.unwrap_or_default()));
            }
        }
        if self.count == 0 {
            self.name = name;
        }
        self.count += 1;
        Ok(())
    }

    fn argument<'js>(&mut self, ctx: &Ctx<'js>, argument: &Value<'js>) -> rquickjs::Result<()> {
        if let Some(bytes) = bytes_of(argument) {
            write_argument(&mut self.wire, &bytes);
        } else if argument.is_number() || argument.type_of() == rquickjs::Type::BigInt {
            write_argument(&mut self.wire, Coerced::<String>::from_js(ctx, argument.clone())?.0.as_bytes());
        } else {
            let problem = format!("arguments of a command are strings, numbers or bytes (Uint8Array), not {}", argument.type_name());
            return Err(wrong(ctx, &problem));
        }
        Ok(())
    }
}

/// `redis.command("SET", "key", "value", { name })`.
pub(super) fn command<'js>(ctx: &Ctx<'js>, on: &RedisHandle, values: &[Value<'js>]) -> rquickjs::Result<Promise<'js>> {
    on.user.check_running(ctx, AWAIT)?;
    let (options, arguments) = match values.split_last() {
        Some((last, before)) if last.is_undefined() => (None, before),
        Some((last, before)) if last.is_object() && bytes_of(last).is_none() && !last.is_array() => (Some(last), before),
        _ => (None, values),
    };
    let (commands, options) = refusing(ctx, on, options, "command", || {
        let options = CommandOptions::read(ctx, options)?;
        let mut commands = empty(on);
        commands.add(ctx, arguments)?;
        Ok((commands, options))
    })?;
    issue(ctx, on, commands, options, true)
}

/// `redis.pipeline([["GET", "a"], ["GET", "b"]], { name })`.
pub(super) fn pipeline<'js>(
    ctx: &Ctx<'js>,
    on: &RedisHandle,
    list: &Value<'js>,
    options: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    on.user.check_running(ctx, AWAIT)?;
    let (mut commands, options) =
        refusing(ctx, on, options, "pipeline", || Ok((pipelined(ctx, on, list)?, CommandOptions::read(ctx, options)?)))?;
    commands.name = "pipeline".to_owned();
    issue(ctx, on, commands, options, false)
}

/// Reads the arguments of a call. If they cannot be sent, it is recorded as refused.
fn refusing<'js, T>(
    ctx: &Ctx<'js>,
    on: &RedisHandle,
    options: Option<&Value<'js>>,
    default_name: &str,
    read: impl FnOnce() -> rquickjs::Result<T>,
) -> rquickjs::Result<T> {
    let (user, name) = (&on.user, || own_name(options).unwrap_or_else(|| default_name.to_owned()));
    user.refusing(ctx, || MeasuredStep::named(user, on.group.clone().or_else(|| user.group()), &name()), read)
}

fn pipelined<'js>(ctx: &Ctx<'js>, on: &RedisHandle, list: &Value<'js>) -> rquickjs::Result<Commands> {
    let not_commands = || wrong(ctx, "a pipeline is a list of commands, such as [[\"GET\", \"a\"], [\"GET\", \"b\"]]");
    let list: &Array<'js> = list.as_array().filter(|list| !list.is_empty()).ok_or_else(not_commands)?;
    let mut commands = empty(on);
    for item in list.iter::<Value<'js>>() {
        let item = item?;
        let arguments = item.as_array().ok_or_else(not_commands)?.iter().collect::<rquickjs::Result<Vec<Value<'js>>>>()?;
        commands.add(ctx, &arguments)?;
    }
    Ok(commands)
}

fn empty(on: &RedisHandle) -> Commands {
    Commands { shown: on.user.worker.sinks.exchanges.is_some().then(String::new), ..Commands::default() }
}

fn issue<'js>(
    ctx: &Ctx<'js>,
    on: &RedisHandle,
    commands: Commands,
    options: CommandOptions,
    is_single: bool,
) -> rquickjs::Result<Promise<'js>> {
    let user = &on.user;
    let Commands { wire, shown, count, name } = commands;
    let group = on.group.clone().or_else(|| user.group());
    let step = MeasuredStep::named(user, group, options.name.as_deref().unwrap_or(&name)).with_tags(user, &options.tags);
    step.note_place(ctx, user);
    let mut flight = step.in_flight(user);
    let timeout_ns = options.timeout_ns.unwrap_or(on.timeout_ns);
    let bytes_max = HttpScenario::of(user).body_bytes_max;
    let client = Rc::clone(&on.client);
    let network = Rc::clone(&user.worker.network);
    let issued = IssuedCommands { step, client: Rc::clone(&client), shown, as_bytes: options.as_bytes, is_single };
    let work = async move {
        if network.limits_connections() && !client.is_connected() {
            network.admit().await;
        }
        flight.begin();
        let exchange = client.exchange(&wire, count, timeout_ns, bytes_max).await;
        flight.end(exchange.times.ended);
        Box::new(exchange)
    };
    user.promise(ctx, work, move |ctx, user, exchange| conclude(ctx, user, issued, *exchange))
}
