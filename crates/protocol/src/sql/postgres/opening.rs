//! The beginning of a connection: TLS where it is wanted, who we are, and the proof of it (PostgreSQL, "Message Flow", "Start-up").

use std::rc::Rc;

use bytes::{Buf, Bytes, BytesMut};
use loadstone_metrics::{Nanos, Outcome};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;

use super::scan::{OneMessage, refusal};
use super::session::PostgresSession;
use super::wire::{WireMessage, malformed, message};
use crate::failure::Failure;
use crate::network::Network;
use crate::raw::{RawConnection, RawTarget, RawTimes, ReadUntil};
use crate::sql::address::SqlAddress;
use crate::sql::refusal::Unopened;

/// What a server says before the first statement is short. Bytes.
const GREETING_BYTES_MAX: u64 = 64 * 1024;

/// Connects and logs in. TLS is a phase of its own, all else is connecting.
pub(in crate::sql) async fn open(
    network: &Rc<Network>,
    address: &SqlAddress,
    timeout_ns: u64,
    due: Nanos,
    times: &mut RawTimes,
) -> Result<PostgresSession, Unopened> {
    let RawTarget { host, port, tls } = &address.target;
    // It speaks first in plain text even where TLS is wanted.
    let plain = RawTarget { host: host.clone(), port: *port, tls: false };
    let raw = RawConnection::open(network, &plain, timeout_ns, times).await?;
    times.ended = 0;
    let begun = network.clock().now();
    let mut login = Login { raw: &raw, due, times: RawTimes::from(begun) };
    let mut tls_ns = 0;
    if *tls {
        login.ask_for_tls().await?;
        let asked = network.clock().now();
        raw.secure(host, due).await?;
        tls_ns = network.clock().now() - asked;
    }
    let logged_in = login.log_in(address).await;
    times.bytes_sent += login.times.bytes_sent;
    times.bytes_received += login.times.bytes_received;
    times.phases.tls = tls_ns;
    times.phases.connect += (network.clock().now() - begun).saturating_sub(tls_ns);
    logged_in?;
    Ok(PostgresSession::new(raw, address.prepare))
}

/// What is said before the first statement.
struct Login<'a> {
    raw: &'a RawConnection,
    due: Nanos,
    times: RawTimes,
}

impl Login<'_> {
    async fn send(&mut self, wire: &[u8]) -> Result<(), Failure> {
        self.raw.write(wire, self.due, &mut self.times).await
    }

    async fn ask_for_tls(&mut self) -> Result<(), Failure> {
        let mut wire = BytesMut::new();
        frontend::ssl_request(&mut wire);
        self.send(&wire).await?;
        let answer = self.raw.read(&ReadUntil::Length(1), GREETING_BYTES_MAX, self.due, &mut self.times).await?;
        match answer[0] {
            b'S' => Ok(()),
            b'N' => Err(Failure::new(Outcome::Tls, "the server offers no TLS: leave `sslmode` out of the URL, or set ssl=on there")),
            _ => Err(malformed("no answer to a request for TLS")),
        }
    }

    /// Ends when the server waits for the first statement.
    async fn log_in(&mut self, address: &SqlAddress) -> Result<(), Unopened> {
        let mut wire = BytesMut::new();
        let names = [("client_encoding", "UTF8"), ("user", &*address.username), ("database", &*address.database)];
        let more = [("application_name", Some(&*address.application_name)), ("options", address.options.as_deref())];
        let given = more.into_iter().filter_map(|(name, value)| Some((name, value?)));
        frontend::startup_message(names.into_iter().chain(given), &mut wire).map_err(unsendable)?;
        self.send(&wire).await?;
        let mut proof = Proof { address, scram: None };
        loop {
            let bytes = self.raw.read_framed(&mut OneMessage, GREETING_BYTES_MAX, self.due, &mut self.times).await?;
            let Some(WireMessage { tag, body, .. }) = message(&bytes, 0)? else {
                return Err(malformed("a message that is not whole").into());
            };
            match tag {
                b'R' => {
                    let mut wire = BytesMut::new();
                    proof.answer(bytes.slice_ref(body), &mut wire)?;
                    if !wire.is_empty() {
                        self.send(&wire).await?;
                    }
                }
                b'E' => return Err(Unopened::Refused(refusal(body))),
                b'Z' => return Ok(()),
                // ParameterStatus, BackendKeyData, NoticeResponse, NegotiateProtocolVersion.
                b'S' | b'K' | b'N' | b'v' => {}
                _ => return Err(malformed("a message of an unknown kind").into()),
            }
        }
    }
}

/// Proves that we know the password, in the way that the server asks for.
struct Proof<'a> {
    address: &'a SqlAddress,
    scram: Option<ScramSha256>,
}

impl Proof<'_> {
    /// What is to be said next; nothing when all is proven.
    fn answer(&mut self, mut asked: Bytes, wire: &mut BytesMut) -> Result<(), Failure> {
        if asked.len() < 4 {
            return Err(malformed("a question for a password cannot be read"));
        }
        // "AuthenticationOk" and its kin.
        match asked.get_u32() {
            0 => Ok(()),
            3 => frontend::password_message(self.password()?, wire).map_err(unsendable),
            5 => {
                let salt = <[u8; 4]>::try_from(&*asked).map_err(|_| malformed("a salt has four bytes"))?;
                let hash = md5_hash(self.address.username.as_bytes(), self.password()?, salt);
                frontend::password_message(hash.as_bytes(), wire).map_err(unsendable)
            }
            10 if asked.split(|byte| *byte == 0).any(|mechanism| mechanism == SCRAM_SHA_256.as_bytes()) => {
                let scram = self.scram.insert(ScramSha256::new(self.password()?, ChannelBinding::unsupported()));
                frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), wire).map_err(unsendable)
            }
            11 => {
                let scram = self.scram.as_mut().ok_or_else(|| malformed("an answer that nobody asked for"))?;
                scram.update(&asked).map_err(unproven)?;
                frontend::sasl_response(scram.message(), wire).map_err(unsendable)
            }
            12 => self.scram.as_mut().map_or(Ok(()), |scram| scram.finish(&asked).map_err(unproven)),
            _ => Err(Failure::protocol(
                "the server wants to know us by other means than a password: trust, password, md5 and scram-sha-256 are known",
            )),
        }
    }

    fn password(&self) -> Result<&[u8], Failure> {
        let missing = || Failure::new(Outcome::Status, "the server asks for a password, and the URL has none");
        self.address.password.as_deref().map(str::as_bytes).ok_or_else(missing)
    }
}

fn unsendable(problem: std::io::Error) -> Failure {
    Failure::protocol(format!("the server cannot be told who we are: {problem}"))
}

fn unproven(problem: std::io::Error) -> Failure {
    Failure::protocol(format!("the server does not know the password itself: {problem}"))
}
