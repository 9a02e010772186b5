//! Times of a run in the format of a chart, and lists of names.

/// `0:20`, `12:05`, `1:02:05`: hours, minutes and seconds since the run began.
pub(crate) fn clock(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{rest:02}") } else { format!("{minutes}:{rest:02}") }
}

/// `"A"`, `"A" and "B"`, `"A", "B" and 3 more`.
pub(crate) fn named(names: &[&str]) -> String {
    const NAMES_MAX: usize = 3;
    let quoted: Vec<String> = names.iter().take(NAMES_MAX).map(|name| format!("\"{name}\"")).collect();
    match (quoted.split_last(), names.len().saturating_sub(NAMES_MAX)) {
        (None, _) => String::new(),
        (Some((last, [])), _) => last.clone(),
        (Some((last, others)), 0) => format!("{} and {last}", others.join(", ")),
        (Some(_), more) => format!("{} and {more} more", quoted.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_and_names_read_well() {
        assert_eq!([20.4, 725.0, 3_725.0].map(clock), ["0:20", "12:05", "1:02:05"]);
        assert_eq!(named(&["A"]), "\"A\"");
        assert_eq!(named(&["A", "B"]), "\"A\" and \"B\"");
        assert_eq!(named(&["A", "B", "C", "D", "E"]), "\"A\", \"B\", \"C\" and 2 more");
    }
}
