//! Sizes as people write them: `500MB`, `2 GB`, `1.5TB`, `4096B`.

use crate::UnitError;

/// Parses a size into bytes. Decimal units are `kB`, `MB`, `GB`, `TB`, binary units `KiB`, `MiB`, `GiB`, `TiB`. A unit is required, since `20` could
/// mean any of them.
///
/// # Errors
/// [`UnitError::Size`], also if the size is negative or not finite.
pub fn parse(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError::Size { text: text.to_owned() };
    let trimmed = text.trim();
    let (number, unit) = trimmed.split_at(trimmed.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(trimmed.len()));
    let bytes = match unit.to_ascii_lowercase().as_str() {
        "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024f64.powi(2),
        "gib" => 1024f64.powi(3),
        "tib" => 1024f64.powi(4),
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let size = number * bytes;
    if (0.0..=9e18).contains(&size) { Ok(size as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        let of = |text: &str| parse(text).ok();
        assert_eq!(
            [of("2GB"), of("1.5 MB"), of("3 KiB"), of("4096B"), of("0 b")],
            [Some(2_000_000_000), Some(1_500_000), Some(3072), Some(4096), Some(0)]
        );
        for wrong in ["", "20", "GB", "-1GB", "2 parsecs", "1e400", "NaN"] {
            assert!(of(wrong).is_none(), "{wrong}");
        }
    }
}
