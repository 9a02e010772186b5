//! Colour and width: what a terminal or a pipe can show. Colour is never the only carrier of a meaning.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `--color` as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    Always,
    Never,
}

/// The properties of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub color: bool,
    /// Columns. Lines of tables and of the progress block are never wider on a terminal.
    pub width: usize,
    /// Whether names are printed whole: in a pipe, another program reads them.
    pub whole_names: bool,
}

/// Width without a terminal: wide enough for every column, narrow enough for a CI log.
const WIDTH_OF_A_PIPE: usize = 110;
const WIDTH_MIN: usize = 40;
/// Wider lines are hard to read.
const WIDTH_MAX: usize = 140;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Bold,
    Dim,
    Good,
    Warning,
    Bad,
}

impl Style {
    pub fn plain(width: usize) -> Self {
        Self { color: false, width, whole_names: false }
    }

    /// The style for a stream, from the environment: `NO_COLOR` (no-color.org: set and not empty), `TERM=dumb`, and the terminal's size.
    pub fn detect(choice: ColorChoice, is_terminal: bool) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let plain = set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let width = if is_terminal { crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns)) } else { None };
        Self::resolve(choice, is_terminal, plain, width)
    }

    /// Nothing is shortened.
    #[must_use]
    pub fn as_wide_as_needed(self) -> Self {
        Self { width: usize::MAX, ..self }
    }

    fn resolve(choice: ColorChoice, is_terminal: bool, plain: bool, width: Option<usize>) -> Self {
        let color = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !plain,
        };
        let width = width.filter(|width| *width > 0).unwrap_or(WIDTH_OF_A_PIPE);
        Self { color, width: width.clamp(WIDTH_MIN, WIDTH_MAX), whole_names: !is_terminal }
    }

    /// A name in at most so many columns, or whole.
    pub(crate) fn name(&self, text: &str, columns: usize) -> String {
        if self.whole_names { tame(text) } else { shorten(text, columns) }
    }

    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Bold => "1",
            Paint::Dim => "2",
            Paint::Good => "32",
            Paint::Warning => "33",
            Paint::Bad => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Columns that `text` takes.
pub(crate) fn width_of(text: &str) -> usize {
    text.width()
}

/// Foreign text (names, messages, bodies) on one line and without control characters, so that it cannot move the cursor.
pub(crate) fn tame(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Shortens to at most `columns` by removing the middle, because names differ most at their ends.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    let text = tame(text);
    if width_of(&text) <= columns {
        return text;
    }
    if columns <= 1 {
        return if columns == 1 { "…".to_owned() } else { String::new() };
    }
    let tail_columns = (columns - 1) / 2;
    let head = take(text.chars(), columns - 1 - tail_columns);
    let tail: String = take(text.chars().rev(), tail_columns).chars().rev().collect();
    format!("{head}…{tail}")
}

/// Shortens to at most `columns` by removing the end.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let text = tame(text);
    if width_of(&text) <= columns || columns == 0 {
        return if columns == 0 { String::new() } else { text };
    }
    format!("{}…", take(text.chars(), columns.saturating_sub(1)))
}

fn take(chars: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= columns
        })
        .collect()
}

/// The words of a string. The content between backticks is one word, so that it can be copied.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|character| character != ' ') {
        rest = &rest[start..];
        let end_of = |from: usize| rest[from..].find(' ').map_or(rest.len(), |space| from + space);
        let plain = end_of(0);
        let closed = rest[..plain].match_indices('`').next().and_then(|(tick, _)| Some(tick + 2 + rest[tick + 1..].find('`')?));
        let end = closed.map_or(plain, end_of);
        words.push(&rest[..end.max(plain)]);
        rest = &rest[end.max(plain)..];
    }
    words
}

/// Breaks at spaces. A word longer than a line is broken at the end of the line, unless it is code.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(10);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(&tame(text)) {
        let mut word = word.to_owned();
        let space = usize::from(!line.is_empty());
        if width_of(&line) + space + width_of(&word) <= columns {
            if space == 1 {
                line.push(' ');
            }
            line.push_str(&word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        while width_of(&word) > columns && !word.contains('`') {
            let head = take(word.chars(), columns);
            word = word[head.len()..].to_owned();
            lines.push(head);
        }
        line = word;
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Prose, wrapped at the width of a terminal. Each line that is given begins a new line, and its continuation is indented like it. A pipe gets it unchanged.
pub fn fitted(prose: &str, style: &Style) -> String {
    if style.whole_names {
        return prose.to_owned();
    }
    let fit = |line: &str| {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.is_empty() { "\n".to_owned() } else { hang(&" ".repeat(indent), indent, text, style.width) }
    };
    let lines: String = prose.lines().map(fit).collect();
    if prose.ends_with('\n') { lines } else { lines.trim_end_matches('\n').to_owned() }
}

/// Wrapped text: the first line follows `lead`, later lines are indented below its first word. `lead` may contain colour codes; `lead_columns` is its
/// width.
pub(crate) fn hang(lead: &str, lead_columns: usize, text: &str, width: usize) -> String {
    let mut out = String::new();
    for (index, line) in wrap(text, width.saturating_sub(lead_columns)).iter().enumerate() {
        if index == 0 {
            out.push_str(lead);
        } else {
            out.push_str(&" ".repeat(lead_columns));
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn colour_follows_the_flag_then_the_environment_then_the_stream() {
        let color = |choice, terminal, plain| Style::resolve(choice, terminal, plain, Some(80)).color;
        assert!(color(ColorChoice::Auto, true, false));
        assert!(!color(ColorChoice::Auto, false, false) && !color(ColorChoice::Auto, true, true));
        assert!(color(ColorChoice::Always, false, true) && !color(ColorChoice::Never, true, false));
        assert_eq!(Style::resolve(ColorChoice::Auto, true, false, Some(9)).width, WIDTH_MIN);
        assert_eq!(Style::resolve(ColorChoice::Auto, false, false, None).width, WIDTH_OF_A_PIPE);
    }

    #[test]
    fn the_middle_of_a_long_name_gives_way() {
        assert_eq!(shorten("GET /v1/channels/123/products", 15), "GET /v1…roducts");
        assert_eq!(shorten("short", 15), "short");
        assert_eq!(shorten("a\x1b[2Jb", 20), "a [2Jb");
    }

    #[test]
    fn what_is_to_be_copied_stays_in_one_piece() {
        let text = "Hold it: `.run(users(9).for(\"2m\"))`. Observe `a b` and `c";
        assert_eq!(wrap(text, 30), ["Hold it:", "`.run(users(9).for(\"2m\"))`.", "Observe `a b` and `c"]);
        assert_eq!(wrap("one `two three`, four", 13), ["one", "`two three`,", "four"]);
        assert_eq!(wrap("one `two three`, four", 10), ["one", "`two three`,", "four"]);
    }

    #[test]
    fn prose_fits_a_terminal_and_remains_whole_in_a_pipe() {
        let prose = "\nNext:\n  loadstone capacity demo\n      how much can the shop take? In two minutes\n";
        let fits = fitted(prose, &Style::plain(40));
        assert_eq!(fits, "\nNext:\n  loadstone capacity demo\n      how much can the shop take? In two\n      minutes\n");
        assert_eq!(fitted(prose, &Style { whole_names: true, ..Style::plain(40) }), prose);
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_asked(text in "\\PC{0,60}", columns in 1usize..40) {
            prop_assert!(width_of(&shorten(&text, columns)) <= columns);
            prop_assert!(width_of(&cut(&text, columns)) <= columns);
            prop_assert!(wrap(&text, columns).iter().all(|line| line.contains('`') || width_of(line) <= columns.max(10)));
        }

        #[test]
        fn wrapping_loses_no_word(words in proptest::collection::vec("[a-z]{1,8}", 0..20), columns in 10usize..40) {
            prop_assert_eq!(wrap(&words.join(" "), columns).join(" "), words.join(" "));
        }
    }
}
