//! Seeds that are cut and changed, for the tests of crates with fuzz targets: each includes this file.

use std::path::Path;

/// Changes of each seed, unless the variable `DAMAGED_ROUNDS` has another number.
const ROUNDS: usize = 300;

/// Calls the function of a target with its seeds, cut and changed in many ways. Fuzzing goes on from the same seeds.
pub(crate) fn damaged(target: &str, read: fn(&[u8])) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let rounds = std::env::var("DAMAGED_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let mut random = 0x9e37_79b9_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    for seed in std::fs::read_dir(seeds).unwrap() {
        let seed = std::fs::read(seed.unwrap().path()).unwrap();
        read(&seed);
        for _ in 0..rounds {
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
