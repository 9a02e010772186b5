//! The outcome of one part of the check, and the line that reports it.

use anyhow::Result;
use checkout::process;

use super::counts::TestCounts;
use super::timing::Elapsed;

/// Whether a part passed, and how many tests it ran.
pub(super) struct PartOutcome {
    pub(super) error: Option<String>,
    pub(super) passed: usize,
    pub(super) failed: usize,
}

impl PartOutcome {
    /// Of a part without tests, which counts as one.
    pub(super) fn of(result: Result<()>) -> Self {
        match result {
            Ok(()) => Self { error: None, passed: 1, failed: 0 },
            Err(error) => Self { error: Some(format!("{error:#}")), passed: 0, failed: 1 },
        }
    }

    /// Of a part that the changes cannot affect.
    pub(super) fn unaffected() -> Self {
        Self { error: None, passed: 0, failed: 0 }
    }

    /// Of a part that ran tests. A failure outside any test (a build error, a crash) counts as one.
    pub(super) fn of_tests(result: Result<bool>, tests: TestCounts) -> Self {
        let result = match result {
            Ok(_) if tests.ignored > 0 => process::pass_over(&format!("{} ignored tests", tests.ignored)).and(result),
            _ => result,
        };
        match result {
            Ok(true) if tests.failed == 0 => Self { error: None, passed: tests.passed, failed: 0 },
            Ok(_) => Self { error: Some(failures(&tests.failures)), passed: tests.passed, failed: tests.failed.max(1) },
            Err(error) => Self { error: Some(format!("{error:#}")), passed: tests.passed, failed: tests.failed.max(1) },
        }
    }

    /// `ok      test       201.4 s   310.2 s CPU  2041 passed`
    pub(super) fn closing_line(&self, name: &str, elapsed: &Elapsed) -> String {
        let times = format!("{name:<9}{:>7.1} s {:>7.1} s CPU", elapsed.wall_seconds, elapsed.cpu_seconds);
        match &self.error {
            None if self.passed > 1 => format!("ok      {times}  {} passed", self.passed),
            None if self.passed == 0 => format!("skipped {name:<9} the changes do not affect it"),
            None => format!("ok      {times}"),
            Some(error) => format!("FAILED  {times}  {error}"),
        }
    }
}

/// The names of failed tests, one per line.
fn failures(names: &[String]) -> String {
    if names.is_empty() {
        return "see above".to_owned();
    }
    names.iter().map(|name| format!("\n          {name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_without_a_failed_test_is_a_failure() {
        let outcome = PartOutcome::of_tests(Ok(false), TestCounts { passed: 4, ..TestCounts::default() });
        assert_eq!((outcome.passed, outcome.failed), (4, 1));
    }

    #[test]
    fn the_closing_line_names_each_failed_test() {
        let tests = TestCounts { passed: 4, failed: 1, failures: vec!["fleet::joins".to_owned()], ..TestCounts::default() };
        let line = PartOutcome::of_tests(Ok(false), tests).closing_line("test", &Elapsed { wall_seconds: 2.0, cpu_seconds: 1.0 });
        assert_eq!(line, "FAILED  test         2.0 s     1.0 s CPU  \n          fleet::joins");
    }
}
