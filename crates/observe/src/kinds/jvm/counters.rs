//! A JVM's own performance counters: collection time, the old generation, threads. They are in a file that the JVM shares (`hsperfdata`), so reading them
//! costs the JVM nothing. The layout is defined by PerfDataPrologue and PerfDataEntry in HotSpot's perfMemory.hpp.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use loadstone_metrics::{Role, unit};

use crate::collector::{MetricSpec, SignalCollector};

const COLLECTING: MetricSpec<'_> =
    MetricSpec::counter("gc", unit::SECONDS, "Time in which collectors stopped all threads").role(Role::GarbageCollection);
const STOPPED: MetricSpec<'_> = MetricSpec::counter("stopped", unit::SECONDS, "Time in which all threads were stopped, for any reason");
const OLD: MetricSpec<'_> = MetricSpec::gauge("heap_old", unit::BYTES, "Old generation in use").role(Role::HeapUsed);
const OLD_MAX: MetricSpec<'_> = MetricSpec::gauge("heap_old_max", unit::BYTES, "Maximum size of the old generation").role(Role::HeapMax);
const LIVE_THREADS: MetricSpec<'_> = MetricSpec::gauge("live_threads", unit::COUNT, "Live threads");

/// Collectors and generations are numbered from 0.
const NUMBERS: std::ops::Range<u32> = 0..4;
/// The file has 32 KB unless `-XX:PerfDataMemorySize` sets another size. Bytes.
const FILE_BYTES_MAX: u64 = 4 << 20;
const MAGIC: u32 = 0xcafe_c0c0;
const LITTLE_ENDIAN: u8 = 1;
/// Offsets of the number of entries and of the first entry.
const FIRST_ENTRY_AT: usize = 24;
const COUNT_AT: usize = 28;
/// Type codes of a 64-bit number and of a byte. A string is a vector of bytes.
const LONG: u8 = b'J';
const BYTE: u8 = b'B';

/// Reports the counters of a process, if it has any (`-XX:-UsePerfData` disables them).
pub(super) fn read(pid: u32, number_inside: u32, out: &mut SignalCollector) {
    if let Some(bytes) = file(pid, number_inside).and_then(|path| content(&path)) {
        put(&JvmCounters::parse(&bytes).unwrap_or_default(), out);
    }
}

/// `/tmp/hsperfdata_USER/PID`, for any user.
fn file(pid: u32, number_inside: u32) -> Option<PathBuf> {
    let folders = std::fs::read_dir(format!("/proc/{pid}/root/tmp")).ok()?.flatten();
    let mut files = folders
        .filter(|folder| folder.file_name().to_string_lossy().starts_with("hsperfdata_"))
        .map(|folder| folder.path().join(number_inside.to_string()));
    files.find(|path| path.is_file())
}

/// The whole file, unless it is too large: every user of the observed machine may create a file of this name.
fn content(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= FILE_BYTES_MAX).then_some(bytes)
}

#[derive(Debug, Default)]
struct JvmCounters {
    numbers: HashMap<String, f64>,
    texts: HashMap<String, String>,
}

impl JvmCounters {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let magic = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?);
        if magic != MAGIC || *bytes.get(4)? != LITTLE_ENDIAN {
            return None;
        }
        let mut found = Self::default();
        let mut at = number(bytes, FIRST_ENTRY_AT)?;
        // In invalid data, reads at most as many entries as fit.
        for _ in 0..number(bytes, COUNT_AT)?.min(bytes.len()) {
            let length = number(bytes, at)?;
            found.entry(bytes.get(at..at.checked_add(length)?)?);
            at += length.max(1);
        }
        Some(found)
    }

    fn entry(&mut self, entry: &[u8]) -> Option<()> {
        let name = text(entry.get(number(entry, 4)?..)?);
        let (vector, kind, data) = (number(entry, 8)?, *entry.get(12)?, entry.get(number(entry, 16)?..)?);
        match (kind, vector) {
            (LONG, 0) => drop(self.numbers.insert(name, i64::from_le_bytes(data.get(..8)?.try_into().ok()?) as f64)),
            (BYTE, length) if length > 0 => drop(self.texts.insert(name, text(data.get(..length)?))),
            _ => {}
        }
        Some(())
    }
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(i32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?)).ok()
}

/// Up to its end or a zero.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn put_any(bytes: &[u8]) {
    put(&JvmCounters::parse(bytes).unwrap_or_default(), &mut SignalCollector::new("jvm"));
}

fn put(counters: &JvmCounters, out: &mut SignalCollector) {
    let number = |name: &str| counters.numbers.get(name).copied();
    let Some(frequency) = number("sun.os.hrt.frequency").filter(|frequency| *frequency > 0.0) else { return };
    // Concurrent collectors do not stop the application's threads.
    let is_concurrent = |collector: &u32| {
        let name = counters.texts.get(&format!("sun.gc.collector.{collector}.name")).map(|name| name.to_ascii_lowercase());
        name.is_some_and(|name| name.contains("concurrent") || name.contains("cycle"))
    };
    let stopping = NUMBERS.filter(|collector| !is_concurrent(collector));
    let collecting = stopping.filter_map(|collector| number(&format!("sun.gc.collector.{collector}.time")));
    if let Some(ticks) = collecting.reduce(|a, b| a + b) {
        out.put(COLLECTING, ticks / frequency);
    }
    number("sun.rt.safepointTime").into_iter().for_each(|ticks| out.put(STOPPED, ticks / frequency));
    let is_old =
        |generation: &u32| counters.texts.get(&format!("sun.gc.generation.{generation}.name")).is_some_and(|name| name.contains("old"));
    if let Some(old) = NUMBERS.clone().find(is_old) {
        number(&format!("sun.gc.generation.{old}.space.0.used")).into_iter().for_each(|used| out.put(OLD, used));
        number(&format!("sun.gc.generation.{old}.maxCapacity")).into_iter().for_each(|max| out.put(OLD_MAX, max));
    }
    number("java.threads.live").into_iter().for_each(|threads| out.put(LIVE_THREADS, threads));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("42");
        // Sparse: it takes no space on the disk, and its content would take a terabyte of memory.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(content(&path), None);
        std::fs::write(&path, "small").unwrap();
        assert_eq!(content(&path).as_deref(), Some(&b"small"[..]));
    }

    #[test]
    fn ticks_become_seconds_and_the_old_generation_is_found_by_its_name() {
        let numbers = [
            ("java.threads.live", 23.0),
            ("sun.os.hrt.frequency", 1000.0),
            ("sun.gc.collector.0.time", 1500.0),
            ("sun.gc.collector.1.time", 500.0),
            ("sun.gc.collector.2.time", 9000.0),
            ("sun.gc.generation.1.maxCapacity", 200.0),
            ("sun.gc.generation.1.space.0.used", 150.0),
            ("sun.rt.safepointTime", 250.0),
        ];
        let texts =
            [("sun.gc.generation.0.name", "new"), ("sun.gc.generation.1.name", "old"), ("sun.gc.collector.2.name", "Z concurrent cycles")];
        let counters = JvmCounters {
            numbers: numbers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            texts: texts.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        };
        let mut out = SignalCollector::new("jvm");
        put(&counters, &mut out);
        let reported: Vec<(String, f64)> =
            out.finish(0).into_iter().map(|(signal, point)| (signal.metric().to_owned(), point.value)).collect();
        let wanted = [("gc", 2.0), ("stopped", 0.25), ("heap_old", 150.0), ("heap_old_max", 200.0), ("live_threads", 23.0)];
        assert_eq!(reported, wanted.map(|(name, value)| (name.to_owned(), value)));
    }

    proptest! {
        /// The file is written while it is read.
        #[test]
        fn any_bytes_are_read_without_harm(mut bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for (at, byte) in [0xca, 0xfe, 0xc0, 0xc0, LITTLE_ENDIAN].into_iter().enumerate().take(bytes.len()) {
                bytes[at] = byte;
            }
            let _ = JvmCounters::parse(&bytes);
        }
    }
}
