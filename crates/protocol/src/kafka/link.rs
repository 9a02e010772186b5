//! An authenticated connection to a broker. It handles one request at a time.

use std::rc::Rc;

use bytes::{Buf, Bytes};
use loadstone_metrics::Nanos;

use super::address::KafkaAddress;
use super::calls::{KafkaCall, read_sasl_authenticate, read_sasl_handshake, sasl_authenticate, sasl_handshake};
use super::refusal::{KafkaProblem, KafkaRefusal};
use super::scram::{KafkaMechanism, Scram, ScramProblem, nonce};
use crate::failure::Failure;
use crate::network::Network;
use crate::raw::{AnswerFraming, RawConnection, RawTarget, RawTimes};

/// The client name in the brokers' logs.
const CLIENT: &str = "loadstone";
/// Limit on responses during the login, which are short. Bytes.
const LOGIN_BYTES_MAX: u64 = 64 * 1024;

/// The limits of one step.
#[derive(Debug, Clone, Copy)]
pub(super) struct KafkaLimits {
    /// The deadline.
    pub(super) due: Nanos,
    /// Limit on a response.
    pub(super) bytes_max: u64,
}

#[derive(Debug)]
pub(super) struct BrokerLink {
    connection: RawConnection,
    /// Number of the last request. Its response has the same number.
    number: i32,
}

impl BrokerLink {
    /// Connects and logs in. TLS is a separate phase; everything else counts as connecting.
    pub(super) async fn open(
        network: &Rc<Network>,
        target: &RawTarget,
        address: &KafkaAddress,
        limits: KafkaLimits,
        times: &mut RawTimes,
    ) -> Result<Self, KafkaProblem> {
        let timeout_ns = limits.due.saturating_sub(times.started);
        let connection = RawConnection::open(network, target, timeout_ns, times).await?;
        times.ended = 0;
        let mut link = Self { connection, number: 0 };
        if let Some((name, password)) = &address.login {
            let begun = network.clock().now();
            let mut login = RawTimes::from(begun);
            let result = link.log_in(address.mechanism, (name, password), limits.due, &mut login).await;
            times.phases.connect += network.clock().now().saturating_sub(begun);
            times.bytes_sent += login.bytes_sent;
            times.bytes_received += login.bytes_received;
            result?;
        }
        Ok(link)
    }

    async fn log_in(
        &mut self,
        mechanism: KafkaMechanism,
        (name, password): (&str, &str),
        due: Nanos,
        times: &mut RawTimes,
    ) -> Result<(), KafkaProblem> {
        let limits = KafkaLimits { due, bytes_max: LOGIN_BYTES_MAX };
        let answer = self.call(&sasl_handshake(mechanism.name()), limits, times).await?;
        let (error, known) = read_sasl_handshake(&answer).map_err(Failure::from)?;
        if error != 0 {
            let about = format!("the broker does not support a login with {} (it supports: {})", mechanism.name(), known.join(", "));
            return Err(KafkaRefusal::new(error, about).into());
        }
        let Some(hash) = mechanism.hash() else {
            // RFC 4616.
            return self.authenticate(format!("\0{name}\0{password}").as_bytes(), limits, times).await.map(drop);
        };
        let broken = |problem: ScramProblem| Failure::protocol(format!("login with {}: {problem}", mechanism.name()));
        let mut scram = Scram::new(hash, name, password, nonce());
        let challenge = self.authenticate(scram.first().as_bytes(), limits, times).await?;
        let proof = scram.prove(&challenge).map_err(broken)?;
        let last = self.authenticate(proof.as_bytes(), limits, times).await?;
        Ok(scram.verify(&last).map_err(broken)?)
    }

    /// Sends a message of a login, and returns the broker's response.
    async fn authenticate(&mut self, message: &[u8], limits: KafkaLimits, times: &mut RawTimes) -> Result<Vec<u8>, KafkaProblem> {
        let answer = self.call(&sasl_authenticate(message), limits, times).await?;
        match read_sasl_authenticate(&answer).map_err(Failure::from)? {
            (0, _, message) => Ok(message),
            (error, message, _) => Err(KafkaRefusal::new(error, if message.is_empty() { "logging in".to_owned() } else { message }).into()),
        }
    }

    /// Whether it can no longer carry a request.
    pub(super) fn is_unusable(&self) -> bool {
        self.connection.is_unusable()
    }

    /// Sends a request and returns its response, which is empty if none is expected. Do not use the connection after a failure, or after dropping
    /// this future early: the next response would belong to this request.
    pub(super) async fn call(&mut self, call: &KafkaCall, limits: KafkaLimits, times: &mut RawTimes) -> Result<Bytes, Failure> {
        self.number = self.number.wrapping_add(1);
        self.connection.write(&call.request.framed(self.number, CLIENT), limits.due, times).await?;
        if !call.is_answered {
            times.end(times.sent);
            return Ok(Bytes::new());
        }
        let mut framing = BehindLength { bytes_max: limits.bytes_max };
        let mut answer = self.connection.read_framed(&mut framing, limits.bytes_max, limits.due, times).await?;
        answer.advance(4);
        if answer.remaining() < 4 || answer.get_i32() != self.number {
            return Err(Failure::protocol("the broker's response belongs to another request: is it a Kafka broker?"));
        }
        Ok(answer)
    }
}

/// A response preceded by its length.
struct BehindLength {
    bytes_max: u64,
}

impl AnswerFraming for BehindLength {
    fn whole(&mut self, bytes: &[u8]) -> Result<Option<usize>, Failure> {
        let Some(length) = bytes.first_chunk().map(|length| i32::from_be_bytes(*length)) else { return Ok(None) };
        let length = usize::try_from(length).map_err(|_| Failure::protocol("the response has an invalid length: is it a Kafka broker?"))?;
        if length as u64 + 4 > self.bytes_max {
            let (is, may_be) = (length, self.bytes_max);
            return Err(Failure::protocol(format!(
                "the response declares {is} bytes, more than the limit of {may_be} (`bodyBytesMax`): is it a Kafka broker?"
            )));
        }
        Ok((bytes.len() - 4 >= length).then_some(4 + length))
    }
}
