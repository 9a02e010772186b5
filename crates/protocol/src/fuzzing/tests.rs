//! The functions of the targets, on seeds that were cut and changed.
use super::damaged::damaged;
use super::{codings, grpc, head, http2, kafka_answers, logins, redis};

#[test]
fn damaged_heads_end_with_an_error() {
    damaged("head", head);
}

#[test]
fn damaged_bodies_end_with_an_error() {
    damaged("codings", codings);
}

#[test]
fn damaged_frames_end_with_an_error() {
    damaged("http2", http2);
}

#[test]
fn damaged_messages_end_with_an_error() {
    damaged("grpc", grpc);
}

#[test]
fn damaged_replies_of_redis_end_with_an_error() {
    damaged("redis", redis);
}

#[test]
fn damaged_logins_end_with_an_error() {
    damaged("logins", logins);
}

#[test]
fn damaged_responses_end_with_an_error() {
    damaged("brokers", kafka_answers);
}
