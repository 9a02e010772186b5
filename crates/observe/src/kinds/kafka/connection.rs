//! Connections to brokers: one request at a time on each.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use loadstone_wire_formats::kafka::{KafkaReader, MalformedKafka};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::requests::ReadRequest;

const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// Larger answers are refused. Bytes.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// The client id in the brokers' logs.
const CLIENT: &str = "loadstone";

#[derive(Debug, thiserror::Error)]
pub(super) enum KafkaError {
    #[error("cannot connect to {address}: {problem}")]
    Connect { address: String, problem: io::Error },
    /// Brokers close the connection after a request that their listener does not accept.
    #[error("{address} closed the connection: observe.kafka supports listeners without TLS and SASL, of Kafka 0.11 and later")]
    Ended { address: String },
    #[error("{address}: {problem}")]
    Exchange { address: String, problem: io::Error },
    #[error("{address}: {problem}")]
    Malformed { address: String, problem: MalformedKafka },
    #[error(
        "the cluster reports brokers that the test may not connect to: {0}; if they belong to it, add them to `brokers`, or permit them with \
        `--allow-net HOST`"
    )]
    Unnamed(String),
    #[error("{address}: a response of {bytes} bytes is too large")]
    TooLarge { address: String, bytes: i32 },
}

/// By address.
#[derive(Debug, Default)]
pub(super) struct Connections {
    open: HashMap<String, BrokerConnection>,
}

impl Connections {
    /// Connects to the first of these brokers that can be reached.
    ///
    /// # Errors
    /// The error of the last broker.
    pub(super) async fn any(&mut self, addresses: &[String]) -> Result<&mut BrokerConnection, KafkaError> {
        let mut reached = None;
        let mut problem = None;
        for address in addresses {
            match self.to(address).await {
                Ok(_) => {
                    reached = Some(address);
                    break;
                }
                Err(failed) => problem = Some(failed),
            }
        }
        match (reached, problem) {
            (Some(address), _) => self.to(address).await,
            (None, Some(problem)) => Err(problem),
            (None, None) => Err(KafkaError::Connect { address: String::new(), problem: io::ErrorKind::InvalidInput.into() }),
        }
    }

    /// # Errors
    /// When the connection fails.
    pub(super) async fn to(&mut self, address: &str) -> Result<&mut BrokerConnection, KafkaError> {
        if !self.open.contains_key(address) {
            let connection = BrokerConnection::connect(address).await?;
            self.open.insert(address.to_owned(), connection);
        }
        let missing = || KafkaError::Ended { address: address.to_owned() };
        self.open.get_mut(address).ok_or_else(missing)
    }
}

#[derive(Debug)]
pub(super) struct BrokerConnection {
    address: String,
    stream: TcpStream,
    /// The id of the last request, which its response repeats.
    number: i32,
}

impl BrokerConnection {
    async fn connect(address: &str) -> Result<Self, KafkaError> {
        let failed = |problem| KafkaError::Connect { address: address.to_owned(), problem };
        let connecting = tokio::time::timeout(CONNECT_LIMIT, TcpStream::connect(address)).await;
        let stream = connecting.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        Ok(Self { address: address.to_owned(), stream, number: 0 })
    }

    /// # Errors
    /// When the connection breaks, or the response does not belong to this request.
    pub(super) async fn ask<T>(&mut self, request: ReadRequest<T>) -> Result<T, KafkaError> {
        self.number = self.number.wrapping_add(1);
        let answer = self.exchange(&request.request.framed(self.number, CLIENT)).await?;
        let mut reader = KafkaReader::new(&answer);
        let read = reader.int32().and_then(|number| if number == self.number { (request.read)(&mut reader) } else { Err(MalformedKafka) });
        read.map_err(|problem| KafkaError::Malformed { address: self.address.clone(), problem })
    }

    async fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>, KafkaError> {
        let address = self.address.clone();
        let failed = |problem: io::Error| match problem.kind() {
            io::ErrorKind::UnexpectedEof => KafkaError::Ended { address: address.clone() },
            _ => KafkaError::Exchange { address: address.clone(), problem },
        };
        self.stream.write_all(message).await.map_err(failed)?;
        let bytes = self.stream.read_i32().await.map_err(failed)?;
        let length = usize::try_from(bytes).ok().filter(|length| *length <= ANSWER_BYTES_MAX);
        let length = length.ok_or_else(|| KafkaError::TooLarge { address: address.clone(), bytes })?;
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer).await.map_err(failed)?;
        Ok(answer)
    }
}
