//! Shares as people write them: `"1%"`, `0.01`.

use crate::UnitError;

/// Parses a share into a number from 0 to 1.
///
/// # Errors
/// [`UnitError::Share`], also if the value is outside 0 to 1.
pub fn parse(text: &str) -> Result<f64, UnitError> {
    let wrong = || UnitError::Share { text: text.to_owned() };
    let trimmed = text.trim();
    let share = match trimmed.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => trimmed.parse(),
    };
    share.ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(wrong)
}
