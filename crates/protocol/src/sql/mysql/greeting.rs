//! The server's initial handshake, and the client's response (MySQL, "Connection Phase").

use std::collections::HashMap;

use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::packets::{AuthPlugin, HandshakeResponse, SslRequest};
use mysql_common::proto::MySerialize;

use super::wire::PacketCursor;
use crate::sql::address::SqlAddress;

/// The only protocol version since MySQL 3.21.
const VERSION: u64 = 10;
/// Length of the nonce for the password proof. The last byte is always zero.
const NONCE_BYTES: usize = 20;
/// The maximum packet size that the client declares: the largest possible.
const PACKET_BYTES_MAX: u32 = 1 << 30;
/// `utf8mb4_general_ci`, which servers support since 5.5.3.
const UTF8: u8 = 45;
/// The oldest supported version: since then, text may use four bytes per character.
const SERVER_VERSION: (u16, u16, u16) = (5, 5, 3);

/// The content of a server's greeting.
#[derive(Debug)]
pub(super) struct ServerGreeting {
    pub(super) nonce: Vec<u8>,
    /// The server's default authentication method, which it may change later.
    pub(super) plugin: String,
    capabilities: CapabilityFlags,
    extended: MariadbCapabilities,
}

impl ServerGreeting {
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut cursor = PacketCursor(body);
        if cursor.number(1)? != VERSION {
            return None;
        }
        cursor.name();
        cursor.take(4)?;
        let mut nonce = cursor.take(8)?.to_vec();
        cursor.take(1)?;
        let low = cursor.number(2)?;
        // Its character set and its status.
        cursor.take(3)?;
        let capabilities = CapabilityFlags::from_bits_truncate((cursor.number(2)? << 16 | low) as u32);
        cursor.take(7)?;
        let extended = MariadbCapabilities::from_bits_truncate(cursor.number(4)? as u32);
        nonce.extend_from_slice(cursor.take(NONCE_BYTES - nonce.len())?);
        // The terminating zero.
        cursor.take(1)?;
        let plugin = String::from_utf8_lossy(cursor.name()).into_owned();
        // MariaDB uses this field, which is empty in MySQL.
        let is_mysql = capabilities.contains(CapabilityFlags::CLIENT_LONG_PASSWORD);
        Some(Self { nonce, plugin, capabilities, extended: if is_mysql { MariadbCapabilities::empty() } else { extended } })
    }

    pub(super) fn offers_tls(&self) -> bool {
        self.capabilities.contains(CapabilityFlags::CLIENT_SSL)
    }

    /// Whether it sends more about columns on request.
    pub(super) fn is_extended(&self) -> bool {
        self.extended.contains(MariadbCapabilities::MARIADB_CLIENT_EXTENDED_METADATA)
    }

    fn extended_wanted(&self) -> MariadbCapabilities {
        self.extended & MariadbCapabilities::MARIADB_CLIENT_EXTENDED_METADATA
    }

    /// The capabilities that both sides support. `CALL` returns several results.
    fn wanted(&self, tls: bool) -> CapabilityFlags {
        let mut wanted = CapabilityFlags::CLIENT_PROTOCOL_41
            | CapabilityFlags::CLIENT_SECURE_CONNECTION
            | CapabilityFlags::CLIENT_TRANSACTIONS
            | CapabilityFlags::CLIENT_LONG_FLAG
            | CapabilityFlags::CLIENT_MULTI_RESULTS
            | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
            | CapabilityFlags::CLIENT_PLUGIN_AUTH
            | CapabilityFlags::CLIENT_CONNECT_ATTRS
            | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA;
        if !self.is_extended() {
            wanted |= CapabilityFlags::CLIENT_LONG_PASSWORD;
        }
        let mut spoken = wanted & (self.capabilities | CapabilityFlags::CLIENT_LONG_PASSWORD);
        spoken.set(CapabilityFlags::CLIENT_SSL, tls);
        spoken
    }

    /// Requests TLS.
    pub(super) fn tls_request(&self, address: &SqlAddress) -> Vec<u8> {
        let mut capabilities = self.wanted(true);
        capabilities.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, !address.database.is_empty());
        let mut body = Vec::new();
        SslRequest::new(capabilities, PACKET_BYTES_MAX, UTF8).with_mariadb_capabilities(self.extended_wanted()).serialize(&mut body);
        body
    }

    /// Sends the user name and the proof.
    pub(super) fn response(&self, address: &SqlAddress, proof: &[u8]) -> Vec<u8> {
        let capabilities = self.wanted(address.target.tls);
        let attributes = capabilities
            .contains(CapabilityFlags::CLIENT_CONNECT_ATTRS)
            .then(|| HashMap::from([("program_name".to_owned(), address.application_name.clone())]));
        let plugin = capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH).then(|| AuthPlugin::from_bytes(self.plugin.as_bytes()));
        let database = Some(address.database.as_bytes()).filter(|name| !name.is_empty());
        let user = Some(address.username.as_bytes());
        let response =
            HandshakeResponse::new(Some(proof), SERVER_VERSION, user, database, plugin, capabilities, attributes, PACKET_BYTES_MAX)
                .with_mariadb_ext_capabilities(self.extended_wanted());
        let mut body = Vec::new();
        response.serialize(&mut body);
        body
    }
}
