//! Opens a connection: TLS if required, the login, and its proof (PostgreSQL, "Message Flow", "Start-up").

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

/// Limit on the server's messages before the first statement, which are short. Bytes.
const GREETING_BYTES_MAX: u64 = 64 * 1024;

/// Connects and logs in. TLS is a separate phase; everything else counts as connecting.
pub(in crate::sql) async fn open(
    network: &Rc<Network>,
    address: &SqlAddress,
    timeout_ns: u64,
    due: Nanos,
    times: &mut RawTimes,
) -> Result<PostgresSession, Unopened> {
    let RawTarget { host, port, tls } = &address.target;
    // The connection begins in plain text even if TLS is required.
    let plain = RawTarget { host: host.clone(), port: *port, tls: false };
    let raw = RawConnection::open(network, &plain, timeout_ns, times).await?;
    times.ended = 0;
    let begun = network.clock().now();
    let mut login = Login { raw: &raw, due, times: RawTimes::from(begun) };
    let mut tls_ns = 0;
    if *tls {
        login.ask_for_tls().await?;
        let started = network.clock().now();
        raw.secure(host, due).await?;
        tls_ns = network.clock().now() - started;
    }
    let logged_in = login.log_in(address).await;
    times.bytes_sent += login.times.bytes_sent;
    times.bytes_received += login.times.bytes_received;
    times.phases.tls = tls_ns;
    times.phases.connect += (network.clock().now() - begun).saturating_sub(tls_ns);
    logged_in?;
    Ok(PostgresSession::new(raw, address.prepare))
}

/// The exchange before the first statement.
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
            b'N' => Err(Failure::new(Outcome::Tls, "the server offers no TLS: remove `sslmode` from the URL, or set ssl=on on the server")),
            _ => Err(malformed("no response to the TLS request")),
        }
    }

    /// Returns when the server is ready for the first statement.
    async fn log_in(&mut self, address: &SqlAddress) -> Result<(), Unopened> {
        let mut wire = BytesMut::new();
        let names = [("client_encoding", "UTF8"), ("user", &*address.username), ("database", &*address.database)];
        let more = [("application_name", Some(&*address.application_name)), ("options", address.options.as_deref())];
        let settings = more.into_iter().filter_map(|(name, value)| Some((name, value?)));
        frontend::startup_message(names.into_iter().chain(settings), &mut wire).map_err(unsendable)?;
        self.send(&wire).await?;
        let mut proof = Proof { address, scram: None };
        loop {
            let bytes = self.raw.read_framed(&mut OneMessage, GREETING_BYTES_MAX, self.due, &mut self.times).await?;
            let Some(WireMessage { tag, body, .. }) = message(&bytes, 0)? else {
                return Err(malformed("an incomplete message").into());
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

/// Proves knowledge of the password with the method that the server requests.
struct Proof<'a> {
    address: &'a SqlAddress,
    scram: Option<ScramSha256>,
}

impl Proof<'_> {
    /// Writes the next message. Writes nothing when the proof is complete.
    fn answer(&mut self, mut request: Bytes, wire: &mut BytesMut) -> Result<(), Failure> {
        if request.len() < 4 {
            return Err(malformed("an authentication request cannot be read"));
        }
        // "AuthenticationOk" and related messages.
        match request.get_u32() {
            0 => Ok(()),
            3 => frontend::password_message(self.password()?, wire).map_err(unsendable),
            5 => {
                let salt = <[u8; 4]>::try_from(&*request).map_err(|_| malformed("a salt that does not have four bytes"))?;
                let hash = md5_hash(self.address.username.as_bytes(), self.password()?, salt);
                frontend::password_message(hash.as_bytes(), wire).map_err(unsendable)
            }
            10 if request.split(|byte| *byte == 0).any(|mechanism| mechanism == SCRAM_SHA_256.as_bytes()) => {
                let scram = self.scram.insert(ScramSha256::new(self.password()?, ChannelBinding::unsupported()));
                frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), wire).map_err(unsendable)
            }
            11 => {
                let scram = self.scram.as_mut().ok_or_else(|| malformed("an unexpected authentication message"))?;
                scram.update(&request).map_err(unproven)?;
                frontend::sasl_response(scram.message(), wire).map_err(unsendable)
            }
            12 => self.scram.as_mut().map_or(Ok(()), |scram| scram.finish(&request).map_err(unproven)),
            _ => Err(Failure::protocol(
                "the server requires an unsupported authentication method: supported are trust, password, md5 and scram-sha-256",
            )),
        }
    }

    fn password(&self) -> Result<&[u8], Failure> {
        let missing = || Failure::new(Outcome::Status, "the server asks for a password, but the URL has none");
        self.address.password.as_deref().map(str::as_bytes).ok_or_else(missing)
    }
}

fn unsendable(problem: std::io::Error) -> Failure {
    Failure::unsendable(format!("the login cannot be sent: {problem}"))
}

fn unproven(problem: std::io::Error) -> Failure {
    Failure::protocol(format!("the server does not prove that it knows the password: {problem}"))
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    use bytes::{Bytes, BytesMut};

    use super::super::wire::{fields, message};
    use super::Proof;
    use crate::sql::SqlAddress;
    use crate::sql::postgres::scan::refusal;

    /// The messages of a server while a client logs in.
    pub(crate) fn login(bytes: &Bytes) {
        let Ok(address) = SqlAddress::parse("postgres://ann:hush@db.test/shop") else { return };
        let (mut proof, mut at) = (Proof { address: &address, scram: None }, 0);
        while let Ok(Some(found)) = message(bytes, at) {
            let mut wire = BytesMut::new();
            let _ = proof.answer(bytes.slice_ref(found.body), &mut wire);
            let _ = fields(found.body).count();
            refusal(found.body);
            assert!(found.next > at, "the same message again");
            at = found.next;
        }
    }
}
