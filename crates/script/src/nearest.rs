//! Options that do not exist, and what somebody may have meant who wrote one.

use rquickjs::{Exception, Object};

/// What is said of an option that `what` does not take.
pub(crate) fn unknown_option(what: &str, option: &str, known: &[impl AsRef<str>]) -> String {
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let meant = nearest(option, &known).map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default();
    format!("{what} has no option `{option}`{meant}; its options are: {}", known.join(", "))
}

/// Throws where the options hold one that `what` does not take.
pub(crate) fn check_options<'js>(options: &Object<'js>, what: &str, known: &[&str]) -> rquickjs::Result<()> {
    for name in options.keys::<String>() {
        let name = name?;
        if !known.contains(&&*name) {
            return Err(Exception::throw_type(options.ctx(), &unknown_option(what, &name, known)));
        }
    }
    Ok(())
}

/// The known name that differs least, where it differs by a slip: one letter in three, at least one.
pub(crate) fn nearest<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    let letters = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
    let written = letters(written);
    let distances = known.iter().map(|name| (distance(&written, &letters(name)), *name));
    distances.min_by_key(|(distance, _)| *distance).filter(|(distance, _)| *distance <= (written.len() / 3).max(1)).map(|(_, name)| name)
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
    fn slips_are_recognised_and_other_words_are_not() {
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
        assert_eq!(
            unknown_option("ping(…)", "nmae", &["name"]),
            "ping(…) has no option `nmae` (did you mean `name`?); its options are: name"
        );
    }
}
