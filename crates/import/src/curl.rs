//! Command lines of curl, as "Copy as cURL" of a browser writes them. A file may hold several.

use crate::error::ImportError;
use crate::imported::{ImportedTest, Input, Note};
use crate::sent::{hide, keeps, name_of, origin, relative, set_body, set_header, with_credentials};
use crate::steps::{Action, Body, Journey, PlannedRequest, Step};
use crate::write::write;

pub(crate) fn import(input: &Input<'_>) -> Result<ImportedTest, ImportError> {
    let mut notes = Vec::new();
    let mut requests = Vec::new();
    for (line, command) in commands(input.text) {
        let words = words(&command)
            .map_err(|message| ImportError::new(input.name, Some(line), message, "give the complete command in shell syntax"))?;
        requests.push(request(&words, input, line, &mut notes)?);
    }
    let Some((first, _)) = requests.first() else {
        return Err(ImportError::new(
            input.name,
            Some(1),
            "there is no curl command",
            "give a file (or `-`) with lines that begin with `curl`",
        ));
    };
    let base = origin(&first.url);
    let mut journey = Journey {
        format: "curl",
        file: input.name.rsplit('/').next().unwrap_or(input.name).to_owned(),
        title: "curl".to_owned(),
        base: base.clone(),
        ..Journey::default()
    };
    for (mut request, cookies) in requests {
        request.url = relative(&request.url, base.as_deref());
        for name in cookies {
            let parameter =
                journey.parameter(&format!("{name} cookie"), "", true, "not stored in the test: set it with -p or in the environment");
            journey.cookies.push((name, parameter));
        }
        let name = request.name.clone();
        journey.steps.push(Step { name, is_group: false, actions: vec![Action::Request(Box::new(request))], pause: 0.0 });
    }
    hide(&mut journey);
    notes.extend(
        journey.parameters.iter().map(|parameter| Note::changed(format!("a credential became the secret parameter `{}`", parameter.name))),
    );
    Ok(ImportedTest { text: write(&journey), modules: Vec::new(), notes })
}

/// Commands with their first lines; a backslash at the end goes on.
fn commands(text: &str) -> Vec<(usize, String)> {
    let mut commands: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let begins = line.trim_start().trim_start_matches("$ ").starts_with("curl");
        if begins && !open {
            commands.push((index + 1, String::new()));
        }
        if let Some((_, command)) = commands.last_mut()
            && (begins || open)
        {
            let line = if begins && !open { line.trim_start().trim_start_matches("$ ") } else { line };
            command.push_str(line);
            command.push('\n');
            // A quote that is open, or a backslash, goes on in the next line.
            open = words(command).is_err() || line.ends_with('\\');
        }
    }
    commands
}

/// Words of a shell: quotes of three kinds and backslashes.
fn words(command: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '\'' => quoted_by(&mut letters, word.get_or_insert_default())?,
            '$' if letters.peek() == Some(&'\'') => {
                letters.next();
                escaped_by(&mut letters, word.get_or_insert_default())?;
            }
            '"' => loop {
                let word = word.get_or_insert_default();
                match letters.next().ok_or("a double quote is not closed")? {
                    '"' => break,
                    '\\' => match letters.next().ok_or("a double quote is not closed")? {
                        '\n' => {}
                        c @ ('"' | '\\' | '$' | '`') => word.push(c),
                        c => word.extend(['\\', c]),
                    },
                    c => word.push(c),
                }
            },
            '\\' => match letters.next() {
                Some('\n') | None => {}
                Some(c) => word.get_or_insert_default().push(c),
            },
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted_by(letters: &mut impl Iterator<Item = char>, word: &mut String) -> Result<(), &'static str> {
    loop {
        match letters.next().ok_or("a quote is not closed")? {
            '\'' => return Ok(()),
            c => word.push(c),
        }
    }
}

/// `$'…'`, which Chromium writes where a text has quotes or line ends.
fn escaped_by(letters: &mut impl Iterator<Item = char>, word: &mut String) -> Result<(), &'static str> {
    loop {
        match letters.next().ok_or("a quote is not closed")? {
            '\'' => return Ok(()),
            '\\' => match letters.next().ok_or("a quote is not closed")? {
                'n' => word.push('\n'),
                'r' => word.push('\r'),
                't' => word.push('\t'),
                'u' => {
                    let digits: String = letters.by_ref().take(4).collect();
                    word.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
                }
                c => word.push(c),
            },
            c => word.push(c),
        }
    }
}

/// Options that take a value and have no meaning here.
const WITH_VALUE: [&str; 22] = [
    "-o",
    "--output",
    "-w",
    "--write-out",
    "-m",
    "--max-time",
    "--connect-timeout",
    "--retry",
    "--cacert",
    "--cert",
    "-E",
    "--key",
    "-x",
    "--proxy",
    "--resolve",
    "-c",
    "--cookie-jar",
    "-e",
    "--referer",
    "-A",
    "--user-agent",
    "--limit-rate",
];

#[expect(clippy::too_many_lines, reason = "a table of options")]
fn request(words: &[String], input: &Input<'_>, line: usize, notes: &mut Vec<Note>) -> Result<(PlannedRequest, Vec<String>), ImportError> {
    let error = |message: String, help: &str| ImportError::new(input.name, Some(line), message, help);
    let mut request = PlannedRequest::default();
    let (mut data, mut cookies): (Vec<String>, Vec<String>) = Default::default();
    let mut form: Vec<(String, String, bool)> = Vec::new();
    let mut encoded = false;
    let mut as_query = false;
    let mut words = words.iter().skip(1).flat_map(|word| apart(word)).peekable();
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or_else(|| error(format!("{word} has no value"), "give the whole command"));
        match word.as_str() {
            "-X" | "--request" => request.method = next()?,
            "-H" | "--header" => {
                let header = next()?;
                let (name, content) = header.split_once(':').unwrap_or((&header, ""));
                let (name, content) = (name.trim(), content.trim());
                if name.eq_ignore_ascii_case("cookie") {
                    cookies.extend(content.split(';').filter_map(|pair| pair.split_once('=')).map(|(name, _)| name.trim().to_owned()));
                } else if keeps(name, content) {
                    set_header(&mut request, name, content);
                }
            }
            "-d" | "--data" | "--data-raw" | "--data-binary" | "--data-ascii" => data.push(next()?),
            "--data-urlencode" => {
                let pair = next()?;
                let (name, content) = pair.split_once('=').unwrap_or(("", &pair));
                let content: String = url::form_urlencoded::byte_serialize(content.as_bytes()).collect();
                data.push(if name.is_empty() { content } else { format!("{name}={content}") });
                encoded = true;
            }
            "--json" => {
                data.push(next()?);
                request.headers.push(("content-type".into(), "application/json".into()));
            }
            "-F" | "--form" | "--form-string" => {
                let pair = next()?;
                let (name, content) = pair.split_once('=').unwrap_or((&pair, ""));
                let file = content.strip_prefix('@').map(|path| path.split(';').next().unwrap_or(path));
                form.push((name.to_owned(), file.unwrap_or(content).to_owned(), file.is_some()));
            }
            "-u" | "--user" => {
                let pair = next()?;
                let (user, password) = pair.split_once(':').unwrap_or((&pair, ""));
                request.auth = Some((user.to_owned(), Some(password.to_owned())));
            }
            "-b" | "--cookie" => {
                cookies.extend(next()?.split(';').filter_map(|pair| pair.split_once('=')).map(|(name, _)| name.trim().to_owned()))
            }
            "-I" | "--head" => request.method = "HEAD".into(),
            "-G" | "--get" => as_query = true,
            "-k" | "--insecure" => {
                notes.push(Note { line: Some(line), ..Note::left_out("-k: say `options: { insecure: true }` in the test") })
            }
            "--url" => request.url = next()?,
            option if WITH_VALUE.contains(&option) => {
                next()?;
                if !matches!(option, "-o" | "--output" | "-A" | "--user-agent" | "-e" | "--referer" | "-w" | "--write-out") {
                    notes.push(Note { line: Some(line), ..Note::left_out(format!("{option}: it has no counterpart in one request")) });
                }
            }
            option if option.starts_with('-') && option.len() > 1 => {}
            url => request.url = url.to_owned(),
        }
    }
    if request.url.is_empty() {
        return Err(error("the command has no URL".into(), "give the whole command"));
    }
    if !request.url.contains("://") {
        request.url = format!("http://{}", request.url);
    }
    if origin(&request.url).is_none() {
        return Err(error(format!("{:?} is not a URL", request.url), "give the complete URL"));
    }
    if let Some((plain, user, password)) = with_credentials(&request.url) {
        request.url = plain;
        request.auth = Some((user, Some(password)));
    }
    if as_query {
        request.url = format!("{}{}{}", request.url, if request.url.contains('?') { "&" } else { "?" }, data.join("&"));
        data.clear();
    }
    if let Some(file) = data.iter().find(|part| part.starts_with('@')) {
        notes.push(Note { line: Some(line), ..Note::left_out(format!("the body {file}: say `body: file({:?})`", &file[1..])) });
        data.clear();
        request.method = if request.method.is_empty() { "POST".into() } else { request.method };
    }
    if request.method.is_empty() {
        request.method = if data.is_empty() && form.is_empty() { "GET" } else { "POST" }.into();
    }
    if !form.is_empty() {
        request.headers.retain(|(name, _)| name != "content-type");
        request.body = Body::Multipart(form);
    } else if !data.is_empty() {
        let has_type = request.headers.iter().any(|(name, _)| name == "content-type");
        let text = data.join("&");
        // curl says that it is a form whatever it is; text that is JSON was meant as JSON.
        if !has_type && (encoded || serde_json::from_str::<serde_json::Value>(&text).is_err()) {
            request.headers.push(("content-type".into(), "application/x-www-form-urlencoded".into()));
        }
        set_body(&mut request, &text);
    }
    request.name = name_of(&request.method, &request.url);
    Ok((request, cookies))
}

/// `-XPOST` and `-sSL` in single options, `--request=POST` in two words.
fn apart(word: &str) -> Vec<String> {
    if let Some((name, value)) = word.split_once('=').filter(|_| word.starts_with("--")) {
        return vec![name.to_owned(), value.to_owned()];
    }
    let mut letters = word.chars();
    if letters.next() != Some('-') || word.starts_with("--") || word.len() <= 2 {
        return vec![word.to_owned()];
    }
    let mut parts = Vec::new();
    while let Some(c) = letters.next() {
        parts.push(format!("-{c}"));
        if "XHdFubAeomwxEc".contains(c) {
            let rest: String = letters.collect();
            parts.extend(Some(rest).filter(|rest| !rest.is_empty()));
            break;
        }
    }
    parts
}
