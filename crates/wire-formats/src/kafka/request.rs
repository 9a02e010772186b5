//! A request and its header.

use super::primitives::KafkaWriter;

/// A request to a broker, without its header.
#[derive(Debug)]
pub struct KafkaRequest {
    pub key: i16,
    pub version: i16,
    pub body: KafkaWriter,
}

impl KafkaRequest {
    pub fn new(key: i16, version: i16) -> Self {
        Self { key, version, body: KafkaWriter::default() }
    }

    /// The request as sent: its length, the header and the body. `number`: identifies the response. `client`: the name in the broker's logs.
    pub fn framed(&self, number: i32, client: &str) -> Vec<u8> {
        let mut message = KafkaWriter::default();
        // Key, version, number, and the client name with its length.
        let head_bytes = 2 + 2 + 4 + 2 + client.len();
        message.bytes.reserve(4 + head_bytes + self.body.bytes.len());
        message.count(head_bytes + self.body.bytes.len()).int16(self.key).int16(self.version).int32(number).text(client);
        message.put(&self.body.bytes);
        message.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_length_and_header() {
        let mut request = KafkaRequest::new(3, 4);
        request.body.int16(7);
        assert_eq!(request.framed(9, "ab"), [0, 0, 0, 14, 0, 3, 0, 4, 0, 0, 0, 9, 0, 2, b'a', b'b', 0, 7]);
    }
}
