//! What clusters and sentinels of Redis answer: the nodes of each slot, redirections, the commands that only read, the primary.
//!
//! Read [`ClusterCommand`] and [`slots_in`]. Source: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/. Deliberately absent: whom to
//! ask (`redis_servers`).

use std::collections::HashSet;

use bytes::Bytes;
use loadstone_protocol::Failure;
use loadstone_protocol::redis::{RedisAddress, RedisPart, RedisReplies, write_argument, write_command};

/// Number of hash slots.
const SLOTS: u16 = 16384;
/// The place of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RedisNode {
    pub(super) host: String,
    pub(super) port: u16,
}

/// Hash slots, and the nodes that serve them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlotRange {
    pub(super) first: u16,
    pub(super) last: u16,
    /// The primary first, then its replicas.
    pub(super) nodes: Vec<RedisNode>,
}

/// A command as sent, and the slot of its key.
pub(super) struct ClusterCommand {
    /// In lower case, as servers list it.
    pub(super) name: String,
    pub(super) wire: Vec<u8>,
    /// `None`: any node runs it.
    pub(super) slot: Option<u16>,
}

impl ClusterCommand {
    pub(super) fn of(arguments: &[String]) -> Self {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let name = words.first().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
        Self { name, wire: wire(&words), slot: key_of(&words).map(|key| slot_of(key.as_bytes())) }
    }
}

pub(super) fn wire(words: &[&str]) -> Vec<u8> {
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
pub(super) struct ClusterRedirection {
    /// The other node takes the slot over for good. Otherwise this command alone goes there.
    pub(super) is_move: bool,
    pub(super) slot: u16,
    pub(super) node: RedisNode,
}

impl ClusterRedirection {
    /// From `MOVED 3999 127.0.0.1:6381`. An empty host is that of the node which sent it.
    pub(super) fn of(reply: &Result<Bytes, Failure>, from: &RedisAddress) -> Option<Self> {
        let RedisPart::Error(error) = RedisReplies::of(reply.as_ref().ok()?).next()? else { return None };
        let mut words = std::str::from_utf8(error).ok()?.split(' ');
        let is_move = match words.next()? {
            "MOVED" => true,
            "ASK" => false,
            _ => return None,
        };
        let slot = words.next()?.parse().ok()?;
        let (host, port) = words.next()?.rsplit_once(':')?;
        Some(Self { is_move, slot, node: RedisNode { host: host_of(host, from), port: port.parse().ok()? } })
    }
}

fn host_of(written: &str, from: &RedisAddress) -> String {
    if written.is_empty() || written == "?" { from.target.host.clone() } else { written.to_owned() }
}

/// The reply to `CLUSTER SLOTS`: for each range its first and last slot, and its nodes, the primary first. `None`: it is something else.
pub(super) fn slots_in(reply: &[u8], from: &RedisAddress) -> Option<Vec<SlotRange>> {
    let mut parts = RedisReplies::of(reply);
    let RedisPart::List(ranges) = parts.next()? else { return None };
    let mut slots = Vec::new();
    for _ in 0..ranges {
        let RedisPart::List(length) = parts.next()? else { return None };
        let [first, last] = [parts.next()?, parts.next()?].map(|part| match part {
            RedisPart::Integer(slot) => u16::try_from(slot).ok(),
            _ => None,
        });
        let mut nodes = Vec::new();
        for _ in 2..length {
            let RedisPart::List(fields) = parts.next()? else { return None };
            let host = match parts.next()? {
                RedisPart::Text(host) => String::from_utf8_lossy(host).into_owned(),
                _ => String::new(),
            };
            let RedisPart::Integer(port) = parts.next()? else { return None };
            (2..fields).try_for_each(|_| skip(&mut parts))?;
            nodes.push(RedisNode { host: host_of(&host, from), port: u16::try_from(port).ok()? });
        }
        if !nodes.is_empty() {
            slots.push(SlotRange { first: first?, last: last?, nodes });
        }
    }
    Some(slots)
}

/// The names of the commands that only read, from the reply to `COMMAND`: for each its name, its arity, its flags, and more.
pub(super) fn reading_commands(reply: &[u8]) -> HashSet<String> {
    let read = || {
        let mut parts = RedisReplies::of(reply);
        let RedisPart::List(commands) = parts.next()? else { return None };
        let mut reading = HashSet::new();
        for _ in 0..commands {
            let (RedisPart::List(fields), RedisPart::Text(name)) = (parts.next()?, parts.next()?) else { return None };
            skip(&mut parts)?;
            let RedisPart::List(flags) = parts.next()? else { return None };
            for _ in 0..flags {
                if let RedisPart::Text(b"readonly") | RedisPart::Status(b"readonly") = parts.next()? {
                    reading.insert(String::from_utf8_lossy(name).to_ascii_lowercase());
                }
            }
            (3..fields).try_for_each(|_| skip(&mut parts))?;
        }
        Some(reading)
    };
    read().unwrap_or_default()
}

/// The primary that a sentinel names, from the reply to `SENTINEL get-master-addr-by-name`. `None`: it knows no such primary.
pub(super) fn primary_in(reply: &[u8], from: &RedisAddress) -> Option<RedisNode> {
    let mut parts = RedisReplies::of(reply);
    let (RedisPart::List(2), RedisPart::Text(host), RedisPart::Text(port)) = (parts.next()?, parts.next()?, parts.next()?) else {
        return None;
    };
    let port = std::str::from_utf8(port).ok()?.parse().ok()?;
    Some(RedisNode { host: host_of(&String::from_utf8_lossy(host), from), port })
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

    fn node(host: &str, port: u16) -> RedisNode {
        RedisNode { host: host.to_owned(), port }
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
        let moved = ClusterRedirection { is_move: true, slot: 3999, node: node("127.0.0.1", 6381) };
        assert_eq!(redirection(b"-MOVED 3999 127.0.0.1:6381\r\n"), Some(moved));
        let asked = redirection(b"-ASK 1 :6381\r\n").unwrap();
        assert_eq!((asked.is_move, asked.node.host.as_str()), (false, "10.0.0.1"));
        for other in [&b"-ERR MOVED\r\n"[..], b"+MOVED 1 a:1\r\n", b"-MOVED x a:1\r\n", b"-MOVED 1 a\r\n"] {
            assert_eq!(redirection(other), None);
        }
        let reply = b"*2\r\n*3\r\n:0\r\n:8191\r\n*4\r\n$1\r\na\r\n:1\r\n$2\r\nid\r\n*2\r\n$1\r\nk\r\n$1\r\nv\r\n\
            *4\r\n:8192\r\n:16383\r\n*3\r\n$-1\r\n:2\r\n$2\r\nid\r\n*3\r\n$1\r\nr\r\n:3\r\n$2\r\nid\r\n";
        let first = SlotRange { first: 0, last: 8191, nodes: vec![node("a", 1)] };
        let second = SlotRange { first: 8192, last: 16383, nodes: vec![node("10.0.0.1", 2), node("r", 3)] };
        assert_eq!(slots_in(reply, &from()), Some(vec![first, second]));
        assert_eq!(slots_in(b"-ERR This instance has cluster support disabled\r\n", &from()), None);
    }

    #[test]
    fn reading_commands_and_primaries_are_read_from_replies() {
        let reply =
            b"*2\r\n*4\r\n$3\r\nGET\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n*4\r\n$3\r\nset\r\n:-3\r\n*1\r\n+write\r\n*1\r\n:1\r\n";
        assert_eq!(reading_commands(reply), HashSet::from(["get".to_owned()]));
        assert!(reading_commands(b"-ERR unknown command\r\n").is_empty());
        assert_eq!(primary_in(b"*2\r\n$2\r\nhh\r\n$4\r\n6380\r\n", &from()), Some(node("hh", 6380)));
        assert_eq!(primary_in(b"*-1\r\n", &from()), None);
    }
}
