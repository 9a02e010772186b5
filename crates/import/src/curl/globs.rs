//! Several URLs in one, as curl expands them: `{a,b}` and `[1-10]`, `[001-100:5]`, `[a-z]` (<https://curl.se/docs/url-syntax.html>).

/// A longer list would make a test that nobody reads.
const URLS_MAX: usize = 200;

/// The URLs that a pattern stands for.
///
/// # Errors
/// A message: the pattern is not closed, or stands for too many URLs.
pub(super) fn expanded(pattern: &str) -> Result<Vec<String>, String> {
    let mut urls = vec![String::new()];
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '[']) {
        let (before, behind) = rest.split_at(at);
        let is_set = behind.starts_with('{');
        let close = behind.find(if is_set { '}' } else { ']' });
        let choices = match close {
            Some(close) if is_set => Some(behind[1..close].split(',').map(str::to_owned).collect()),
            // The brackets of an IPv6 address are no range.
            Some(close) if behind[1..close].contains(':') && !behind[1..close].contains('-') => None,
            Some(1) => None,
            Some(close) => {
                let inner = &behind[1..close];
                Some(range(inner).ok_or_else(|| format!("[{inner}] is not a range: use -g if the URL contains brackets"))?)
            }
            None => return Err(format!("{pattern:?} has a bracket that is not closed: use -g if the URL contains it")),
        };
        let close = close.unwrap_or_default();
        let choices: Vec<String> = choices.unwrap_or_else(|| vec![behind[..=close].to_owned()]);
        urls = urls.iter().flat_map(|url| choices.iter().map(move |choice| format!("{url}{before}{choice}"))).take(URLS_MAX + 1).collect();
        if urls.len() > URLS_MAX {
            return Err(format!("{pattern:?} stands for more than {URLS_MAX} URLs: write a loop in the test"));
        }
        rest = &behind[close + 1..];
    }
    Ok(urls.into_iter().map(|url| url + rest).collect())
}

fn range(inner: &str) -> Option<Vec<String>> {
    let (bounds, step) = inner.split_once(':').unwrap_or((inner, "1"));
    let step = step.parse::<usize>().ok().filter(|step| *step > 0)?;
    let (from, to) = bounds.split_once('-')?;
    if let (Ok(first), Ok(last)) = (from.parse::<u64>(), to.parse::<u64>()) {
        let width = if from.len() > 1 && from.starts_with('0') { from.len() } else { 0 };
        return (first <= last).then(|| (first..=last).step_by(step).take(URLS_MAX + 1).map(|n| format!("{n:0width$}")).collect());
    }
    let mut letters = [from, to].map(|text| text.chars().next().filter(|c| c.is_ascii_alphabetic() && text.len() == 1));
    let (first, last) = (letters[0].take()?, letters[1].take()?);
    (first <= last).then(|| (first..=last).step_by(step).map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_those_that_curl_requests() {
        for (pattern, expected) in [
            ("h/x", &["h/x"][..]),
            ("h/{a,b}/[1-2]", &["h/a/1", "h/a/2", "h/b/1", "h/b/2"]),
            ("h/[08-12:2].jpg", &["h/08.jpg", "h/10.jpg", "h/12.jpg"]),
            ("h/[a-c]", &["h/a", "h/b", "h/c"]),
            ("http://[::1]/x", &["http://[::1]/x"]),
            ("h/?ids[]=1", &["h/?ids[]=1"]),
        ] {
            assert_eq!(expanded(pattern).unwrap(), expected, "{pattern}");
        }
        for pattern in ["h/{a", "h/[1-1000]", "h/[x]", "h/[3-1]"] {
            assert!(expanded(pattern).is_err(), "{pattern}");
        }
    }
}
