//! The servers of a Redis client: one, or a cluster, which names the node of each key.
//!
//! Read [`ScriptRedisServers::exchange`]. Source: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/. Deliberately absent: reads from
//! replicas.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::Nanos;
use loadstone_protocol::raw::RawTimes;
use loadstone_protocol::redis::{RedisAddress, RedisClient, RedisExchange, RedisPart, RedisReplies, write_argument, write_command};
use loadstone_protocol::{Failure, Network};

/// Number of hash slots.
const SLOTS: u16 = 16384;
/// The reply to `ASKING`.
const OK: &[u8] = b"+OK\r\n";
/// Limit on the nodes of a cluster.
const NODES_MAX: usize = 1_000;

/// Hash slots, and the node that serves them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SlotRange {
    first: u16,
    last: u16,
    host: String,
    port: u16,
}

/// The servers of one client, each with its connection.
pub(super) struct ScriptRedisServers {
    network: Rc<Network>,
    addresses: Vec<RedisAddress>,
    /// `None`: one server.
    redirects_max: Option<u32>,
    nodes: RefCell<Vec<Rc<RedisClient>>>,
    /// A later one has priority.
    slots: RefCell<Vec<SlotRange>>,
    knows_slots: Cell<bool>,
}

/// A command as sent, and the slot of its key.
pub(super) struct ClusterCommand {
    wire: Vec<u8>,
    /// `None`: any node runs it.
    slot: Option<u16>,
}

impl ClusterCommand {
    pub(super) fn of(arguments: &[String]) -> Self {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Self { wire: wire(&words), slot: key_of(&words).map(|key| slot_of(key.as_bytes())) }
    }
}

fn wire(words: &[&str]) -> Vec<u8> {
    let mut wire = Vec::new();
    write_command(&mut wire, words.len());
    words.iter().for_each(|word| write_argument(&mut wire, word.as_bytes()));
    wire
}

/// The first key. Servers correct a wrong guess by a redirection.
fn key_of<'w>(words: &[&'w str]) -> Option<&'w str> {
    let position = match words.first()?.to_ascii_uppercase().as_str() {
        "EVAL" | "EVALSHA" | "EVAL_RO" | "EVALSHA_RO" | "FCALL" | "FCALL_RO" => 3,
        "BITOP" | "OBJECT" | "XGROUP" | "XINFO" | "ZDIFF" | "ZINTER" | "ZUNION" | "SINTERCARD" | "LMPOP" | "ZMPOP" => 2,
        _ => 1,
    };
    words.get(position).copied()
}

/// The slot of a key: of the part in its first braces, if that is not empty.
fn slot_of(key: &[u8]) -> u16 {
    let open = key.iter().position(|byte| *byte == b'{').map(|at| at + 1);
    let tag = open.and_then(|open| {
        let length = key[open..].iter().position(|byte| *byte == b'}')?;
        (length > 0).then(|| &key[open..open + length])
    });
    crc16(tag.unwrap_or(key)) % SLOTS
}

/// CRC-16/XMODEM: appendix A of the specification.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 })
    })
}

/// Where a node sends a command instead.
#[derive(Debug, PartialEq, Eq)]
struct ClusterRedirection {
    /// The other node takes the slot over for good. Otherwise this command alone goes there.
    is_move: bool,
    slot: u16,
    host: String,
    port: u16,
}

impl ClusterRedirection {
    /// From `MOVED 3999 127.0.0.1:6381`. An empty host is that of the node which sent it.
    fn of(reply: &Result<Bytes, Failure>, from: &RedisAddress) -> Option<Self> {
        let RedisPart::Error(error) = RedisReplies::of(reply.as_ref().ok()?).next()? else { return None };
        let mut words = std::str::from_utf8(error).ok()?.split(' ');
        let is_move = match words.next()? {
            "MOVED" => true,
            "ASK" => false,
            _ => return None,
        };
        let slot = words.next()?.parse().ok()?;
        let (host, port) = words.next()?.rsplit_once(':')?;
        Some(Self { is_move, slot, host: host_of(host, from), port: port.parse().ok()? })
    }
}

fn host_of(written: &str, from: &RedisAddress) -> String {
    if written.is_empty() || written == "?" { from.target.host.clone() } else { written.to_owned() }
}

impl ScriptRedisServers {
    pub(super) fn new(network: Rc<Network>, addresses: Vec<RedisAddress>, redirects_max: Option<u32>) -> Self {
        let nodes = addresses.iter().map(|address| Rc::new(RedisClient::new(Rc::clone(&network), address.clone()))).collect();
        let (nodes, slots, knows_slots) = (RefCell::new(nodes), RefCell::default(), Cell::default());
        Self { network, addresses, redirects_max, nodes, slots, knows_slots }
    }

    /// Sends a command, and follows redirections. Returns the server that answered.
    pub(super) async fn exchange(&self, command: &ClusterCommand, limit_ns: Nanos, bytes_max: u64) -> (Rc<RedisClient>, RedisExchange) {
        let Some(redirects_max) = self.redirects_max else {
            let server = self.nodes.borrow().first().cloned().unwrap_or_else(|| self.connect(&self.addresses[0]));
            let exchange = server.exchange(&command.wire, 1, limit_ns, bytes_max).await;
            return (server, exchange);
        };
        if !self.knows_slots.get() {
            self.learn_slots(limit_ns, bytes_max).await;
        }
        let mut server = self.server_of(command.slot);
        let mut exchange = server.exchange(&command.wire, 1, limit_ns, bytes_max).await;
        for _ in 0..redirects_max {
            let Some(ClusterRedirection { is_move, slot, host, port }) = ClusterRedirection::of(&exchange.result, server.address()) else {
                break;
            };
            let before = exchange.times;
            server = self.node(&host, port);
            exchange = if is_move {
                self.slots.borrow_mut().retain(|range| (range.first, range.last) != (slot, slot));
                self.slots.borrow_mut().push(SlotRange { first: slot, last: slot, host, port });
                server.exchange(&command.wire, 1, limit_ns, bytes_max).await
            } else {
                let RedisExchange { times, result } =
                    server.exchange(&[wire(&["ASKING"]), command.wire.clone()].concat(), 2, limit_ns, bytes_max).await;
                let result = result.map(|replies| if replies.starts_with(OK) { replies.slice(OK.len()..) } else { replies });
                RedisExchange { times, result }
            };
            exchange.times = together(&before, &exchange.times);
        }
        (server, exchange)
    }

    /// Asks the first node that answers for the nodes of all slots.
    async fn learn_slots(&self, limit_ns: Nanos, bytes_max: u64) {
        let nodes = self.nodes.borrow().clone();
        for node in nodes {
            let RedisExchange { result, .. } = node.exchange(&wire(&["CLUSTER", "SLOTS"]), 1, limit_ns, bytes_max).await;
            if let Some(slots) = result.ok().and_then(|reply| slots_in(&reply, node.address())) {
                *self.slots.borrow_mut() = slots;
                self.knows_slots.set(true);
                return;
            }
        }
    }

    fn server_of(&self, slot: Option<u16>) -> Rc<RedisClient> {
        let slots = self.slots.borrow();
        let range = slot.and_then(|slot| slots.iter().rev().find(|range| (range.first..=range.last).contains(&slot)));
        let address = &self.addresses[0].target;
        range.map_or_else(|| self.node(&address.host, address.port), |range| self.node(&range.host, range.port))
    }

    /// A node, with the credentials of the first one that the script names.
    fn node(&self, host: &str, port: u16) -> Rc<RedisClient> {
        let mut nodes = self.nodes.borrow_mut();
        let target = |node: &Rc<RedisClient>| node.address().target.host == host && node.address().target.port == port;
        if let Some(known) = nodes.iter().find(|node| target(node)) {
            return Rc::clone(known);
        }
        let mut address = self.addresses[0].clone();
        (address.target.host, address.target.port) = (host.to_owned(), port);
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

/// The reply to `CLUSTER SLOTS`: for each range its first and last slot, and nodes of which the first is the primary. `None`: it is something else.
fn slots_in(reply: &[u8], from: &RedisAddress) -> Option<Vec<SlotRange>> {
    let mut parts = RedisReplies::of(reply);
    let RedisPart::List(ranges) = parts.next()? else { return None };
    let mut slots = Vec::new();
    for _ in 0..ranges {
        let RedisPart::List(length) = parts.next()? else { return None };
        let [first, last] = [parts.next()?, parts.next()?].map(|part| match part {
            RedisPart::Integer(slot) => u16::try_from(slot).ok(),
            _ => None,
        });
        for index in 2..length {
            let RedisPart::List(fields) = parts.next()? else { return None };
            let host = match parts.next()? {
                RedisPart::Text(host) => String::from_utf8_lossy(host).into_owned(),
                _ => String::new(),
            };
            let RedisPart::Integer(port) = parts.next()? else { return None };
            (2..fields).try_for_each(|_| skip(&mut parts))?;
            if index == 2 {
                slots.push(SlotRange { first: first?, last: last?, host: host_of(&host, from), port: u16::try_from(port).ok()? });
            }
        }
    }
    Some(slots)
}

/// Skips a value with all that it contains.
fn skip(parts: &mut RedisReplies<'_>) -> Option<()> {
    let mut left = 1;
    while left > 0 {
        left = left - 1
            + match parts.next()? {
                RedisPart::List(count) => count,
                RedisPart::Map(count) | RedisPart::Attributes(count) => 2 * count,
                _ => 0,
            };
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from() -> RedisAddress {
        RedisAddress::parse("redis://10.0.0.1:7000").unwrap()
    }

    /// The slots that `redis-server` 7 answers to `CLUSTER KEYSLOT`, and the check value of the CRC in the specification.
    #[test]
    fn keys_have_the_slots_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, slot) in
            [("foo", 12182), ("bar", 5061), ("{user1000}.following", slot_of(b"user1000")), ("foo{}{bar}", 8363), ("foo{{bar}}zap", 4015)]
        {
            assert_eq!(slot_of(key.as_bytes()), slot, "{key}");
        }
        let of = |words: &[&str]| ClusterCommand::of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).slot;
        assert_eq!((of(&["GET", "foo"]), of(&["eval", "return 1", "1", "foo"]), of(&["PING"])), (Some(12182), Some(12182), None));
    }

    #[test]
    fn redirections_and_slots_are_read_from_replies() {
        let redirection = |reply: &'static [u8]| ClusterRedirection::of(&Ok(Bytes::from_static(reply)), &from());
        let moved = ClusterRedirection { is_move: true, slot: 3999, host: "127.0.0.1".to_owned(), port: 6381 };
        assert_eq!(redirection(b"-MOVED 3999 127.0.0.1:6381\r\n"), Some(moved));
        let asked = redirection(b"-ASK 1 :6381\r\n").unwrap();
        assert_eq!((asked.is_move, asked.host.as_str()), (false, "10.0.0.1"));
        for other in [&b"-ERR MOVED\r\n"[..], b"+MOVED 1 a:1\r\n", b"-MOVED x a:1\r\n", b"-MOVED 1 a\r\n"] {
            assert_eq!(redirection(other), None);
        }
        let reply = b"*2\r\n*3\r\n:0\r\n:8191\r\n*4\r\n$1\r\na\r\n:1\r\n$2\r\nid\r\n*2\r\n$1\r\nk\r\n$1\r\nv\r\n\
            *4\r\n:8192\r\n:16383\r\n*3\r\n$-1\r\n:2\r\n$2\r\nid\r\n*3\r\n$1\r\nr\r\n:3\r\n$2\r\nid\r\n";
        let range = |first, last, host: &str, port| SlotRange { first, last, host: host.to_owned(), port };
        assert_eq!(slots_in(reply, &from()), Some(vec![range(0, 8191, "a", 1), range(8192, 16383, "10.0.0.1", 2)]));
        assert_eq!(slots_in(b"-ERR This instance has cluster support disabled\r\n", &from()), None);
    }
}
