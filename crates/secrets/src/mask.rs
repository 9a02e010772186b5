//! The mask that replaces a secret.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

/// The mask that every output shows instead of a secret.
pub const MASK: &str = "•••";

/// The string with a mask in place of every span.
pub(crate) fn masked(text: &str, mut spans: Vec<Range<usize>>) -> Cow<'_, str> {
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    spans.sort_unstable_by_key(|span| (span.start, Reverse(span.end)));
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for span in spans {
        if span.start >= copied {
            out.push_str(&text[copied..span.start]);
            out.push_str(MASK);
        }
        // A span that begins inside another one is already hidden.
        copied = copied.max(span.end);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}
