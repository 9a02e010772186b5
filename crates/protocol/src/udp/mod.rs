//! UDP: sends and receives datagrams, with exact instants. A lost datagram is not reported.
//!
//! Read [`DatagramSocket`]. Deliberately absent: retransmission, order, and matching answers, all of which scripts implement. Datagrams are sent
//! directly, even if the test uses a proxy.

mod socket;

pub use socket::{Datagram, DatagramSocket, SentDatagram};
