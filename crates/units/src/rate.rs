//! Rates as people write them: `500`, `"360/s"`, `"90/min"`, `"5000/h"`.

use crate::UnitError;

/// Parses a rate into occurrences per second. Units: `/s`, `/m` or `/min`, `/h`. A number without a unit is per second.
///
/// # Errors
/// [`UnitError::Rate`], also if the rate is negative or not finite.
pub fn parse(text: &str) -> Result<f64, UnitError> {
    let wrong = || UnitError::Rate { text: text.to_owned() };
    let (number, unit) = text.split_once('/').unwrap_or((text, "s"));
    let seconds = match unit.trim() {
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    if number.is_finite() && number >= 0.0 { Ok(number / seconds) } else { Err(wrong()) }
}
