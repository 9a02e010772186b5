//! The used part of a pprof profile: stacks with their values.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::GzDecoder;
use loadstone_wire_formats::decoded::{self, DecodedError};
use loadstone_wire_formats::pprof::{FIELDS, PprofFunction, PprofLocation, PprofProfile};
use prost::Message;

use super::error::GoError;
use crate::stacks::position::Frame;

/// Larger profiles are refused. Uncompressed bytes.
const PROFILE_MAX: u64 = 64 << 20;
/// Memory of a decoded profile. Bytes.
const DECODED_BYTES_MAX: usize = 128 << 20;

pub(super) struct Profile(PprofProfile);

/// One stack, innermost function first, as Go names them: `main.(*shop).buy`.
pub(super) struct Stack<'a> {
    pub(super) functions: Vec<GoFunction<'a>>,
    values: &'a [i64],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GoFunction<'a> {
    pub(super) name: &'a str,
    pub(super) file: &'a str,
}

impl Profile {
    /// # Errors
    /// When it is not a profile, or too long.
    pub(super) fn read(body: &[u8]) -> Result<Self, GoError> {
        let mut plain = Vec::new();
        if body.starts_with(&[0x1f, 0x8b]) {
            GzDecoder::new(body).take(PROFILE_MAX).read_to_end(&mut plain).map_err(|_| GoError::NotAProfile)?;
        } else {
            plain.extend_from_slice(body);
        }
        decoded::check(&plain, FIELDS, DECODED_BYTES_MAX).map_err(|problem| match problem {
            DecodedError::TooLarge(_) => GoError::TooLarge,
            DecodedError::Malformed => GoError::NotAProfile,
        })?;
        PprofProfile::decode(plain.as_slice()).map(Self).map_err(|_| GoError::NotAProfile)
    }

    pub(super) fn seconds(&self) -> f64 {
        self.0.duration_ns as f64 / 1e9
    }

    /// Which of a sample's values has this name, such as `cpu`.
    pub(super) fn value_index(&self, name: &str) -> Option<usize> {
        self.0.sample_types.iter().position(|kind| self.0.text(kind.kind) == name)
    }

    pub(super) fn stacks(&self) -> impl Iterator<Item = Stack<'_>> {
        let functions: HashMap<u64, &PprofFunction> = self.0.functions.iter().map(|function| (function.id, function)).collect();
        let locations: HashMap<u64, &PprofLocation> = self.0.locations.iter().map(|location| (location.id, location)).collect();
        self.0.samples.iter().map(move |sample| {
            let lines = sample.locations.iter().filter_map(|id| locations.get(id)).flat_map(|location| &location.lines);
            let named = lines.filter_map(|line| functions.get(&line.function));
            let named = named.map(|function| GoFunction { name: self.0.text(function.name), file: self.0.text(function.file) });
            Stack { functions: named.collect(), values: &sample.values }
        })
    }
}

impl Stack<'_> {
    pub(super) fn value(&self, index: usize) -> f64 {
        self.values.get(index).copied().unwrap_or(0) as f64
    }

    pub(super) fn frames(&self) -> Vec<Frame> {
        self.functions.iter().map(|function| Frame { function: function.short(), is_own: function.is_own() }).collect()
    }
}

/// First path elements of the standard library. Other paths begin with a host, which has a dot, or with the name of the service's module.
const STANDARD: &[&str] = &[
    "archive",
    "bufio",
    "bytes",
    "cmp",
    "compress",
    "container",
    "context",
    "crypto",
    "database",
    "debug",
    "embed",
    "encoding",
    "errors",
    "expvar",
    "flag",
    "fmt",
    "go",
    "hash",
    "html",
    "image",
    "index",
    "internal",
    "io",
    "iter",
    "log",
    "maps",
    "math",
    "mime",
    "net",
    "os",
    "path",
    "plugin",
    "reflect",
    "regexp",
    "runtime",
    "slices",
    "sort",
    "strconv",
    "strings",
    "structs",
    "sync",
    "syscall",
    "testing",
    "text",
    "time",
    "unicode",
    "unique",
    "unsafe",
    "vendor",
    "weak",
];

impl GoFunction<'_> {
    /// The file paths of a downloaded module contain its version.
    fn is_own(&self) -> bool {
        let first = self.name.split(['/', '.']).next().unwrap_or_default();
        let is_fetched = self.file.contains("/pkg/mod/") || self.file.contains("/vendor/") || self.file.contains('@');
        !STANDARD.contains(&first) && !is_fetched
    }

    /// `sql.(*DB).conn` of `database/sql.(*DB).conn`. The numbers of closures remain, because they distinguish closures.
    fn short(&self) -> String {
        // Type parameters contain package paths, too.
        let name = self.name.split('[').next().unwrap_or(self.name);
        let rest = if name.len() < self.name.len() { self.name.rsplit(']').next().unwrap_or_default() } else { "" };
        format!("{}{rest}", name.rsplit('/').next().unwrap_or(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_of_empty_messages_is_refused() {
        let samples = [0x12, 0x00].repeat(4 << 20);
        assert!(matches!(Profile::read(&samples), Err(GoError::TooLarge)));
    }

    #[test]
    fn names_are_short_and_the_services_own_are_known() {
        let of = |name, file| GoFunction { name, file };
        for (function, short, is_own) in [
            (of("database/sql.(*DB).conn", "/usr/local/go/src/database/sql/sql.go"), "sql.(*DB).conn", false),
            (of("main.(*shop).buy", "/srv/shop.go"), "main.(*shop).buy", true),
            (of("example.com/shop/stock.take.func1", "/srv/stock/take.go"), "stock.take.func1", true),
            (of("modernc.org/sqlite.(*conn).step", "/go/pkg/mod/modernc.org/sqlite@v1/sqlite.go"), "sqlite.(*conn).step", false),
            (of("shop/cache.(*Of[example.com/a/b.T]).get", "shop/cache/of.go"), "cache.(*Of).get", true),
        ] {
            assert_eq!((function.short().as_str(), function.is_own()), (short, is_own), "{}", function.name);
        }
    }
}
