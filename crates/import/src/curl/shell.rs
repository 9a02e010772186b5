//! The part of a shell's grammar that command lines of curl use: words with quotes and expansions, pipes, lists, redirections and here-documents.
//!
//! Crates that split words (`shlex`, `shell-words`) know neither `$'…'` nor operators nor here-documents, so a pipe became an argument. Deliberately
//! absent: loops, conditions and functions. They are errors, because the number of requests depends on them.

use std::iter::Peekable;
use std::str::Chars;

/// A simple command: `A=1 curl …`.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// Its first line, from 1.
    pub(super) line: usize,
    pub(super) assignments: Vec<(String, ShellWord)>,
    pub(super) words: Vec<ShellWord>,
    /// Content of standard input, if the script states it.
    pub(super) input: Option<StandardInput>,
    /// Whether a single `&` ended the command. In an unquoted URL, that is rarely intended.
    pub(super) in_background: bool,
}

#[derive(Debug, PartialEq)]
pub(super) enum StandardInput {
    /// A here-document or here-string.
    Here(ShellWord),
    File(ShellWord),
    /// The output of the command before.
    Pipe,
}

/// A word before its expansion.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct ShellWord(pub(super) Vec<WordPart>);

#[derive(Debug, Clone, PartialEq)]
pub(super) enum WordPart {
    Text(String),
    Variable {
        name: String,
        default: Option<String>,
        is_quoted: bool,
    },
    /// The command in `$(…)` or backquotes.
    Substitution(String),
}

impl ShellWord {
    fn push(&mut self, c: char) {
        match self.0.last_mut() {
            Some(WordPart::Text(text)) => text.push(c),
            _ => self.0.push(WordPart::Text(c.to_string())),
        }
    }

    fn push_str(&mut self, more: &str) {
        match self.0.last_mut() {
            Some(WordPart::Text(text)) => text.push_str(more),
            _ => self.0.push(WordPart::Text(more.to_owned())),
        }
    }

    /// The word, if it has no expansion.
    pub(super) fn literal(&self) -> Option<&str> {
        match &self.0[..] {
            [] => Some(""),
            [WordPart::Text(text)] => Some(text),
            _ => None,
        }
    }
}

/// What is wrong with a script, and where.
#[derive(Debug, PartialEq)]
pub(super) struct ShellError {
    pub(super) line: usize,
    pub(super) message: String,
}

/// Words that begin a compound command.
const COMPOUND: [&str; 9] = ["for", "while", "until", "if", "case", "select", "function", "[[", "(("];

/// The commands of a script in order.
pub(super) fn commands(script: &str) -> Result<Vec<Command>, ShellError> {
    let mut reader = ShellReader {
        letters: script.chars().peekable(),
        line: 1,
        commands: Vec::new(),
        current: Command::default(),
        word: None,
        is_bare: true,
        redirection: None,
        here_documents: Vec::new(),
        after_pipe: false,
    };
    reader.script()?;
    Ok(reader.commands)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Redirection {
    Ignored,
    Input,
    HereString,
    HereDocument { strips_tabs: bool },
}

struct HereDocument {
    command: usize,
    end: String,
    is_literal: bool,
    strips_tabs: bool,
}

struct ShellReader<'s> {
    letters: Peekable<Chars<'s>>,
    line: usize,
    commands: Vec<Command>,
    current: Command,
    word: Option<ShellWord>,
    /// Whether no part of the word is quoted.
    is_bare: bool,
    /// A redirection that waits for its word.
    redirection: Option<Redirection>,
    here_documents: Vec<HereDocument>,
    after_pipe: bool,
}

impl ShellReader<'_> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T, ShellError> {
        Err(ShellError { line: self.line, message: message.into() })
    }

    fn next(&mut self) -> Option<char> {
        let c = self.letters.next();
        self.line += usize::from(c == Some('\n'));
        c
    }

    fn takes(&mut self, wanted: char) -> bool {
        let found = self.letters.peek() == Some(&wanted);
        if found {
            self.next();
        }
        found
    }

    fn word(&mut self) -> &mut ShellWord {
        if self.current.line == 0 {
            self.current.line = self.line;
        }
        self.word.get_or_insert_default()
    }

    fn script(&mut self) -> Result<(), ShellError> {
        while let Some(c) = self.next() {
            match c {
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some('\r') if self.takes('\n') => {}
                    Some(c) => {
                        self.is_bare = false;
                        self.word().push(c);
                    }
                },
                '\'' | '"' | '`' => self.quoted(c)?,
                '$' => self.dollar(false)?,
                '#' if self.word.is_none() => while self.letters.next_if(|c| *c != '\n').is_some() {},
                '\n' => {
                    self.end_command()?;
                    self.here_documents()?;
                }
                ' ' | '\t' | '\r' => self.end_word()?,
                '|' => {
                    if self.takes('|') {
                        self.end_command()?;
                    } else {
                        self.takes('&');
                        self.end_command()?;
                        self.after_pipe = true;
                    }
                }
                '&' if self.letters.peek() == Some(&'>') => {
                    self.end_word()?;
                    self.next();
                    self.takes('>');
                    self.redirection = Some(Redirection::Ignored);
                }
                '&' => {
                    let is_list = self.takes('&');
                    self.current.in_background = !is_list;
                    self.end_command()?;
                }
                ';' => self.end_command()?,
                '(' | ')' if self.word.is_none() => self.end_command()?,
                '(' | ')' => return self.error("a function or a parenthesis without quotes"),
                '<' | '>' => self.redirected(c)?,
                c => self.word().push(c),
            }
        }
        self.end_command()?;
        self.here_documents()
    }

    fn quoted(&mut self, quote: char) -> Result<(), ShellError> {
        let begin = self.line;
        self.word();
        self.is_bare = false;
        let open = |what: &str| ShellError { line: begin, message: format!("a {what} is not closed") };
        match quote {
            '\'' => loop {
                match self.next().ok_or_else(|| open("quote"))? {
                    '\'' => return Ok(()),
                    c => self.word().push(c),
                }
            },
            '`' => {
                let mut command = String::new();
                loop {
                    match self.next().ok_or_else(|| open("backquote"))? {
                        '`' => break,
                        '\\' => command.extend(self.next()),
                        c => command.push(c),
                    }
                }
                self.word().0.push(WordPart::Substitution(command));
                Ok(())
            }
            _ => {
                self.word().push_str("");
                loop {
                    match self.next().ok_or_else(|| open("double quote"))? {
                        '"' => return Ok(()),
                        '\\' => match self.next().ok_or_else(|| open("double quote"))? {
                            '\n' => {}
                            c @ ('"' | '\\' | '$' | '`') => self.word().push(c),
                            c => {
                                self.word().push('\\');
                                self.word().push(c);
                            }
                        },
                        '$' => self.dollar(true)?,
                        '`' => self.quoted('`')?,
                        c => self.word().push(c),
                    }
                }
            }
        }
    }

    /// After `$`: `$'…'`, a variable, or the output of a command.
    fn dollar(&mut self, is_quoted: bool) -> Result<(), ShellError> {
        match self.letters.peek().copied() {
            Some('\'') if !is_quoted => {
                self.next();
                self.is_bare = false;
                self.word();
                self.escaped()
            }
            Some('"') if !is_quoted => Ok(()),
            Some('(') => {
                self.next();
                let command = self.parenthesised()?;
                if command.starts_with('(') {
                    return self.error(format!("the arithmetic expansion $({command})"));
                }
                self.word().0.push(WordPart::Substitution(command));
                Ok(())
            }
            Some('{') => {
                self.next();
                self.braced(is_quoted)
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let mut name = String::new();
                while let Some(c) = self.letters.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                }
                self.word().0.push(WordPart::Variable { name, default: None, is_quoted });
                Ok(())
            }
            Some(c) if c.is_ascii_digit() || "@*#?!$-".contains(c) => self.error(format!("the shell parameter ${c}")),
            _ => {
                self.word().push('$');
                Ok(())
            }
        }
    }

    /// After `$(`: the command, up to the parenthesis that closes it.
    fn parenthesised(&mut self) -> Result<String, ShellError> {
        let (mut command, mut depth, mut quote) = (String::new(), 1, None);
        while let Some(c) = self.next() {
            match (c, quote) {
                ('\\', None | Some('"')) => {
                    command.push(c);
                    command.extend(self.next());
                    continue;
                }
                (c, Some(open)) if c == open => quote = None,
                ('\'' | '"', None) => quote = Some(c),
                ('(', None) => depth += 1,
                (')', None) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(command);
            }
            command.push(c);
        }
        self.error("$( is not closed")
    }

    /// After `${`: a name, perhaps with a default.
    fn braced(&mut self, is_quoted: bool) -> Result<(), ShellError> {
        let mut inner = String::new();
        loop {
            match self.next() {
                Some('}') => break,
                Some(c) => inner.push(c),
                None => return self.error("${ is not closed"),
            }
        }
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
        let (name, operation) = inner.split_at(end);
        let default = match operation.trim_start_matches(':').chars().next() {
            None if operation.is_empty() => None,
            Some('-' | '=') => Some(operation.trim_start_matches(':')[1..].trim_matches(['"', '\'']).to_owned()),
            Some('?') => None,
            _ => return self.error(format!("the shell expansion ${{{inner}}}")),
        };
        if name.is_empty() || default.as_deref().is_some_and(|text| text.contains('$')) {
            return self.error(format!("the shell expansion ${{{inner}}}"));
        }
        self.word().0.push(WordPart::Variable { name: name.to_owned(), default, is_quoted });
        Ok(())
    }

    /// After `$'`: ANSI-C quoting, as bash documents it.
    fn escaped(&mut self) -> Result<(), ShellError> {
        let begin = self.line;
        let open = || ShellError { line: begin, message: "a quote is not closed".into() };
        // `\x` may write a letter's bytes one by one.
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            match self.next().ok_or_else(open)? {
                '\'' => break,
                '\\' => match self.next().ok_or_else(open)? {
                    'a' => bytes.push(7),
                    'b' => bytes.push(8),
                    'e' | 'E' => bytes.push(27),
                    'f' => bytes.push(12),
                    'n' => bytes.push(b'\n'),
                    'r' => bytes.push(b'\r'),
                    't' => bytes.push(b'\t'),
                    'v' => bytes.push(11),
                    'x' => bytes.push(self.digits(16, 2) as u8),
                    'u' => push_letter(&mut bytes, self.digits(16, 4)),
                    'U' => push_letter(&mut bytes, self.digits(16, 8)),
                    c @ '0'..='7' => {
                        let rest = self.digits_of(8, 2);
                        bytes.push(u32::from_str_radix(&format!("{c}{rest}"), 8).unwrap_or(0) as u8);
                    }
                    c @ ('\\' | '\'' | '"' | '?') => bytes.push(c as u8),
                    c => {
                        bytes.push(b'\\');
                        push_letter(&mut bytes, c.into());
                    }
                },
                c => push_letter(&mut bytes, c.into()),
            }
        }
        match String::from_utf8(bytes) {
            Ok(text) => {
                self.word().push_str(&text);
                Ok(())
            }
            Err(_) => self.error("bytes in $'…' that are no UTF-8: put them in a file and use --data-binary @file"),
        }
    }

    fn digits_of(&mut self, base: u32, most: usize) -> String {
        let mut digits = String::new();
        while digits.len() < most
            && let Some(c) = self.letters.next_if(|c| c.is_digit(base))
        {
            digits.push(c);
        }
        digits
    }

    fn digits(&mut self, base: u32, most: usize) -> u32 {
        u32::from_str_radix(&self.digits_of(base, most), base).unwrap_or(0)
    }

    fn redirected(&mut self, c: char) -> Result<(), ShellError> {
        // Digits in front name a descriptor: `2>/dev/null`.
        let is_descriptor = self.is_bare
            && self
                .word
                .as_ref()
                .and_then(ShellWord::literal)
                .is_some_and(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()));
        if is_descriptor {
            self.word = None;
        } else {
            self.end_word()?;
        }
        self.redirection = Some(match c {
            '<' if self.takes('<') => {
                if self.takes('<') {
                    Redirection::HereString
                } else {
                    Redirection::HereDocument { strips_tabs: self.takes('-') }
                }
            }
            '<' if self.letters.peek() == Some(&'(') => return self.error("the process substitution <(…)"),
            '<' if !is_descriptor => Redirection::Input,
            _ => {
                let _ = self.takes('>') || self.takes('&') || self.takes('|');
                Redirection::Ignored
            }
        });
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), ShellError> {
        let is_bare = std::mem::replace(&mut self.is_bare, true);
        let Some(word) = self.word.take() else { return Ok(()) };
        if let Some(redirection) = self.redirection.take() {
            match redirection {
                Redirection::Ignored => {}
                Redirection::Input => self.current.input = Some(StandardInput::File(word)),
                Redirection::HereString => {
                    let mut word = word;
                    word.push('\n');
                    self.current.input = Some(StandardInput::Here(word));
                }
                Redirection::HereDocument { strips_tabs } => {
                    let Some(end) = word.literal().map(str::to_owned) else {
                        return self.error("the end of a here-document is a variable");
                    };
                    self.here_documents.push(HereDocument { command: self.commands.len(), end, is_literal: !is_bare, strips_tabs });
                }
            }
            return Ok(());
        }
        if self.current.words.is_empty() && is_bare {
            match word.literal() {
                Some(name) if COMPOUND.contains(&name) => return self.error(format!("the shell construct `{name}`")),
                // A prompt, as documentation shows it.
                Some("$" | "%" | "{" | "}" | "!") => return Ok(()),
                _ => {}
            }
            if let Some((name, first)) = assigned(&word) {
                let mut value = word;
                value.0[0] = WordPart::Text(first);
                self.current.assignments.push((name, value));
                return Ok(());
            }
        } else if self.current.words.is_empty()
            && let Some((name, first)) = assigned(&word)
        {
            let mut value = word;
            value.0[0] = WordPart::Text(first);
            self.current.assignments.push((name, value));
            return Ok(());
        }
        self.current.words.push(word);
        Ok(())
    }

    fn end_command(&mut self) -> Result<(), ShellError> {
        self.end_word()?;
        let mut command = std::mem::take(&mut self.current);
        if command.words.is_empty() && command.assignments.is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.after_pipe) && command.input.is_none() {
            command.input = Some(StandardInput::Pipe);
        }
        self.commands.push(command);
        Ok(())
    }

    /// After the end of a line: the documents that its commands announced.
    fn here_documents(&mut self) -> Result<(), ShellError> {
        for document in std::mem::take(&mut self.here_documents) {
            let mut text = String::new();
            loop {
                let mut line = String::new();
                let mut ended = false;
                while let Some(c) = self.next() {
                    if c == '\n' {
                        ended = true;
                        break;
                    }
                    line.push(c);
                }
                let line = if document.strips_tabs { line.trim_start_matches('\t') } else { &line };
                if line.trim_end_matches('\r') == document.end {
                    break;
                }
                if !ended {
                    return self.error(format!("the here-document has no end: {:?} is missing", document.end));
                }
                text.push_str(line);
                text.push('\n');
            }
            let word = if document.is_literal { ShellWord(vec![WordPart::Text(text)]) } else { self.expanded_document(&text)? };
            if let Some(command) = self.commands.get_mut(document.command) {
                command.input = Some(StandardInput::Here(word));
            }
        }
        Ok(())
    }

    /// A here-document without quotes at its end: as in double quotes, but quotes are ordinary.
    fn expanded_document(&self, text: &str) -> Result<ShellWord, ShellError> {
        let source = format!("\"{}\"", text.replace('"', "\\\""));
        let inner = commands(&source).map_err(|error| ShellError { line: self.line, message: error.message })?;
        let word = inner.into_iter().next().and_then(|command| command.words.into_iter().next());
        Ok(word.unwrap_or_default())
    }
}

/// `NAME=value`: the name, and the first part of the value.
fn assigned(word: &ShellWord) -> Option<(String, String)> {
    let Some(WordPart::Text(first)) = word.0.first() else { return None };
    let (name, value) = first.split_once('=')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

fn push_letter(bytes: &mut Vec<u8>, code: u32) {
    let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(script: &str) -> Vec<Vec<String>> {
        let text = |part: &WordPart| match part {
            WordPart::Text(text) => text.clone(),
            WordPart::Variable { name, default, .. } => format!("<{name}{}>", default.as_deref().unwrap_or("")),
            WordPart::Substitution(command) => format!("<({command})>"),
        };
        let commands = commands(script).unwrap();
        commands.iter().map(|command| command.words.iter().map(|word| word.0.iter().map(text).collect()).collect()).collect()
    }

    /// The expected words are what bash prints with `printf '%s\n'`.
    #[test]
    fn words_are_those_of_bash() {
        for (script, expected) in [
            (r"a 'b c' d\ e", vec![vec!["a", "b c", "d e"]]),
            (r#"a "b \"c\" \d" ''"#, vec![vec!["a", "b \"c\" \\d", ""]]),
            (r"a $'\x41\u00e9\n\t\'\\\101\q'", vec![vec!["a", "Aé\n\t'\\A\\q"]]),
            (r"a $'\xc3\xa9'", vec![vec!["a", "é"]]),
            ("a b | c d; e && f || g & h", vec![vec!["a", "b"], vec!["c", "d"], vec!["e"], vec!["f"], vec!["g"], vec!["h"]]),
            ("a 2>/dev/null b >out 3 &>x c", vec![vec!["a", "b", "3", "c"]]),
            ("a x#y # c\nb", vec![vec!["a", "x#y"], vec!["b"]]),
            ("a \\\n  b", vec![vec!["a", "b"]]),
            ("a \"$B/${C}\" $(d \")\" e) `f`", vec![vec!["a", "<B>/<C>", "<(d \")\" e)>", "<(f)>"]]),
            ("a ${B:-c}", vec![vec!["a", "<Bc>"]]),
        ] {
            assert_eq!(words(script), expected, "{script}");
        }
    }

    #[test]
    fn standard_input_is_known() {
        let script = "curl -d @- x <<'EOF' | jq\na $b\nEOF\ncat <<< 'x' ; c < f";
        let found = commands(script).unwrap();
        let here = |text: &str| Some(StandardInput::Here(ShellWord(vec![WordPart::Text(text.into())])));
        assert_eq!(found[0].input, here("a $b\n"));
        assert_eq!(found[1].input, Some(StandardInput::Pipe));
        assert_eq!(found[2].input, here("x\n"));
        assert_eq!(found[3].input, Some(StandardInput::File(ShellWord(vec![WordPart::Text("f".into())]))));
        assert_eq!(found.iter().map(|command| command.line).collect::<Vec<_>>(), [1, 1, 4, 4]);
        let expanded = commands("a <<-X\n\t\"q\" $V\n\tX\n").unwrap();
        let Some(StandardInput::Here(word)) = &expanded[0].input else { panic!() };
        assert_eq!(word.0[0], WordPart::Text("\"q\" ".into()));
        assert_eq!(word.0[1], WordPart::Variable { name: "V".into(), default: None, is_quoted: true });
    }

    #[test]
    fn constructs_that_decide_how_often_a_command_runs_are_errors() {
        for (script, line, message) in [
            ("\nfor i in 1 2; do curl x; done", 2, "`for`"),
            ("curl 'x", 1, "not closed"),
            ("curl $((1+1))", 1, "arithmetic"),
            ("curl ${a%b}", 1, "${a%b}"),
            ("curl $1", 1, "$1"),
            ("a <<EOF\nb", 2, "EOF"),
        ] {
            let error = commands(script).unwrap_err();
            assert_eq!(error.line, line, "{script}");
            assert!(error.message.contains(message), "{script}: {}", error.message);
        }
    }
}
