//! How many tests passed and failed, read from the output of nextest, cargo and vitest.

/// Tests that ran, and those that did not.
#[derive(Default, PartialEq, Debug)]
pub(super) struct TestCounts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    /// Tests of Rust that say `#[ignore]`.
    pub(super) ignored: usize,
}

impl TestCounts {
    /// `test result: ok. 12 passed; 0 failed; 0 ignored; …`
    pub(super) fn read_cargo(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.add(counts);
        }
    }

    /// `     Summary [ 201.371s] 2041 tests run: 2040 passed (3 slow, 1 flaky), 1 failed, 0 skipped`. A test that ran too long has failed; what a
    /// filter of the configuration leaves out (`skipped`) is not counted.
    pub(super) fn read_nextest(&mut self, line: &str) {
        let Some((_, counts)) = line.trim_start().strip_prefix("Summary [").and_then(|rest| rest.split_once(" run: ")) else { return };
        self.add(&counts.replace(" timed out", " failed"));
    }

    /// `      Tests  1 failed | 41 passed (42)`, after a line of the same form about files.
    pub(super) fn read_vitest(&mut self, line: &str) {
        let line = without_colours(line);
        if let Some(counts) = line.trim_start().strip_prefix("Tests ") {
            self.add(counts);
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

    #[test]
    fn counts_add_up_over_binaries() {
        let mut tests = TestCounts::default();
        tests.read_cargo("test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s");
        tests.read_cargo("test passed_by ... ok");
        tests.read_cargo("test result: FAILED. 3 passed; 2 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.01s");
        assert_eq!(tests, TestCounts { passed: 15, failed: 2, ignored: 3 });
    }

    #[test]
    fn nextest_counts_tests_that_ran_too_long_as_failed() {
        let mut tests = TestCounts::default();
        tests.read_nextest("     Summary [ 201.371s] 2041 tests run: 2035 passed (3 slow, 1 flaky), 4 failed, 2 timed out, 1 skipped");
        assert_eq!(tests, TestCounts { passed: 2035, failed: 6, ignored: 0 });
    }

    #[test]
    fn vitest_counts_tests_and_not_files() {
        let mut tests = TestCounts::default();
        tests.read_vitest("\u{1b}[2m Test Files \u{1b}[22m \u{1b}[1m\u{1b}[32m3 passed\u{1b}[39m\u{1b}[22m\u{1b}[90m (3)\u{1b}[39m");
        tests.read_vitest("\u{1b}[2m      Tests \u{1b}[22m \u{1b}[31m1 failed\u{1b}[39m | \u{1b}[32m41 passed\u{1b}[39m (42)");
        assert_eq!(tests, TestCounts { passed: 41, failed: 1, ignored: 0 });
    }
}
