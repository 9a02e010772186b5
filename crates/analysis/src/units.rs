//! Numbers as people read them. Every surface words its numbers here, so that one number looks the same everywhere.

/// A time in seconds with a fitting unit and about three significant digits: `38.2 ms`, `1.25 s`, `2 m 5 s`.
pub fn seconds(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 120.0 {
        let whole = value.round() as i64;
        return match (whole / 3600, whole / 60 % 60, whole % 60) {
            (0, m, 0) => format!("{m} m"),
            (0, m, s) => format!("{m} m {s} s"),
            (h, m, _) => format!("{h} h {m} m"),
        };
    }
    let (scaled, unit) = match magnitude {
        0.0 => return "0 s".to_owned(),
        m if m < 999.5e-9 => (value * 1e9, "ns"),
        m if m < 999.5e-6 => (value * 1e6, "µs"),
        m if m < 999.5e-3 => (value * 1e3, "ms"),
        _ => (value, "s"),
    };
    format!("{} {unit}", significant(scaled))
}

/// A share from 0 to 1 in per cent: `2.3 %`, `0.004 %`.
pub fn share(value: f64) -> String {
    format!("{} %", significant(value * 100.0))
}

/// A whole number with thousands apart: `12,345`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Per second: `123/s`, `0.25/s`.
pub fn rate(value: f64) -> String {
    format!("{}/s", number(value))
}

/// Any other number: thousands apart when large, three significant digits when small.
pub fn number(value: f64) -> String {
    if value.abs() >= 1000.0 && value.is_finite() {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}{}", count(value.abs().round() as u64))
    } else {
        significant(value)
    }
}

/// `0.99` → `p99`, `0.9999` → `p99.99`.
pub fn percentile(quantile: f64) -> String {
    let mut text = format!("{:.4}", quantile * 100.0);
    text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    format!("p{text}")
}

/// Three significant digits without trailing zeros; all digits before the point are kept.
fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = (2 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let mut text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_fitting_units() {
        for (value, text) in [
            (0.0, "0 s"),
            (0.0382, "38.2 ms"),
            (0.9996, "1 s"),
            (0.000_25, "250 µs"),
            (3e-9, "3 ns"),
            (1.25, "1.25 s"),
            (30.0, "30 s"),
            (125.2, "2 m 5 s"),
            (180.0, "3 m"),
            (7260.0, "2 h 1 m"),
            (-0.002, "-2 ms"),
        ] {
            assert_eq!(seconds(value), text);
        }
    }

    #[test]
    fn counts_shares_rates_and_percentiles() {
        assert_eq!([count(7), count(1234), count(1_234_567)], ["7", "1,234", "1,234,567"]);
        assert_eq!([share(0.0234), share(0.000_04), share(1.0), share(0.0)], ["2.34 %", "0.004 %", "100 %", "0 %"]);
        assert_eq!([rate(123.4), rate(0.25), rate(12_345.6)], ["123/s", "0.25/s", "12,346/s"]);
        assert_eq!([percentile(0.5), percentile(0.999), percentile(0.9999), percentile(0.975)], ["p50", "p99.9", "p99.99", "p97.5"]);
    }
}
