//! Statistics of a run, read from libFuzzer's log (<https://llvm.org/docs/LibFuzzer.html#output>).

use std::str::FromStr;

/// The counters that libFuzzer logs.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FuzzStatistics {
    pub(super) executions: u64,
    pub(super) per_second: u64,
    /// Reached code blocks or edges (`cov`).
    pub(super) coverage: u64,
    /// Reached features: edges with how often they were taken (`ft`).
    pub(super) features: u64,
    /// Inputs in the corpus; each reaches something that the others do not (`corp`).
    pub(super) inputs: u64,
    /// The file with the input that failed: a crash, a failed assertion, too much time or memory.
    pub(super) crash: Option<String>,
}

impl FuzzStatistics {
    pub(super) fn read(log: &str) -> Self {
        let mut said = Self::default();
        for line in log.lines() {
            if line.starts_with('#') && line.contains(" cov: ") {
                // After a crash there may be no other count.
                said.executions = line[1..].split_whitespace().next().and_then(number).unwrap_or(said.executions);
                said.coverage = behind(line, "cov:").unwrap_or(said.coverage);
                said.features = behind(line, "ft:").unwrap_or(said.features);
                said.inputs = behind(line, "corp:").unwrap_or(said.inputs);
            }
            said.executions = behind(line, "stat::number_of_executed_units:").unwrap_or(said.executions);
            said.per_second = behind(line, "stat::average_exec_per_sec:").unwrap_or(said.per_second);
            if let Some((_, file)) = line.split_once("Test unit written to ") {
                said.crash = Some(file.trim().to_owned());
            }
        }
        said
    }
}

/// The number after a label.
fn behind(line: &str, label: &str) -> Option<u64> {
    line.split_whitespace().skip_while(|word| *word != label).nth(1).and_then(number)
}

/// `87` of `87/4096b`.
fn number(word: &str) -> Option<u64> {
    let digits = word.find(|letter: char| !letter.is_ascii_digit()).map_or(word, |end| &word[..end]);
    u64::from_str(digits).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_to_its_end_is_read() {
        let log = "\
INFO: Running with entropic power schedule (0xFF, 100).
INFO: Seed: 1234567890
INFO: -max_len is not provided; libFuzzer will not generate inputs larger than 4096 bytes
#2\tINITED cov: 16 ft: 17 corp: 1/1b exec/s: 0 rss: 41Mb
#1048576\tpulse  cov: 240 ft: 911 corp: 201/5093b lim: 4096 exec/s: 524288 rss: 301Mb
#2000001\tDONE   cov: 243 ft: 930 corp: 207/5100b lim: 4096 exec/s: 500000 rss: 305Mb
Done 2000001 runs in 4 second(s)
stat::number_of_executed_units: 2000001
stat::average_exec_per_sec:     500000
stat::new_units_added:          350
";
        let said = FuzzStatistics { executions: 2_000_001, per_second: 500_000, coverage: 243, features: 930, inputs: 207, crash: None };
        assert_eq!(FuzzStatistics::read(log), said);
    }

    #[test]
    fn a_crash_is_read_with_its_file() {
        let log = "\
#4096\tpulse  cov: 40 ft: 41 corp: 9/90b lim: 43 exec/s: 2048 rss: 60Mb
thread '<unnamed>' panicked at src/fuzzing.rs:20:5:
assertion `left == right` failed
==77== ERROR: libFuzzer: deadly signal
artifact_prefix='crashes/chunked-'; Test unit written to crashes/chunked-crash-da39a3ee
";
        let said = FuzzStatistics::read(log);
        assert_eq!((said.executions, said.coverage, said.inputs), (4096, 40, 9));
        assert_eq!(said.crash.as_deref(), Some("crashes/chunked-crash-da39a3ee"));
    }

    #[test]
    fn a_run_that_never_began_has_said_nothing() {
        assert_eq!(FuzzStatistics::read("error while loading shared libraries\n"), FuzzStatistics::default());
    }
}
