//! One user's connection to a server. It is opened on demand, and used by one exchange at a time.

use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::{Nanos, Outcome};
use tokio::sync::Mutex;

use super::address::RedisAddress;
use super::resp::{RedisPart, RedisReplies, RedisScanner, write_argument, write_command};
use crate::connect::within;
use crate::failure::Failure;
use crate::network::Network;
use crate::raw::{RawConnection, RawTimes};

/// Limit on the replies to the first commands of a connection, which are short. Bytes.
const GREETING_BYTES_MAX: u64 = 64 * 1024;

/// Sends commands over one connection. Commands wait in order while it is busy.
#[derive(Debug)]
pub struct RedisClient {
    network: Rc<Network>,
    address: RedisAddress,
    connection: Mutex<Option<RawConnection>>,
}

/// The commands sent together, and their replies.
#[derive(Debug)]
pub struct RedisExchange {
    pub times: RawTimes,
    /// All replies, including errors: see [`RedisReplies`].
    pub result: Result<Bytes, Failure>,
}

impl RedisClient {
    pub fn new(network: Rc<Network>, address: RedisAddress) -> Self {
        Self { network, address, connection: Mutex::default() }
    }

    pub fn address(&self) -> &RedisAddress {
        &self.address
    }

    /// Whether there is a connection, or one is being opened.
    pub fn is_connected(&self) -> bool {
        self.connection.try_lock().map_or(true, |connection| connection.is_some())
    }

    /// Closes the connection, unless it is in use.
    pub fn close(&self) {
        if let Ok(mut connection) = self.connection.try_lock() {
            *connection = None;
        }
    }

    /// Sends commands and waits for this many replies. If the future is dropped early, the connection is closed, since its replies would be assigned
    /// to other commands.
    pub async fn exchange(&self, commands: &[u8], replies: usize, timeout_ns: u64, bytes_max: u64) -> RedisExchange {
        let mut times = RawTimes::from(self.network.clock().now());
        let due = times.started.saturating_add(timeout_ns);
        let result = self.perform(commands, replies, (timeout_ns, due), bytes_max, &mut times).await;
        if times.ended == 0 {
            times.ended = self.network.clock().now();
        }
        RedisExchange { times, result }
    }

    async fn perform(
        &self,
        commands: &[u8],
        replies: usize,
        (timeout_ns, due): (u64, Nanos),
        bytes_max: u64,
        times: &mut RawTimes,
    ) -> Result<Bytes, Failure> {
        let clock = self.network.clock();
        let mut place = match self.connection.try_lock() {
            Ok(place) => place,
            Err(_) => {
                let timer = clock.timer();
                timer.reset(due);
                let place = within(&timer, "waiting for the user's connection", self.connection.lock()).await;
                times.phases.queue = clock.now() - times.started;
                place?
            }
        };
        let connection = match place.take().filter(|connection| !connection.is_unusable()) {
            Some(connection) => connection,
            None => Box::pin(self.open(timeout_ns, due, times)).await?,
        };
        connection.write(commands, due, times).await?;
        let answered = connection.read_framed(&mut RedisScanner::new(replies), bytes_max, due, times).await;
        if answered.is_ok() {
            *place = Some(connection);
        }
        answered
    }

    /// A connection that is authenticated and has selected its database. All of that counts as connecting.
    async fn open(&self, timeout_ns: u64, due: Nanos, times: &mut RawTimes) -> Result<RawConnection, Failure> {
        let connection = RawConnection::open(&self.network, &self.address.target, timeout_ns, times).await?;
        times.ended = 0;
        let Greeting { commands, count } = Greeting::of(&self.address);
        if count == 0 {
            return Ok(connection);
        }
        let begun = self.network.clock().now();
        let mut greeting = RawTimes::from(begun);
        connection.write(&commands, due, &mut greeting).await?;
        let replies = connection.read_framed(&mut RedisScanner::new(count), GREETING_BYTES_MAX, due, &mut greeting).await?;
        times.phases.connect += greeting.ended - begun;
        times.bytes_sent += greeting.bytes_sent;
        times.bytes_received += greeting.bytes_received;
        let refusal = RedisReplies::of(&replies).find_map(|part| match part {
            RedisPart::Error(error) => Some(String::from_utf8_lossy(error).into_owned()),
            _ => None,
        });
        refusal
            .map_or(Ok(connection), |refusal| Err(Failure::new(Outcome::Status, format!("the server refused the connection: {refusal}"))))
    }
}

/// The first commands of a connection.
struct Greeting {
    commands: Vec<u8>,
    count: usize,
}

impl Greeting {
    fn of(address: &RedisAddress) -> Self {
        let mut greeting = Self { commands: Vec::new(), count: 0 };
        let RedisAddress { username, password, database, resp3, reads_replicas, .. } = address;
        match (resp3, password) {
            (true, Some(password)) => {
                let username = if username.is_empty() { "default" } else { username };
                greeting.add("HELLO", &["3", "AUTH", username, password]);
            }
            (true, None) => greeting.add("HELLO", &["3"]),
            (false, Some(password)) if username.is_empty() => greeting.add("AUTH", &[password]),
            (false, Some(password)) => greeting.add("AUTH", &[username, password]),
            (false, None) => {}
        }
        if *database != 0 {
            greeting.add("SELECT", &[&database.to_string()]);
        }
        if *reads_replicas {
            greeting.add("READONLY", &[]);
        }
        greeting
    }

    fn add(&mut self, name: &str, arguments: &[&str]) {
        self.count += 1;
        write_command(&mut self.commands, 1 + arguments.len());
        write_argument(&mut self.commands, name.as_bytes());
        arguments.iter().for_each(|argument| write_argument(&mut self.commands, argument.as_bytes()));
    }
}

/// The first word of an error, which identifies its kind. The rest differs from case to case.
pub fn error_code(error: &[u8]) -> String {
    String::from_utf8_lossy(error.split(|byte| *byte == b' ').next().unwrap_or_default()).into_owned()
}
