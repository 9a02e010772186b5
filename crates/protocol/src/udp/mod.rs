//! UDP: datagrams out and in, with exact instants. Nothing tells of one that is lost, but that nothing comes.
//!
//! Read [`DatagramSocket`]. Deliberately absent: sending again, order, which answer belongs to what; all that is the script's. Datagrams go there
//! directly, whatever proxy the test has.

mod socket;

pub use socket::{Datagram, DatagramSocket, SentDatagram};
