//! Formats numbers the same everywhere: three significant digits, a space before the unit, commas in thousands.
//!
//! Deliberately absent: locales. People and scripts in many places read a report, and compare reports by eye. `cases.json` defines the output of each
//! function; the page's tests read it as well.

/// Written if there is no value.
pub const NONE: &str = "—";

/// A length of time in seconds: `850 µs`, `38.2 ms`, `1.20 s`, `2 min 5 s`, `1 h 2 min`.
pub fn seconds(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if value < 0.0 {
        return format!("−{}", seconds(-value));
    }
    // A value moves to the next unit at the point where rounding to three digits would reach it.
    match value {
        0.0 => "0 s".to_owned(),
        v if v < 999.5e-9 => format!("{} ns", three_digits(v * 1e9)),
        v if v < 999.5e-6 => format!("{} µs", three_digits(v * 1e6)),
        v if v < 999.5e-3 => format!("{} ms", three_digits(v * 1e3)),
        v if v < 59.95 => format!("{} s", three_digits(v)),
        v => long(v.round() as u64),
    }
}

fn long(total: u64) -> String {
    let (days, h, m, s) = (total / 86_400, total / 3600 % 24, total / 60 % 60, total % 60);
    let parts: Vec<String> = [(days, "d"), (h, "h"), (m, "min"), (s, "s")]
        .iter()
        .filter(|(n, _)| *n > 0)
        .take(2)
        .map(|(n, unit)| format!("{n} {unit}"))
        .collect();
    parts.join(" ")
}

/// [`seconds`], or [`NONE`].
pub fn seconds_or_none(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), seconds)
}

/// A count: `1,204`. From ten million on in three digits: `12.3 M`.
pub fn count(value: u64) -> String {
    if value >= 10_000_000 { scaled(value as f64, "") } else { thousands(value) }
}

/// Per second: `0.25/s`, `38.2/s`, `1,204/s`, `12.3 M/s`.
pub fn rate(per_second: f64) -> String {
    format!("{}/s", number(per_second))
}

/// A number without a unit, in the style of [`rate`].
pub fn number(value: f64) -> String {
    match value {
        v if !v.is_finite() => NONE.to_owned(),
        v if v < 0.0 => format!("−{}", number(-v)),
        v if v >= 1e7 => scaled(v, ""),
        v if v >= 999.5 || v == v.trunc() => thousands(v.round() as u64),
        v if v < 0.001 => format!("{v:.1e}"),
        v => three_digits(v),
    }
}

/// A share from 0 to 1 in percent: `0 %`, `<0.01 %`, `1.25 %`, `100 %`. Rounding never reaches 0 % or 100 % from inside.
pub fn share(value: f64) -> String {
    if value.is_finite() { format!("{} %", percent(value)) } else { NONE.to_owned() }
}

/// Ratio from which a change is written as a factor: `× 750` is easier to read than `+74900 %`.
pub const FACTOR_MIN: f64 = 10.0;

/// A relative change, from the ratio of the new value to the old one: `+5.12 %`, `−3.10 %`, `under 0.01 %`, from [`FACTOR_MIN`] on `× 750`.
pub fn change(ratio: f64) -> String {
    if ratio >= FACTOR_MIN { factor(ratio) } else { signed_share(ratio - 1.0) }
}

/// A share with its sign: `+5.12 %`, `−3.10 %`, `under 0.01 %`, `0 %`.
pub fn signed_share(part: f64) -> String {
    /// A smaller change is not shown as a number, so it has no sign.
    const SMALLEST: f64 = 0.0001;
    match part {
        0.0 => share(part),
        part if part.abs() < SMALLEST => format!("under {} %", 100.0 * SMALLEST),
        part if part < 0.0 => format!("−{}", share(-part)),
        part if part.is_finite() => format!("+{}", share(part)),
        _ => NONE.to_owned(),
    }
}

/// A ratio: `× 0.53`, `× 1.93`, `× 12`, `× 1,204`.
pub fn factor(ratio: f64) -> String {
    match ratio {
        r if !r.is_finite() => NONE.to_owned(),
        r if r < 0.01 => format!("× {}", number(r)),
        r if r < 9.995 => format!("× {r:.2}"),
        r => format!("× {}", number(r.round())),
    }
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p <= 0.0 => "0".to_owned(),
        p if p < 0.01 => "<0.01".to_owned(),
        100.0 => "100".to_owned(),
        p if p < 100.0 && p > 99.99 => ">99.99".to_owned(),
        p if p < 100.0 && p > 99.9 => format!("{:.2}", (p * 100.0).floor() / 100.0),
        p if p < 100.0 && p > 99.0 => format!("{:.1}", (p * 10.0).floor() / 10.0),
        p => three_digits(p),
    }
}

/// Bytes in decimal units: `512 B`, `1.20 kB`, `3.40 MB`.
pub fn bytes(value: u64) -> String {
    match value {
        v if v < 1000 => format!("{v} B"),
        v => {
            let (number, unit) = scale(v as f64);
            format!("{number} {}B", if unit == "K" { "k" } else { unit })
        }
    }
}

/// Memory in binary units: `23.5 GiB`.
pub fn memory(value: u64) -> String {
    let mut amount = value as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if amount < 1023.5 {
            return format!("{} {unit}", three_digits(amount));
        }
        amount /= 1024.0;
    }
    format!("{} TiB", three_digits(amount))
}

/// `0.99` → `p99`, `0.9999` → `p99.99`.
pub fn percentile(quantile: f64) -> String {
    let mut text = format!("{:.4}", quantile * 100.0);
    text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    format!("p{text}")
}

/// A value in the unit of a signal: `s`, `/s`, `share`, `bytes`, `bytes/s`, `s/s`, `1` or nothing, or a word that follows the number.
pub fn in_unit(value: f64, unit: &str) -> String {
    let bytes = |value: f64| if value < 0.0 { format!("−{}", bytes(-value as u64)) } else { bytes(value as u64) };
    match unit {
        "s" => seconds(value),
        "share" => share(value),
        "/s" => rate(value),
        "bytes" => bytes(value),
        "bytes/s" => format!("{}/s", bytes(value)),
        "s/s" => format!("{} s/s", number(value)),
        "" | "1" => number(value),
        unit => match (number(value).as_str(), unit.strip_suffix('s')) {
            // Shorter ones, such as ms, are symbols.
            ("1", Some(one)) if one.len() > 2 => format!("1 {one}"),
            (number, _) => format!("{number} {unit}"),
        },
    }
}

/// `1 request`, `2 requests`.
pub fn counted(value: u64, singular: &str) -> String {
    format!("{} {singular}{}", count(value), if value == 1 { "" } else { "s" })
}

fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn scaled(value: f64, unit: &str) -> String {
    let (number, prefix) = scale(value);
    format!("{number} {prefix}{unit}")
}

/// Three digits and the decimal prefix; `T` is the largest.
fn scale(value: f64) -> (String, &'static str) {
    let mut amount = value / 1e3;
    for prefix in ["K", "M", "G"] {
        if amount < 999.5 {
            return (three_digits(amount), prefix);
        }
        amount /= 1e3;
    }
    (if amount < 999.5 { three_digits(amount) } else { thousands(amount as u64) }, "T")
}

/// The number of significant digits that a sample of this size supports: a count has a relative error of 1/√n.
pub fn digits_of(samples: f64) -> usize {
    match samples {
        n if n < 100.0 => 1,
        n if n < 10_000.0 => 2,
        _ => 3,
    }
}

/// [`seconds`] with at most this many significant digits: `10 ms`, `1.2 s`.
pub fn seconds_to(value: f64, digits: usize) -> String {
    without_zeros(&seconds(rounded(value, digits)), digits)
}

/// [`share`] with at most this many significant digits: `60 %`.
pub fn share_to(value: f64, digits: usize) -> String {
    without_zeros(&share(rounded(value, digits)), digits)
}

fn rounded(value: f64, digits: usize) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(digits as i32 - 1 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// Removes trailing zeros after the decimal point, which also count as significant digits.
fn without_zeros(text: &str, digits: usize) -> String {
    match text.split_once(' ') {
        Some((number, unit)) if digits < 3 && number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text.to_owned(),
    }
}

/// Three significant digits for values in [0, 1000): `850`, `38.2`, `1.20`.
fn three_digits(value: f64) -> String {
    match value {
        v if v >= 99.95 || v == 0.0 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v if v >= 0.9995 => format!("{v:.2}"),
        v => format!("{v:.3}").trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn times_read_back_within_rounding(value in 1e-9f64..59.0) {
            let text = seconds(value);
            let (number, unit) = text.split_once(' ').unwrap();
            let scale = match unit { "ns" => 1e-9, "µs" => 1e-6, "ms" => 1e-3, _ => 1.0 };
            let read = number.parse::<f64>().unwrap() * scale;
            prop_assert!((read - value).abs() <= value * 0.0051, "{value} written as {text}");
        }

        #[test]
        fn a_partial_share_never_reads_as_none_or_all(failed in 1u64..1_000_000, more in 1u64..1_000_000) {
            let text = share(failed as f64 / (failed + more) as f64);
            prop_assert!(text != "0 %" && text != "100 %", "{text}");
        }
    }
}
