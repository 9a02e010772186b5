//! Reading the kernel's text files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A file of the kernel that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {problem}", path.display())]
pub(crate) struct FileError {
    path: PathBuf,
    problem: std::io::Error,
}

/// # Errors
/// [`FileError`] names the file.
pub(crate) fn read(path: impl AsRef<Path>) -> Result<String, FileError> {
    let path = path.as_ref();
    std::fs::read_to_string(path).map_err(|problem| FileError { path: path.to_owned(), problem })
}

/// `name value` or `name: value [unit]` per line.
pub(crate) fn pairs(text: &str) -> HashMap<&str, u64> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next()?.trim_end_matches(':');
            Some((name, words.next()?.parse().ok()?))
        })
        .collect()
}

/// Two-line tables of `/proc/net/snmp` and `/proc/net/netstat`: `Tcp: names…` above `Tcp: values…`.
#[cfg(target_os = "linux")]
pub(crate) fn table_value(text: &str, group: &str, name: &str) -> Option<f64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let column = lines.next()?.split_whitespace().position(|word| word == name)?;
    lines.next()?.split_whitespace().nth(column)?.parse().ok()
}

/// Clock ticks per second of times in `/proc`.
#[cfg(target_os = "linux")]
pub(crate) fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

/// `some avg10=… total=123` of a pressure file: share of time, as total seconds. `None` without that line.
pub(crate) fn pressure_seconds(text: &str, share: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with(share))?;
    let total: u64 = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()?;
    Some(total as f64 / 1e6)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn tables_pairs_and_pressure() {
        let snmp = "Ip: A B\nIp: 1 2\nTcp: RtoMin RetransSegs\nTcp: 200 42\n";
        assert_eq!(table_value(snmp, "Tcp", "RetransSegs"), Some(42.0));
        assert_eq!(table_value(snmp, "Tcp", "Missing"), None);
        assert_eq!(table_value("", "Tcp", "RetransSegs"), None);
        let memory = pairs("MemTotal:  100 kB\nOdd\nnr_throttled 7\n");
        assert_eq!((memory["MemTotal"], memory["nr_throttled"], memory.len()), (100, 7, 2));
        let pressure = "some avg10=1.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0 avg60=0 avg300=0 total=500000\n";
        assert_eq!((pressure_seconds(pressure, "some"), pressure_seconds(pressure, "full")), (Some(2.5), Some(0.5)));
    }
}
