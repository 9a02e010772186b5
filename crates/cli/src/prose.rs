//! Sentences for a person, on standard error.

use std::io::{IsTerminal, Write};

use loadstone_report::terminal::{ColorChoice, Style, fitted};

/// Prints a line or several, wrapped at the width of the terminal. Ignores errors: no command depends on what it says about itself.
pub(crate) fn line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", fitted(text, &style()));
}

/// Of standard error, without colours.
pub(crate) fn style() -> Style {
    Style::detect(ColorChoice::Never, std::io::stderr().is_terminal())
}
