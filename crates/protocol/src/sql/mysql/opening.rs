//! Opens a connection: TLS if required, the login, and its proof (MySQL, "Connection Phase").

use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::{Nanos, Outcome};

use super::greeting::ServerGreeting;
use super::proof::PasswordProof;
use super::scan::{OnePacket, refusal};
use super::session::MySqlSession;
use super::wire::{PacketCursor, malformed, packet, write};
use crate::failure::Failure;
use crate::network::Network;
use crate::raw::{RawConnection, RawTarget, RawTimes};
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
) -> Result<MySqlSession, Unopened> {
    let RawTarget { host, port, .. } = &address.target;
    // The server first sends plain text even if TLS is required.
    let plain = RawTarget { host: host.clone(), port: *port, tls: false };
    let raw = RawConnection::open(network, &plain, timeout_ns, times).await?;
    times.ended = 0;
    let begun = network.clock().now();
    let mut conversation = LoginConversation { raw: &raw, due, times: RawTimes::from(begun), number: 0, tls_ns: 0 };
    let logged_in = conversation.log_in(address).await;
    let LoginConversation { times: login_times, tls_ns, .. } = conversation;
    times.bytes_sent += login_times.bytes_sent;
    times.bytes_received += login_times.bytes_received;
    times.phases.tls = tls_ns;
    times.phases.connect += (network.clock().now() - begun).saturating_sub(tls_ns);
    let greeting = logged_in?;
    Ok(MySqlSession::new(raw, address.prepare, greeting.is_extended()))
}

/// The exchange before the first statement.
struct LoginConversation<'a> {
    raw: &'a RawConnection,
    due: Nanos,
    times: RawTimes,
    /// Number of the next packet, from either side.
    number: u8,
    tls_ns: u64,
}

impl LoginConversation<'_> {
    async fn send(&mut self, body: &[u8]) -> Result<(), Failure> {
        let mut wire = Vec::new();
        write(body, self.number, &mut wire);
        self.number = self.number.wrapping_add(1);
        self.raw.write(&wire, self.due, &mut self.times).await
    }

    /// The next packet. An error packet becomes an error.
    async fn receive(&mut self) -> Result<Bytes, Unopened> {
        let bytes = self.raw.read_framed(&mut OnePacket, GREETING_BYTES_MAX, self.due, &mut self.times).await?;
        let packet_received = packet(&bytes, 0)?.ok_or_else(|| malformed("an incomplete packet"))?;
        self.number = packet_received.number.wrapping_add(1);
        match packet_received.body.first() {
            Some(0xff) => Err(Unopened::Refused(refusal(packet_received.body).0)),
            Some(_) => Ok(bytes.slice_ref(packet_received.body)),
            None => Err(malformed("an empty packet").into()),
        }
    }

    /// Returns when the server is ready for the first statement.
    async fn log_in(&mut self, address: &SqlAddress) -> Result<ServerGreeting, Unopened> {
        let packet_received = self.receive().await?;
        let greeting = ServerGreeting::read(&packet_received).ok_or_else(|| malformed("no greeting of version 10"))?;
        if address.target.tls {
            self.secure(&greeting, address).await?;
        }
        let password = address.password.as_deref().unwrap_or_default();
        let (nonce, plugin) = (greeting.nonce.clone(), greeting.plugin.clone());
        let mut proof = PasswordProof { password, nonce, plugin, is_secured: address.target.tls };
        self.send(&greeting.response(address, &proof.first())).await?;
        loop {
            let packet_received = self.receive().await?;
            match packet_received[0] {
                0 => return Ok(greeting),
                // "AuthMoreData"
                1 => {
                    if let Some(more) = proof.further(&packet_received[1..])? {
                        self.send(&more).await?;
                    }
                }
                // "AuthSwitchRequest". Without further data, it requests the method from before 4.1.
                0xfe => {
                    let mut cursor = PacketCursor(&packet_received[1..]);
                    let plugin = String::from_utf8_lossy(cursor.name()).into_owned();
                    proof.plugin = if plugin.is_empty() { "mysql_old_password".to_owned() } else { plugin };
                    proof.nonce = cursor.0.strip_suffix(&[0]).unwrap_or(cursor.0).to_vec();
                    self.send(&proof.chosen()?).await?;
                }
                _ => return Err(malformed("a packet of an unknown kind").into()),
            }
        }
    }

    async fn secure(&mut self, greeting: &ServerGreeting, address: &SqlAddress) -> Result<(), Failure> {
        if !greeting.offers_tls() {
            return Err(Failure::new(
                Outcome::Tls,
                "the server offers no TLS: remove `sslmode` from the URL, or set ssl_cert and ssl_key on the server",
            ));
        }
        self.send(&greeting.tls_request(address)).await?;
        let started = self.raw.now();
        self.raw.secure(&address.target.host, self.due).await?;
        self.tls_ns = self.raw.now() - started;
        Ok(())
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    use super::super::greeting::ServerGreeting;
    use super::super::proof::PasswordProof;
    use super::super::wire::{PacketCursor, packet};
    use crate::sql::SqlAddress;

    /// The packets of a server while a client logs in: its greeting first, then requests for proofs.
    pub(crate) fn login(bytes: &[u8]) {
        let Ok(address) = SqlAddress::parse("mysql://ann:hush@db.test/shop") else { return };
        let mut proof =
            PasswordProof { password: "hush", nonce: bytes.to_vec(), plugin: "caching_sha2_password".to_owned(), is_secured: false };
        if let Some(greeting) = ServerGreeting::read(bytes) {
            let _ = (greeting.offers_tls(), greeting.is_extended());
            (proof.nonce, proof.plugin) = (greeting.nonce.clone(), greeting.plugin.clone());
            greeting.response(&address, &proof.first());
        }
        let _ = proof.chosen();
        let _ = proof.further(bytes);
        let mut at = 0;
        while let Ok(Some(found)) = packet(bytes, at) {
            let mut cursor = PacketCursor(found.body);
            proof.plugin = String::from_utf8_lossy(cursor.name()).into_owned();
            proof.nonce = cursor.0.to_vec();
            let _ = proof.chosen();
            let _ = proof.further(found.body);
            assert!(found.next > at, "the same packet again");
            at = found.next;
        }
    }
}
