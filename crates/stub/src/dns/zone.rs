//! The answer of a name server to a message: pure, so that a test needs no socket.

use std::net::IpAddr;

use hickory_proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA};
use hickory_proto::rr::{RData, Record, RecordType};

use super::names::DnsName;
use crate::StubError;

/// The names that exist.
#[derive(Debug)]
pub(crate) struct Zone {
    names: Vec<DnsName>,
}

/// An answer, and the name that was asked for.
pub(crate) struct DnsAnswer {
    pub(crate) name: Option<usize>,
    pub(crate) bytes: Vec<u8>,
}

impl Zone {
    /// # Errors
    /// A name without an address at the start, or a duplicate name.
    pub(crate) fn new(names: &[DnsName]) -> Result<Self, StubError> {
        let wrong = |problem: String| StubError::File { problem };
        let mut names = names.to_vec();
        for name in &mut names {
            name.name = plain(&name.name);
            if name.moves.first().is_none_or(|first| first.after_ns > 0) {
                return Err(wrong(format!("the name \"{}\" has no address at the start", name.name)));
            }
            if !name.moves.is_sorted_by_key(|change| change.after_ns) {
                return Err(wrong(format!("the addresses of \"{}\" are not in order of time", name.name)));
            }
        }
        for (place, name) in names.iter().enumerate() {
            if names[..place].iter().any(|other| other.name == name.name) {
                return Err(wrong(format!("the name \"{}\" is listed twice", name.name)));
            }
        }
        Ok(Self { names })
    }

    /// Each name, its time to live, and when its addresses change.
    pub(crate) fn names(&self) -> impl Iterator<Item = (String, u64, Vec<u64>)> + '_ {
        self.names.iter().map(|name| (name.name.clone(), name.ttl_ns, name.moves.iter().map(|change| change.after_ns).collect()))
    }

    /// The answer to a question that arrived `since` the run's start. `None` if the message is no question.
    pub(crate) fn answer(&self, question: &[u8], age_ns: u64) -> Option<DnsAnswer> {
        let asked = Message::from_vec(question).ok().filter(|message| message.metadata.message_type == MessageType::Query)?;
        let mut reply = Message::response(asked.metadata.id, asked.metadata.op_code);
        reply.metadata.recursion_desired = asked.metadata.recursion_desired;
        reply.metadata.recursion_available = true;
        let query = asked.queries.first().filter(|_| asked.metadata.op_code == OpCode::Query);
        let mut place = None;
        match query {
            None => reply.metadata.response_code = ResponseCode::NotImp,
            Some(query) => {
                reply.add_query(query.clone());
                place = self.place(&query.name.to_ascii());
                let addresses = place.map_or(&[][..], |place| self.addresses(place, age_ns));
                if addresses.is_empty() {
                    reply.metadata.response_code = ResponseCode::NXDomain;
                }
                let ttl_s = place.map_or(0, |place| u32::try_from(self.names[place].ttl_ns / 1_000_000_000).unwrap_or(u32::MAX));
                let records = addresses.iter().filter_map(|address| record_data(*address, query.query_type));
                reply.add_answers(records.map(|data| Record::from_rdata(query.name.clone(), ttl_s, data)));
            }
        }
        Some(DnsAnswer { name: place, bytes: reply.to_vec().ok()? })
    }

    fn place(&self, name: &str) -> Option<usize> {
        let name = plain(name);
        self.names.iter().position(|known| known.name == name)
    }

    fn addresses(&self, place: usize, age_ns: u64) -> &[IpAddr] {
        let moves = self.names[place].moves.iter();
        moves.rev().find(|change| change.after_ns <= age_ns).map_or(&[], |change| &change.addresses)
    }
}

/// Without the root's dot. Names are case-insensitive.
fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

fn record_data(address: IpAddr, wanted: RecordType) -> Option<RData> {
    match (address, wanted) {
        (IpAddr::V4(address), RecordType::A | RecordType::ANY) => Some(RData::A(A(address))),
        (IpAddr::V6(address), RecordType::AAAA | RecordType::ANY) => Some(RData::AAAA(AAAA(address))),
        _ => None,
    }
}
