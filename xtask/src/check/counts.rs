//! How many tests passed and which failed, read from the output of nextest, cargo and vitest.

/// Tests that ran, and those that did not.
#[derive(Default, PartialEq, Debug)]
pub(super) struct TestCounts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    /// Tests of Rust that say `#[ignore]`.
    pub(super) ignored: usize,
    /// The names of failed tests, so that the end of a log is enough to know what failed.
    pub(super) failures: Vec<String>,
    /// Whether nextest's summary has begun, which lists what failed and what passed on a retry.
    pub(super) is_summary: bool,
}

impl TestCounts {
    /// `test result: ok. 12 passed; 0 failed; 0 ignored; …`
    pub(super) fn read_cargo(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.add(counts);
        }
        // `test signal::time_series (line 24) ... FAILED`
        self.add_failure(line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")));
    }

    /// `     Summary [ 201.371s] 2041 tests run: 2040 passed (3 slow, 1 flaky), 1 failed, 0 skipped`. A test that ran too long has failed; what a
    /// filter of the configuration leaves out (`skipped`) is not counted.
    pub(super) fn read_nextest(&mut self, line: &str) {
        let line = line.trim_start();
        if let Some((_, counts)) = line.strip_prefix("Summary [").and_then(|rest| rest.split_once(" run: ")) {
            self.add(&counts.replace(" timed out", " failed"));
            self.is_summary = true;
            return;
        }
        // `  TRY 2 FAIL [  61.250s] (  8/2041) loadstone::it fleet::joins`. A line before the summary may be followed by a retry that passes.
        let passed = ["FLAKY", "LEAK ", "SLOW", "PASS"].iter().any(|state| line.starts_with(state));
        let name = line.split_once("s] (").and_then(|(_, rest)| rest.split_once(") ")).map(|(_, name)| name.trim());
        self.add_failure(name.filter(|_| self.is_summary && !passed));
    }

    /// `      Tests  1 failed | 41 passed (42)`, after a line of the same form about files.
    pub(super) fn read_vitest(&mut self, line: &str) {
        let line = without_colours(line);
        if let Some(counts) = line.trim_start().strip_prefix("Tests ") {
            self.add(counts);
        }
        // ` FAIL  test/hour.test.ts > the page remains responsive`
        self.add_failure(line.strip_prefix(" FAIL  ").map(str::trim_end));
    }

    fn add_failure(&mut self, name: Option<&str>) {
        if let Some(name) = name
            && !self.failures.iter().any(|known| known == name)
        {
            self.failures.push(name.to_owned());
        }
    }

    /// Adds every number before the word `passed`, `failed` or `ignored`.
    fn add(&mut self, text: &str) {
        let words: Vec<&str> = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            match (pair[0].parse::<usize>(), pair[1]) {
                (Ok(number), "passed") => self.passed += number,
                (Ok(number), "failed") => self.failed += number,
                (Ok(number), "ignored") => self.ignored += number,
                _ => {}
            }
        }
    }
}

fn without_colours(line: &str) -> String {
    let mut plain = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(|letter| letter.is_ascii_alphabetic());
        } else {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was read: passed, failed, ignored, names of failures.
    fn read(reader: fn(&mut TestCounts, &str), lines: &[&str]) -> (usize, usize, usize, Vec<String>) {
        let mut tests = TestCounts::default();
        lines.iter().for_each(|line| reader(&mut tests, line));
        (tests.passed, tests.failed, tests.ignored, tests.failures)
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn counts_add_up_over_binaries() {
        let lines = [
            "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test passed_by ... ok",
            "test src/lib.rs - rate (line 3) ... FAILED",
            "test result: FAILED. 3 passed; 2 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        ];
        assert_eq!(read(TestCounts::read_cargo, &lines), (15, 2, 3, names(&["src/lib.rs - rate (line 3)"])));
    }

    #[test]
    fn nextest_counts_tests_that_ran_too_long_as_failed() {
        let lines = [
            "  TRY 1 FAIL [   2.000s] (  6/2041) loadstone::it fleet::leaves",
            "     Summary [ 201.371s] 2041 tests run: 2035 passed (3 slow, 1 flaky), 4 failed, 2 timed out, 1 skipped",
            "   FLAKY 2/2 [   1.000s] (  6/2041) loadstone::it fleet::leaves",
            "        FAIL [  61.250s] (  8/2041) loadstone::it fleet::joins",
            "   TRY 2 TMT [ 300.007s] (  9/2041) loadstone::it fleet::waits",
        ];
        assert_eq!(
            read(TestCounts::read_nextest, &lines),
            (2035, 6, 0, names(&["loadstone::it fleet::joins", "loadstone::it fleet::waits"]))
        );
    }

    #[test]
    fn vitest_counts_tests_and_not_files() {
        let lines = [
            "\u{1b}[41m\u{1b}[1m FAIL \u{1b}[22m\u{1b}[49m test/hour.test.ts\u{1b}[2m > \u{1b}[22mthe page remains responsive",
            "\u{1b}[2m Test Files \u{1b}[22m \u{1b}[1m\u{1b}[32m3 passed\u{1b}[39m\u{1b}[22m\u{1b}[90m (3)\u{1b}[39m",
            "\u{1b}[2m      Tests \u{1b}[22m \u{1b}[31m1 failed\u{1b}[39m | \u{1b}[32m41 passed\u{1b}[39m (42)",
        ];
        assert_eq!(read(TestCounts::read_vitest, &lines), (41, 1, 0, names(&["test/hour.test.ts > the page remains responsive"])));
    }
}
