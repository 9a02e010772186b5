//! The openings of connections to databases and brokers, and the answers of brokers.

use bytes::Bytes;

/// Both databases read the input as what a server sends while a client logs in.
pub fn logins(input: &[u8]) {
    crate::sql::fuzzing::mysql_login(input);
    crate::sql::fuzzing::postgres_login(&Bytes::copy_from_slice(input));
    crate::kafka::fuzzing::login(input);
}

/// A response of a broker, read as the response to each kind of request.
pub fn kafka_answers(input: &[u8]) {
    crate::kafka::fuzzing::answers(input);
}

/// Messages of gRPC and the status of a call, whole and in pieces.
pub fn grpc(input: &[u8]) {
    let (cuts, bytes) = super::pieces(input);
    let at_once = crate::grpc::fuzzing::messages(bytes, &mut std::iter::empty());
    assert_eq!(at_once, crate::grpc::fuzzing::messages(bytes, &mut { cuts }));
    crate::grpc::fuzzing::status(bytes);
}
