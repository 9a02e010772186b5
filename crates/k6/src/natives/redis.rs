//! `k6/experimental/redis`: sends commands to one server, each as a request of Loadstone. The class is in TypeScript.

use std::cell::OnceCell;
use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::{ErrorText, Nanos, Outcome, Sample, SeriesId, SeriesKind};
use loadstone_protocol::raw::{RawTarget, RawTimes};
use loadstone_protocol::redis::{RedisAddress, RedisExchange, RedisPart, RedisReplies, error_code};
use loadstone_protocol::{ClientTls, Failure};
use loadstone_script::{redis_text, redis_value};
use rquickjs::{Ctx, Exception, Function, Object, Value};

use super::client_tls::{client_tls, network_with};
use super::in_flight::InFlight;
use super::redis_cluster::ClusterCommand;
use super::redis_servers::{ClusterReads, RedisServing, ScriptRedisServers};
use super::trace::{ShownCommand, is_tracing, show_command};
use crate::numbered::Numbered;
use crate::operations::settlement;
use crate::turn::{Turn, VuState};

/// A client of the script. It connects with its first command, and stays connected.
struct ScriptRedis {
    /// The server, or nodes of a cluster.
    addresses: Vec<RedisAddress>,
    serving: RedisServing,
    tls: ClientTls,
    limit_ns: Nanos,
    servers: OnceCell<Rc<ScriptRedisServers>>,
}

type ScriptRedisClients = Rc<Numbered<ScriptRedis>>;

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    let clients = ScriptRedisClients::default();
    let all = Rc::clone(&clients);
    let create = move |ctx: Ctx<'js>, options: Object<'js>| Ok::<_, rquickjs::Error>(all.add(Rc::new(client_of(&ctx, &options)?)));
    native.set("redisClient", Function::new(ctx.clone(), create)?)?;
    let all = Rc::clone(&clients);
    let is_connected = move |number: u32| all.get(number).is_some_and(|client| client.servers.get().is_some());
    native.set("redisConnected", Function::new(ctx.clone(), is_connected)?)?;
    let all = Rc::clone(&clients);
    let send = move |ctx: Ctx<'js>, id: u32, number: u32, arguments: Vec<String>| send(&ctx, &all, id, number, &arguments);
    native.set("redisSend", Function::new(ctx.clone(), send)?)
}

fn client_of<'js>(ctx: &Ctx<'js>, options: &Object<'js>) -> rquickjs::Result<ScriptRedis> {
    let nodes: Vec<Object<'js>> = options.get("nodes")?;
    let addresses = nodes.iter().map(|node| address_of(ctx, node)).collect::<Result<_, _>>()?;
    let tls = client_tls(nodes.first().map(|node| node.get("tlsOptions")).transpose()?.flatten())?;
    let limit_ns = (options.get::<_, f64>("timeout")? * 1e6) as Nanos;
    Ok(ScriptRedis { addresses, serving: serving_of(options)?, tls, limit_ns, servers: OnceCell::new() })
}

fn serving_of(options: &Object<'_>) -> rquickjs::Result<RedisServing> {
    if let Some(primary) = options.get("primary")? {
        return Ok(RedisServing::Sentinels {
            primary,
            username: options.get("sentinelUsername")?,
            password: options.get("sentinelPassword")?,
        });
    }
    let Some(redirects_max) = options.get("redirects")? else { return Ok(RedisServing::One) };
    let reads = match options.get::<_, String>("reads")?.as_str() {
        "closest" => ClusterReads::Closest,
        "random" => ClusterReads::Random,
        "replica" => ClusterReads::Replica,
        _ => ClusterReads::Primary,
    };
    Ok(RedisServing::Cluster { redirects_max, reads })
}

/// Reads a URL, or the parts of an address.
fn address_of<'js>(ctx: &Ctx<'js>, options: &Object<'js>) -> rquickjs::Result<RedisAddress> {
    let url: Option<String> = options.get("url")?;
    Ok(match url {
        Some(url) => RedisAddress::parse(&url).map_err(|problem| {
            Exception::throw_message(ctx, &format!("invalid options; reason: the URL of the Redis server is not valid: {problem}"))
        })?,
        None => RedisAddress {
            target: RawTarget { host: options.get("host")?, port: options.get("port")?, tls: options.get("tls")? },
            username: options.get("username")?,
            password: options.get("password")?,
            database: options.get("database")?,
            resp3: false,
            reads_replicas: false,
        },
    })
}

impl ScriptRedis {
    /// The servers, from the first command on.
    fn servers(&self, ctx: &Ctx<'_>, turn: &Turn) -> rquickjs::Result<Rc<ScriptRedisServers>> {
        if let Some(servers) = self.servers.get() {
            return Ok(Rc::clone(servers));
        }
        let worker = &turn.vu().worker;
        let of_sentinels = match &self.serving {
            RedisServing::Sentinels { password, .. } => password.as_ref(),
            _ => None,
        };
        self.addresses
            .iter()
            .filter_map(|address| address.password.as_ref())
            .chain(of_sentinels)
            .for_each(|password| worker.test.plan.secrets.learn_later(password));
        let network = network_with(ctx, &worker.network, &self.tls)?;
        let limits = (self.limit_ns, worker.test.plan.options.body_bytes_max);
        let servers = ScriptRedisServers::new(network, self.addresses.clone(), self.serving.clone(), limits);
        Ok(Rc::clone(self.servers.get_or_init(|| Rc::new(servers))))
    }
}

/// Sends a command. `__k6.complete(id, { value } or { error })` settles its promise.
fn send(ctx: &Ctx<'_>, clients: &ScriptRedisClients, id: u32, number: u32, arguments: &[String]) -> rquickjs::Result<()> {
    let turn = Turn::running(ctx, "a Redis client")?;
    let script_client = clients.get(number).ok_or_else(|| Exception::throw_message(ctx, "this is not a Redis client"))?;
    let servers = script_client.servers(ctx, &turn)?;
    let name = format!("REDIS {}", arguments.first().map(|name| name.to_ascii_uppercase()).unwrap_or_default());
    let (scenario, group) = (turn.scenario_id(), turn.group());
    let series = turn.vu().worker.series(&mut turn.recorder(), SeriesKind::Request, scenario, &group, &name);
    let shown = is_tracing(turn.vu()).then(|| shown(arguments));
    let command = RedisCommand { servers, command: ClusterCommand::of(arguments), name, shown, series, due: turn.take_due() };
    let work = command.perform(turn.shared());
    turn.vu().operations().begin(async move {
        let answer = work.await;
        (id, settlement(move |ctx| settled(ctx, &answer)))
    });
    Ok(())
}

/// A command, ready to be sent.
struct RedisCommand {
    servers: Rc<ScriptRedisServers>,
    command: ClusterCommand,
    /// The name that it is recorded under.
    name: String,
    /// Its text, if `try` shows it.
    shown: Option<String>,
    series: SeriesId,
    due: Option<Nanos>,
}

impl RedisCommand {
    async fn perform(self, vu: Rc<VuState>) -> Result<Bytes, Failure> {
        let flight = InFlight::begin(Rc::clone(&vu), self.series, self.due);
        let (server, RedisExchange { times, result }) = self.servers.exchange(&self.command).await;
        flight.end(times.ended);
        self.record(&vu, server.address(), &times, &result);
        result
    }

    fn record(&self, vu: &VuState, address: &RedisAddress, times: &RawTimes, result: &Result<Bytes, Failure>) {
        let (outcome, error) = match result {
            Err(failure) => (failure.outcome, Some(failure.message.clone())),
            Ok(reply) => match refusal(reply) {
                // The rest of an error differs from case to case.
                Some(error) => (Outcome::Status, Some(format!("error {}", error_code(error)))),
                None => (Outcome::Passed, None),
            },
        };
        let sample = Sample {
            scheduled: self.due.unwrap_or(times.started),
            started: times.started,
            ended: times.ended,
            phases: times.phases,
            outcome,
            status: 0,
            bytes_sent: times.bytes_sent,
            bytes_received: times.bytes_received,
            retried: 0,
            trace: None,
        };
        if let Some(command) = &self.shown {
            let (address, reply) = (address.shown(), result.as_ref().ok().map(|reply| redis_text(reply)));
            let shown = ShownCommand { name: &self.name, address, command, reply, outcome, error: error.as_deref() };
            show_command(vu, shown, times);
        }
        vu.note_request(result.is_ok());
        let mut recorder = vu.worker.recorder_at_end();
        recorder.record(self.series, &sample);
        if let Some(message) = &error {
            vu.fail_groups();
            recorder.failed(self.series, &sample, ErrorText { message, cause: None });
        }
        let tag = vu.tag_of(&[], &[]);
        for (name, value) in [("data_sent", times.bytes_sent), ("data_received", times.bytes_received)] {
            vu.worker.record_own(&mut recorder, name, value as f64, &tag);
        }
    }
}

/// The text of a command, without credentials.
fn shown(arguments: &[String]) -> String {
    match arguments {
        [name, ..] if ["AUTH", "HELLO"].contains(&&*name.to_ascii_uppercase()) => format!("{name} ***"),
        words => words.join(" "),
    }
}

/// The server's error, if it refused the command.
fn refusal(reply: &[u8]) -> Option<&[u8]> {
    match RedisReplies::of(reply).next() {
        Some(RedisPart::Error(error)) => Some(error),
        _ => None,
    }
}

fn settled<'js>(ctx: &Ctx<'js>, answer: &Result<Bytes, Failure>) -> rquickjs::Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    match answer {
        Err(failure) => object.set("error", failure.message.as_str())?,
        Ok(reply) => match refusal(reply) {
            Some(error) => object.set("error", String::from_utf8_lossy(error).into_owned())?,
            None => object.set("value", redis_value(ctx, reply)?)?,
        },
    }
    Ok(object.into_value())
}
