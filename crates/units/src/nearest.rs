//! Suggests the known name that a user may have meant by an unknown one.

/// The known name with the smallest difference, if that is small enough for a typo: one letter in three, at least one.
pub fn nearest<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    let letters = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
    let written = letters(written);
    let distances = known.iter().map(|name| (distance(&written, &letters(name)), *name));
    distances.min_by_key(|(distance, _)| *distance).filter(|(distance, _)| *distance <= (written.len() / 3).max(1)).map(|(_, name)| name)
}

/// ` (did you mean `name`?)`, to append to a message about an unknown name. Empty if no known name is similar.
pub fn did_you_mean(written: &str, known: &[&str]) -> String {
    nearest(written, known).map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

/// Letters left out, added, replaced, or swapped with their neighbour: the optimal string alignment distance (Damerau, 1964).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_recognised_and_other_words_are_not() {
        let known = ["name", "headers", "timeout", "for", "each", "thresholds"];
        for (written, meant) in [
            ("nmae", Some("name")),
            ("fro", Some("for")),
            ("tresholds", Some("thresholds")),
            ("header", Some("headers")),
            ("Timeout", Some("timeout")),
            ("retries", None),
            ("x", None),
        ] {
            assert_eq!(nearest(written, &known), meant, "{written}");
        }
        assert_eq!(did_you_mean("nmae", &known), " (did you mean `name`?)");
        assert_eq!(did_you_mean("retries", &known), "");
    }
}
