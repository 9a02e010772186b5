//! Command lines of curl, as documentation shows them and "Copy as cURL" of a browser writes them. A file may hold several.
//!
//! The script is read as a shell reads it (`shell`), the arguments as curl reads them (`options`, `globs`), and each URL becomes one request (`request`) that
//! sends the same method, URL, headers and body. What cannot be sent in the same way is an error with its line.

mod globs;
mod options;
mod request;
mod shell;

use std::collections::HashMap;

use self::request::{Context, requests};
use self::shell::{Command, ShellWord, StandardInput, WordPart, commands};
use crate::error::ImportError;
use crate::imported::{ImportedTest, Input, Note};
use crate::sent::{hide, origin, relative};
use crate::steps::{Action, Journey, PlannedRequest, Step, value};
use crate::write::write;

pub(crate) fn import(input: &Input<'_>) -> Result<ImportedTest, ImportError> {
    if input.text.lines().any(|line| line.trim_end().ends_with('^')) && input.text.contains("^\"") {
        return Err(ImportError::new(
            input.name,
            Some(1),
            "this command is quoted for cmd.exe",
            "use \"Copy as cURL (bash)\" in the browser",
        ));
    }
    let found = commands(input.text)
        .map_err(|error| ImportError::new(input.name, Some(error.line), error.message, "write the curl commands one after another"))?;
    let mut reader = CommandReader {
        input,
        journey: Journey {
            format: "curl",
            file: input.name.rsplit('/').next().unwrap_or(input.name).to_owned(),
            title: "curl".to_owned(),
            ..Journey::default()
        },
        variables: HashMap::new(),
        notes: Vec::new(),
        requests: Vec::new(),
        pauses: HashMap::new(),
    };
    for (index, command) in found.iter().enumerate() {
        reader.command(command, index.checked_sub(1).and_then(|before| found.get(before)))?;
    }
    reader.finish()
}

struct CommandReader<'a> {
    input: &'a Input<'a>,
    journey: Journey,
    /// Variables of the shell. Values may contain expressions.
    variables: HashMap<String, String>,
    notes: Vec<Note>,
    requests: Vec<PlannedRequest>,
    /// Seconds after a number of requests.
    pauses: HashMap<usize, f64>,
}

impl CommandReader<'_> {
    fn error<T>(&self, line: usize, message: impl Into<String>, help: &str) -> Result<T, ImportError> {
        Err(ImportError::new(self.input.name, Some(line), message, help))
    }

    fn command(&mut self, command: &Command, before: Option<&Command>) -> Result<(), ImportError> {
        let mut words = Vec::new();
        for word in &command.words {
            words.extend(self.words(word, command.line)?);
        }
        for (name, value) in &command.assignments {
            let value = self.expanded(value, command.line)?;
            self.variables.insert(name.clone(), value);
        }
        // `sudo`, `time` and `env` run the rest of the line.
        while matches!(words.first().map(String::as_str), Some("sudo" | "time" | "env" | "exec" | "command" | "then" | "do")) {
            words.remove(0);
        }
        let Some(name) = words.first().map(|word| word.rsplit('/').next().unwrap_or(word).to_owned()) else { return Ok(()) };
        match name.as_str() {
            "curl" | "curl.exe" => {
                let standard_input = self.standard_input(command, before)?;
                let mut context =
                    Context { input: self.input, line: command.line, standard_input, journey: &mut self.journey, notes: &mut self.notes };
                let found = requests(&words[1..], &mut context)?;
                self.requests.extend(found);
                if command.in_background {
                    self.notes.push(
                        Note::changed(
                            "`&` ends the command and runs it in the background, as in a shell: quote the URL if it is part of it",
                        )
                        .at(command.line),
                    );
                }
            }
            "export" | "declare" | "local" | "readonly" => {
                for (name, value) in words[1..].iter().filter_map(|word| word.split_once('=')) {
                    self.variables.insert(name.to_owned(), value.to_owned());
                }
            }
            "sleep" => match words.get(1).and_then(|word| crate::text::go_duration(&seconds_of(word))) {
                Some(pause) => *self.pauses.entry(self.requests.len()).or_default() += pause,
                None => self.notes.push(Note::lost("`sleep` with a length that is not a literal").at(command.line)),
            },
            "wget" | "http" | "https" | "xh" | "xargs" | "parallel" | "eval" | "source" | "." | "bash" | "sh" => {
                return self.error(
                    command.line,
                    format!("`{name}` may send requests and is not translated"),
                    "write the curl commands one after another",
                );
            }
            _ => self.notes.push(Note::left_out(format!("`{name}`: it sends no request")).at(command.line)),
        }
        Ok(())
    }

    /// The words of a word: an unquoted variable may hold several.
    fn words(&mut self, word: &ShellWord, line: usize) -> Result<Vec<String>, ImportError> {
        if let [WordPart::Variable { name, is_quoted: false, .. }] = &word.0[..]
            && let Some(known) = self.variables.get(name)
        {
            return Ok(known.split_whitespace().map(str::to_owned).collect());
        }
        Ok(vec![self.expanded(word, line)?])
    }

    fn expanded(&mut self, word: &ShellWord, line: usize) -> Result<String, ImportError> {
        let mut text = String::new();
        for part in &word.0 {
            match part {
                WordPart::Text(piece) => text.push_str(piece),
                WordPart::Variable { name, default, .. } => text.push_str(&self.variable(name, default.as_deref())),
                WordPart::Substitution(command) => text.push_str(&self.output_of(command, line)?),
            }
        }
        Ok(text)
    }

    fn variable(&mut self, name: &str, default: Option<&str>) -> String {
        if let Some(known) = self.variables.get(name) {
            return known.clone();
        }
        if name == "RANDOM" {
            return value("user.random.integer(0, 32767)");
        }
        let secret = loadstone_secrets::is_credential(name);
        let parameter = self.journey.parameter(name, default.unwrap_or(""), secret, &format!("the shell variable ${name}"));
        value(&parameter)
    }

    /// What `$(…)` stands for.
    fn output_of(&mut self, command: &str, line: usize) -> Result<String, ImportError> {
        let inner = commands(command).map_err(|error| {
            ImportError::new(self.input.name, Some(line), format!("in $({command}): {}", error.message), "write the value itself")
        })?;
        let words: Vec<Vec<&str>> =
            inner.iter().map(|command| command.words.iter().map(|word| word.literal().unwrap_or("$")).collect()).collect();
        let words: Vec<&[&str]> = words.iter().map(Vec::as_slice).collect();
        match &words[..] {
            [["date", "+%s"]] => Ok(value("Math.floor(Date.now() / 1000)")),
            [["date", "+%s%3N"]] | [["date", "+%s%N"]] => Ok(value("Date.now()")),
            [["uuidgen"]] => Ok(value("user.random.uuid()")),
            [["cat", path]] => match (self.input.read)(path) {
                Some(content) => Ok(content.trim_end_matches('\n').to_owned()),
                None => self.error(line, format!("$({command}): cannot read {path}"), "put the file in the folder of the commands"),
            },
            _ if words.iter().flat_map(|words| words.iter()).any(|word| *word == "curl") => self.error(
                line,
                format!("$({command}): the response of a request is used in a later command"),
                "import the requests separately, and write `const value = response.json(\"$.…\")` in the test",
            ),
            _ => {
                let first = words.first().and_then(|words| words.first()).copied().unwrap_or("command");
                Ok(value(&self.journey.parameter(&format!("output of {first}"), "", false, &format!("the output of $({command})"))))
            }
        }
    }

    /// What a command reads from standard input, if the script states it.
    fn standard_input(&mut self, command: &Command, before: Option<&Command>) -> Result<Option<String>, ImportError> {
        match &command.input {
            None => Ok(None),
            Some(StandardInput::Here(word)) => self.expanded(word, command.line).map(Some),
            Some(StandardInput::File(word)) => {
                let path = self.expanded(word, command.line)?;
                Ok((self.input.read)(&path))
            }
            Some(StandardInput::Pipe) => {
                let Some(before) = before else { return Ok(None) };
                let mut words = Vec::new();
                for word in &before.words {
                    words.push(self.expanded(word, before.line)?);
                }
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                Ok(match &words[..] {
                    ["echo", "-n", rest @ ..] => Some(rest.join(" ")),
                    ["echo", rest @ ..] => Some(format!("{}\n", rest.join(" "))),
                    ["printf", "%s", text] => Some((*text).to_owned()),
                    ["printf", text] if !text.contains(['%', '\\']) => Some((*text).to_owned()),
                    ["cat"] | ["cat", "-"] => self.standard_input(before, None)?,
                    ["cat", path] => (self.input.read)(path),
                    _ => None,
                })
            }
        }
    }

    fn finish(mut self) -> Result<ImportedTest, ImportError> {
        let Some(first) = self.requests.first() else {
            return self.error(1, "there is no curl command", "give a file (or `-`) with lines that begin with `curl`");
        };
        let base = origin(&first.url);
        self.journey.base.clone_from(&base);
        common_headers(&mut self.requests, &mut self.journey.headers);
        for (index, mut request) in self.requests.into_iter().enumerate() {
            request.url = relative(&request.url, base.as_deref());
            let name = request.name.clone();
            let pause = self.pauses.get(&(index + 1)).copied().filter(|_| self.input.choices.pauses).unwrap_or(0.0);
            self.journey.steps.push(Step { name, is_group: false, actions: vec![Action::Request(Box::new(request))], pause });
        }
        hide(&mut self.journey);
        for parameter in &self.journey.parameters {
            let what = if parameter.secret { "a credential became the secret parameter" } else { "a value became the parameter" };
            self.notes.push(Note::changed(format!("{what} `{0}`: set it with -p {0}=…", parameter.name)));
        }
        Ok(ImportedTest { text: write(&self.journey), notes: self.notes })
    }
}

/// Headers that curl adds to every request are written once.
fn common_headers(requests: &mut [PlannedRequest], common: &mut Vec<(String, String)>) {
    for header in [("accept", "*/*"), ("accept-encoding", "identity")] {
        let is_it = |(name, value): &(String, String)| (name.as_str(), value.as_str()) == header;
        if requests.len() > 1 && requests.iter().all(|request| request.headers.iter().any(is_it)) {
            requests.iter_mut().for_each(|request| request.headers.retain(|known| !is_it(known)));
            common.push((header.0.to_owned(), header.1.to_owned()));
        }
    }
}

/// `sleep` reads seconds, or a number with a unit.
fn seconds_of(word: &str) -> String {
    if word.ends_with(|c: char| c.is_ascii_digit()) { format!("{word}s") } else { word.to_owned() }
}
