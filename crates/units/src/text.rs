//! Strings from other programs: bounded when they are stored, and without control characters when they are shown or written.

use std::borrow::Cow;

/// Longest string from another program that is stored: a message, a name, a notice. Bytes.
pub const FOREIGN_BYTES_MAX: usize = 2 << 10;
/// Longest line that a script prints. Bytes.
pub const LINE_BYTES_MAX: usize = 16 << 10;

/// The start of a string that is longer than `bytes_max`, with an ellipsis.
pub fn bounded(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(bytes_max.saturating_sub("…".len()));
    Cow::Owned(format!("{}…", &text[..end]))
}

/// The string with a visible character in place of each that could control a terminal, reorder text, or is not allowed in XML. Line breaks (LF or
/// CRLF) and tabs remain, as LF and tab.
pub fn printable(text: &str) -> Cow<'_, str> {
    replaced(text, false)
}

/// The same for a line that Loadstone has coloured itself: colours (`ESC [ … m`) remain. Everything else that a terminal interprets does not.
pub fn printable_in_colour(text: &str) -> Cow<'_, str> {
    replaced(text, true)
}

/// A string to store: bounded and printable.
pub fn stored(text: &str) -> Cow<'_, str> {
    let start = bounded(text, FOREIGN_BYTES_MAX);
    let clean = match printable(&start) {
        Cow::Borrowed(_) => return start,
        Cow::Owned(clean) => clean,
    };
    // A visible character may take more bytes.
    Cow::Owned(bounded(&clean, FOREIGN_BYTES_MAX).into_owned())
}

/// The messages of the operating system in the words of a sentence: `Connection refused (os error 111)` becomes `connection refused`.
pub fn without_os_numbers(text: &str) -> Cow<'_, str> {
    const NUMBER: &str = " (os error ";
    if !text.contains(NUMBER) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(NUMBER) {
        let message = before.rfind(": ").map_or(0, |colon| colon + ": ".len());
        out.push_str(&before[..message]);
        out.extend(before[message..].chars().take(1).flat_map(char::to_lowercase));
        out.extend(before[message..].chars().skip(1));
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn replaced(text: &str, keeps_colours: bool) -> Cow<'_, str> {
    if !text.contains(controls) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(controls) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if keeps_colours && let Some(length) = colour_length(rest) {
            out.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        let mut characters = rest.chars();
        match characters.next() {
            // The end of a line, as HTTP and Windows write it.
            Some('\r') if characters.as_str().starts_with('\n') => {}
            // The control pictures of Unicode: ␛ for ESC.
            Some(control @ '\0'..'\x20') => out.push(char::from_u32(0x2400 + control as u32).unwrap_or('\u{fffd}')),
            Some('\x7f') => out.push('␡'),
            _ => out.push('\u{fffd}'),
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// C0 and C1 without line break and tab, marks and overrides of direction, and noncharacters.
fn controls(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
        || (c as u32) & 0xfffe == 0xfffe
        || matches!(c, '\u{fdd0}'..='\u{fdef}')
}

/// Length of an SGR sequence at the start.
fn colour_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|c: char| !(c.is_ascii_digit() || c == ';'))?;
    parameters[end..].starts_with('m').then_some("\x1b[".len() + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_are_cut_between_characters() {
        assert_eq!(bounded("short", 5), "short");
        assert_eq!(bounded("ääää", 6), "ä…");
        let long = "é".repeat(2_000);
        assert!(bounded(&long, FOREIGN_BYTES_MAX).len() <= FOREIGN_BYTES_MAX && stored(&long).ends_with('…'));
        let controls = "\x1b".repeat(FOREIGN_BYTES_MAX);
        assert!(stored(&controls).len() <= FOREIGN_BYTES_MAX);
        assert_eq!(stored(&stored(&controls)), stored(&controls));
    }

    #[test]
    fn errors_of_the_system_have_no_numbers() {
        assert_eq!(without_os_numbers("cannot connect: Connection refused (os error 111)"), "cannot connect: connection refused");
        let two = "a: No such file or directory (os error 2); b: Is a directory (os error 21), retry";
        assert_eq!(without_os_numbers(two), "a: no such file or directory; b: is a directory, retry");
        assert_eq!(without_os_numbers("Permission denied (os error 13)"), "permission denied");
        assert!(matches!(without_os_numbers("Server closed"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_a_terminal_interprets_is_replaced() {
        assert_eq!(printable("two\r\nlines\r"), "two\nlines␍");
        assert!(matches!(printable("plain\n\ttext – größe 日本 🙂"), Cow::Borrowed(_)));
        let hostile = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b[31mred\u{9b}31m\r\x08\u{202e}abc\u{fffe}\u{1ffff}\x7f\u{2028}";
        let shown = printable(hostile);
        assert_eq!(shown, "␛]52;c;ZXZpbA==␇␛[2J␛[31mred\u{fffd}31m␍␈\u{fffd}abc\u{fffd}\u{fffd}␡\u{fffd}");
        assert_eq!(printable(&shown), shown);
    }

    #[test]
    fn own_colours_remain() {
        let line = "\x1b[1;32mok\x1b[0m \x1b]0;title\x07 \x1b[2J \x1b[31";
        assert_eq!(printable_in_colour(line), "\x1b[1;32mok\x1b[0m ␛]0;title␇ ␛[2J ␛[31");
    }
}
