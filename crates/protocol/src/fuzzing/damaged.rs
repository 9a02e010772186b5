//! The functions of the targets, on seeds that were cut and changed.
use std::path::Path;

use super::{codings, grpc, head, http2, kafka_answers, logins};

/// Calls the function of a target with its seeds, cut and changed in many ways. Fuzzing goes on from the same seeds.
fn damaged(target: &str, read: fn(&[u8])) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut random = 0x9e37_79b9_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    for seed in std::fs::read_dir(seeds).unwrap() {
        let seed = std::fs::read(seed.unwrap().path()).unwrap();
        read(&seed);
        for _ in 0..300 {
            let mut bytes = seed.clone();
            for _ in 0..=next(3) {
                let at = next(bytes.len());
                match next(4) {
                    0 => bytes.truncate(at.max(1)),
                    1 => bytes[at] = next(256) as u8,
                    2 => bytes[at] = b"\0\xff\"'<>[]{}(),;:%\\\n09-"[next(21)],
                    _ => drop(bytes.splice(at..at, seed[next(seed.len())..].iter().copied().take(20).collect::<Vec<_>>())),
                }
            }
            read(&bytes);
        }
    }
}

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
fn damaged_logins_end_with_an_error() {
    damaged("logins", logins);
}

#[test]
fn damaged_responses_end_with_an_error() {
    damaged("brokers", kafka_answers);
}
