//! The servers of a Redis client: one, a cluster, which names the nodes of each key, or the primary that sentinels name.
//!
//! Read [`ScriptRedisServers::exchange`]. Which node reads is as in go-redis, the client of k6.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;

use loadstone_metrics::{Nanos, Outcome};
use loadstone_protocol::raw::RawTimes;
use loadstone_protocol::redis::{RedisAddress, RedisClient, RedisExchange, RedisPart, RedisReplies, error_code};
use loadstone_protocol::{Failure, Network};

use super::redis_cluster::{ClusterCommand, ClusterRedirection, RedisNode, SlotRange, primary_in, reading_commands, slots_in, wire};

/// The reply to `ASKING`.
const OK: &[u8] = b"+OK\r\n";
/// Limit on the nodes of a cluster.
const NODES_MAX: usize = 1_000;
/// Pings that measure the distance of a node.
const PINGS: usize = 3;

/// Where the commands of a client go.
#[derive(Debug, Clone)]
pub(super) enum RedisServing {
    One,
    Cluster {
        /// How many redirections a command follows.
        redirects_max: u32,
        reads: ClusterReads,
    },
    /// The addresses are those of sentinels, with these credentials.
    Sentinels {
        primary: String,
        username: String,
        password: Option<String>,
    },
}

/// Which node of a key gets the commands that only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClusterReads {
    Primary,
    /// A replica, if there is one.
    Replica,
    /// The one with the shortest round trip.
    Closest,
    Random,
}

/// The servers of one client, each with its connection.
pub(super) struct ScriptRedisServers {
    network: Rc<Network>,
    addresses: Vec<RedisAddress>,
    serving: RedisServing,
    limit_ns: Nanos,
    bytes_max: u64,
    nodes: RefCell<Vec<Rc<RedisClient>>>,
    /// A later one has priority.
    slots: RefCell<Vec<SlotRange>>,
    knows_slots: Cell<bool>,
    /// Commands that only read.
    reading: RefCell<HashSet<String>>,
    /// Round trips, shortest of some. Nanoseconds.
    distances: RefCell<Vec<(RedisNode, Nanos)>>,
    /// Named by a sentinel.
    primary: RefCell<Option<RedisNode>>,
    random: (RandomState, Cell<u64>),
}

impl ScriptRedisServers {
    pub(super) fn new(
        network: Rc<Network>,
        mut addresses: Vec<RedisAddress>,
        serving: RedisServing,
        (limit_ns, bytes_max): (Nanos, u64),
    ) -> Self {
        if let RedisServing::Cluster { reads, .. } = &serving {
            addresses.iter_mut().for_each(|address| address.reads_replicas = *reads != ClusterReads::Primary);
        }
        let (nodes, slots, knows_slots) = (RefCell::default(), RefCell::default(), Cell::default());
        let (reading, distances, primary, random) = (RefCell::default(), RefCell::default(), RefCell::default(), Default::default());
        Self { network, addresses, serving, limit_ns, bytes_max, nodes, slots, knows_slots, reading, distances, primary, random }
    }

    /// Sends a command, and follows redirections. Returns the server that answered.
    pub(super) async fn exchange(&self, command: &ClusterCommand) -> (Rc<RedisClient>, RedisExchange) {
        match &self.serving {
            RedisServing::One => {
                let server = self.named(0);
                let exchange = self.send(&server, &command.wire).await;
                (server, exchange)
            }
            RedisServing::Cluster { redirects_max, reads } => self.in_cluster(command, *redirects_max, *reads).await,
            RedisServing::Sentinels { primary, username, password } => self.by_sentinels(command, (primary, username, password)).await,
        }
    }

    async fn send(&self, server: &RedisClient, commands: &[u8]) -> RedisExchange {
        server.exchange(commands, 1, self.limit_ns, self.bytes_max).await
    }

    async fn in_cluster(&self, command: &ClusterCommand, redirects_max: u32, reads: ClusterReads) -> (Rc<RedisClient>, RedisExchange) {
        if !self.knows_slots.get() {
            self.learn(reads).await;
        }
        let mut server = self.server_of(command, reads).await;
        let mut exchange = self.send(&server, &command.wire).await;
        for _ in 0..redirects_max {
            let Some(ClusterRedirection { is_move, slot, node }) = ClusterRedirection::of(&exchange.result, server.address()) else {
                break;
            };
            let before = exchange.times;
            server = self.node(&node);
            exchange = if is_move {
                self.slots.borrow_mut().retain(|range| (range.first, range.last) != (slot, slot));
                self.slots.borrow_mut().push(SlotRange { first: slot, last: slot, nodes: vec![node] });
                self.send(&server, &command.wire).await
            } else {
                let commands = [wire(&["ASKING"]), command.wire.clone()].concat();
                let RedisExchange { times, result } = server.exchange(&commands, 2, self.limit_ns, self.bytes_max).await;
                let result = result.map(|replies| if replies.starts_with(OK) { replies.slice(OK.len()..) } else { replies });
                RedisExchange { times, result }
            };
            exchange.times = together(&before, &exchange.times);
        }
        (server, exchange)
    }

    /// Asks the first node that answers for the nodes of all slots, and for the commands that only read.
    async fn learn(&self, reads: ClusterReads) {
        for index in 0..self.addresses.len() {
            let node = self.named(index);
            let reply = self.send(&node, &wire(&["CLUSTER", "SLOTS"])).await.result;
            let Some(slots) = reply.ok().and_then(|reply| slots_in(&reply, node.address())) else { continue };
            *self.slots.borrow_mut() = slots;
            self.knows_slots.set(true);
            if reads != ClusterReads::Primary
                && let Ok(reply) = self.send(&node, &wire(&["COMMAND"])).await.result
            {
                *self.reading.borrow_mut() = reading_commands(&reply);
            }
            return;
        }
    }

    async fn server_of(&self, command: &ClusterCommand, reads: ClusterReads) -> Rc<RedisClient> {
        let nodes = command.slot.and_then(|slot| {
            let slots = self.slots.borrow();
            slots.iter().rev().find(|range| (range.first..=range.last).contains(&slot)).map(|range| range.nodes.clone())
        });
        let Some(nodes) = nodes else { return self.named(0) };
        let reads = if self.reading.borrow().contains(&command.name) { reads } else { ClusterReads::Primary };
        let index = match (reads, nodes.len()) {
            (ClusterReads::Primary, _) | (_, 1) => 0,
            (ClusterReads::Replica, count) => 1 + self.random_below(count - 1),
            (ClusterReads::Random, count) => self.random_below(count),
            (ClusterReads::Closest, _) => self.closest(&nodes).await,
        };
        self.node(&nodes[index])
    }

    fn random_below(&self, count: usize) -> usize {
        let (state, drawn) = &self.random;
        drawn.set(drawn.get() + 1);
        (state.hash_one(drawn.get()) % count as u64) as usize
    }

    /// The index of the node with the shortest round trip. One that does not answer is the last.
    async fn closest(&self, nodes: &[RedisNode]) -> usize {
        let mut best = (0, Nanos::MAX);
        for (index, node) in nodes.iter().enumerate() {
            let known = self.distances.borrow().iter().find(|(known, _)| known == node).map(|(_, distance)| *distance);
            let distance = match known {
                Some(distance) => distance,
                None => self.measured(node).await,
            };
            if distance < best.1 {
                best = (index, distance);
            }
        }
        best.0
    }

    async fn measured(&self, node: &RedisNode) -> Nanos {
        let client = self.node(node);
        let mut shortest = Nanos::MAX;
        for _ in 0..PINGS {
            let RedisExchange { times, result } = self.send(&client, &wire(&["PING"])).await;
            if result.is_err() {
                break;
            }
            shortest = shortest.min(times.phases.wait);
        }
        let mut distances = self.distances.borrow_mut();
        if distances.len() < NODES_MAX {
            distances.push((node.clone(), shortest));
        }
        shortest
    }

    /// Sends a command to the primary. One that fails or no longer is the primary is forgotten, so that the next command asks again.
    async fn by_sentinels(
        &self,
        command: &ClusterCommand,
        (name, username, password): (&str, &str, &Option<String>),
    ) -> (Rc<RedisClient>, RedisExchange) {
        let known = self.primary.borrow().clone();
        let primary = match known {
            Some(primary) => primary,
            None => match self.ask_sentinels(name, username, password).await {
                Ok(primary) => primary,
                Err((sentinel, exchange)) => return (sentinel, exchange),
            },
        };
        let server = self.node(&primary);
        let exchange = self.send(&server, &command.wire).await;
        let is_primary = exchange.result.as_ref().is_ok_and(|reply| match RedisReplies::of(reply).next() {
            Some(RedisPart::Error(error)) => error_code(error) != "READONLY",
            _ => true,
        });
        *self.primary.borrow_mut() = is_primary.then_some(primary);
        (server, exchange)
    }

    /// The primary of that name, from the first sentinel that knows it.
    async fn ask_sentinels(
        &self,
        name: &str,
        username: &str,
        password: &Option<String>,
    ) -> Result<RedisNode, (Rc<RedisClient>, RedisExchange)> {
        let mut failed = None;
        for address in &self.addresses {
            let credentials = (username.to_owned(), password.clone());
            let address = RedisAddress { username: credentials.0, password: credentials.1, database: 0, ..address.clone() };
            let sentinel = self.connect(&address);
            let RedisExchange { times, result } = self.send(&sentinel, &wire(&["SENTINEL", "get-master-addr-by-name", name])).await;
            if let Some(primary) = result.as_ref().ok().and_then(|reply| primary_in(reply, &address)) {
                return Ok(primary);
            }
            let result = result.and_then(|reply| match RedisReplies::of(&reply).next() {
                Some(RedisPart::Error(_)) => Ok(reply),
                _ => Err(Failure::new(Outcome::Protocol, format!("the sentinel knows no primary of the name \"{name}\""))),
            });
            failed = Some((sentinel, RedisExchange { times, result }));
        }
        // A client has an address.
        Err(failed.unwrap_or_else(|| unreachable!("a client of Redis has at least one address")))
    }

    /// A server that the script names.
    fn named(&self, index: usize) -> Rc<RedisClient> {
        let target = &self.addresses[index].target;
        self.node(&RedisNode { host: target.host.clone(), port: target.port })
    }

    /// A node, with the credentials of the first one that the script names.
    fn node(&self, node: &RedisNode) -> Rc<RedisClient> {
        let mut nodes = self.nodes.borrow_mut();
        let is_it = |client: &RedisAddress| client.target.host == node.host && client.target.port == node.port;
        if let Some(known) = nodes.iter().find(|client| is_it(client.address())) {
            return Rc::clone(known);
        }
        let named = self.addresses.iter().find(|address| is_it(address)).unwrap_or(&self.addresses[0]);
        let mut address = named.clone();
        (address.target.host, address.target.port) = (node.host.clone(), node.port);
        if nodes.len() >= NODES_MAX {
            nodes.remove(0);
        }
        nodes.push(self.connect(&address));
        Rc::clone(&nodes[nodes.len() - 1])
    }

    fn connect(&self, address: &RedisAddress) -> Rc<RedisClient> {
        Rc::new(RedisClient::new(Rc::clone(&self.network), address.clone()))
    }
}

/// The cost of a command and of the redirection before it.
fn together(before: &RawTimes, last: &RawTimes) -> RawTimes {
    let mut phases = before.phases;
    phases += last.phases;
    RawTimes {
        started: before.started,
        phases,
        bytes_sent: before.bytes_sent + last.bytes_sent,
        bytes_received: before.bytes_received + last.bytes_received,
        connected: before.connected || last.connected,
        ..*last
    }
}
