//! Durations as people write them: `"500ms"`, `"1.5s"`, `"1m30s"`, `"2h"`.

use crate::UnitError;

/// Parses a duration into nanoseconds. Units: `ns`, `us`/`µs`, `ms`, `s`, `m`, `h`, `d`, largest first; a bare `0` is zero.
///
/// # Errors
/// [`UnitError::Duration`], and [`UnitError::TooLong`] for a duration that would overflow the clock of a run.
pub fn parse(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError::Duration { text: text.to_owned() };
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total = 0.0f64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or_else(wrong)?;
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let unit_end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        let scale = match rest[..unit_end].trim() {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            "d" => 86_400e9,
            _ => return Err(wrong()),
        };
        total += number * scale;
        rest = &rest[unit_end..];
    }
    if total > u64::MAX as f64 / 4.0 {
        return Err(UnitError::TooLong { text: text.to_owned() });
    }
    Ok(total.round() as u64)
}

/// Formats nanoseconds in a form that [`parse`] accepts, with up to three significant digits and one unit below an hour.
pub fn format(ns: u64) -> String {
    let value = ns as f64;
    let (number, unit) = match ns {
        0 => return "0s".to_owned(),
        1..1_000 => (value, "ns"),
        1_000..1_000_000 => (value / 1e3, "µs"),
        1_000_000..1_000_000_000 => (value / 1e6, "ms"),
        1_000_000_000..60_000_000_000 => (value / 1e9, "s"),
        _ => {
            let seconds = ns / 1_000_000_000;
            let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            let mut out = String::new();
            for (n, unit) in [(h, "h"), (m, "m"), (s, "s")] {
                if n > 0 {
                    out.push_str(&format!("{n}{unit}"));
                }
            }
            return out;
        }
    };
    let decimals = if number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    let mut text = format!("{number:.decimals$}");
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_round_trips() {
        for text in ["500ms", "1.5s", "1m30s", "2h", "12.3ms", "999µs"] {
            assert_eq!(parse(text).map(format), Ok(text.to_owned()));
        }
    }
}
