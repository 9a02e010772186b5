//! Strings that are unique over all calls, cores, runs and machines, without coordination.
//!
//! `PREFIX-RUN-REALM-COUNT`, in base 36. RUN is the millisecond of the start followed by random digits, so that two runs that start
//! together differ. REALM numbers the realms of this process. COUNT counts the calls of the realm.

use std::hash::{BuildHasher, RandomState};

/// Identifies one run of one process.
#[derive(Debug, Clone)]
pub(crate) struct RunMark(String);

impl RunMark {
    pub(crate) fn new() -> Self {
        let millis = loadstone_metrics::clock::wall_ns() / 1_000_000;
        // The operating system seeds the standard hasher's keys.
        let random = RandomState::new().hash_one(std::process::id());
        Self(base36(millis) + &format!("{:0>3}", base36(random % 36u64.pow(3))))
    }
}

impl Default for RunMark {
    fn default() -> Self {
        Self::new()
    }
}

/// Unique strings of one realm.
#[derive(Debug)]
pub(crate) struct UniqueIds {
    start: String,
    count: u64,
}

impl UniqueIds {
    /// `realm` is unique within the process.
    pub(crate) fn new(mark: &RunMark, realm: u64) -> Self {
        Self { start: format!("{}-{}-", mark.0, base36(realm)), count: 0 }
    }

    pub(crate) fn next(&mut self, prefix: Option<&str>) -> String {
        let mut id = String::with_capacity(prefix.map_or(0, |prefix| prefix.len() + 1) + self.start.len() + 6);
        if let Some(prefix) = prefix.filter(|prefix| !prefix.is_empty()) {
            id.push_str(prefix);
            id.push('-');
        }
        id.push_str(&self.start);
        id.push_str(&base36(self.count));
        self.count += 1;
        id
    }
}

fn base36(mut value: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(b"0123456789abcdefghijklmnopqrstuvwxyz"[(value % 36) as usize]);
        value /= 36;
        if value == 0 {
            break;
        }
    }
    digits.iter().rev().map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_differ_between_calls_realms_and_runs() {
        let mut seen = HashSet::new();
        for _run in 0..2 {
            let mark = RunMark::new();
            for realm in 0..40 {
                let mut ids = UniqueIds::new(&mark, realm);
                for _ in 0..100 {
                    assert!(seen.insert(ids.next(None)));
                }
            }
        }
    }

    #[test]
    fn ids_are_short_and_plain() {
        let id = UniqueIds::new(&RunMark::new(), 3).next(Some("user"));
        assert!(id.starts_with("user-") && id.ends_with("-3-0") && id.len() < 28, "{id}");
        assert!(id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'), "{id}");
    }

    #[test]
    fn base_36_is_positional() {
        for value in [0, 1, 35, 36, 1_000_000, u64::MAX] {
            assert_eq!(u64::from_str_radix(&base36(value), 36), Ok(value));
        }
    }
}
