//! `loadstone import`: generates a test from a recording, description or plan of another tool.

use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use loadstone_import::{Choices, Format, ImportedTest, Input, NoteKind};

use crate::argument;
use crate::context::CommandContext;
use crate::exit::{Exit, UsageError};

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Format of the file.
    #[arg(value_name = "FORMAT", value_enum)]
    format: FormatName,
    /// The file; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Output file; `-` is standard output. Default: the file's name with .load.ts, in the current folder.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing test.
    #[arg(long)]
    force: bool,
    /// Format of the report on standard error about what was omitted or changed.
    #[arg(long, value_enum, default_value = "text")]
    report: ReportFormat,
    /// Omit think times (har, gatling-recorder).
    #[arg(long)]
    no_pauses: bool,
    /// Omit styles, scripts, images and fonts (har, gatling-recorder).
    #[arg(long)]
    no_assets: bool,
    /// Keep requests to hosts other than the first (har, gatling-recorder).
    #[arg(long)]
    all_hosts: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatName {
    /// A recording by a browser or proxy (HAR 1.1, 1.2).
    Har,
    /// OpenAPI 3.0 or 3.1, Swagger 2.0, JSON or YAML.
    Openapi,
    /// A Postman collection, v2.0 or v2.1.
    Postman,
    /// Command lines of curl.
    Curl,
    /// Not imported: `loadstone run script.js` runs k6 scripts unchanged.
    K6,
    /// A simulation written by Gatling's recorder, in Scala, Java, Kotlin or JavaScript.
    GatlingRecorder,
    /// A test plan of JMeter (.jmx).
    Jmeter,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum ReportFormat {
    Text,
    Json,
}

impl ImportArgs {
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        let format = self.format.format().ok_or_else(|| UsageError(runs_unchanged(&self.file)))?;
        let text = self.read()?;
        let output = self.output();
        let to_stdout = output.as_os_str() == "-";
        if !to_stdout {
            self.is_free(&output)?;
        }
        let folder = self.file.parent().map(Path::to_path_buf).unwrap_or_default();
        let read = |path: &str| named_file(&folder, path);
        let to = if to_stdout { Path::new("") } else { output.parent().unwrap_or(Path::new("")) };
        let way = way(to, &folder)?;
        let name = self.file.display().to_string();
        let input = Input {
            name: if name == "-" { "standard input" } else { &name },
            text: &text,
            folder: &way,
            read: &read,
            choices: Choices { pauses: !self.no_pauses, assets: !self.no_assets, all_hosts: self.all_hosts },
        };
        let imported = loadstone_import::import(format, &input).map_err(|error| UsageError(error.to_string()))?;
        let mut written = Vec::new();
        if to_stdout {
            write!(std::io::stdout(), "{}", imported.text)?;
        } else {
            write_file(&output, &imported.text)?;
            written.push(output.display().to_string());
        }
        self.report(&imported, &written)?;
        Ok(if imported.is_complete() { Exit::Passed } else { Exit::Incomplete })
    }

    fn is_free(&self, path: &Path) -> anyhow::Result<()> {
        if path.exists() && !self.force {
            return Err(UsageError(format!("{} already exists: use --force, or choose a different name with -o", path.display())).into());
        }
        Ok(())
    }

    fn read(&self) -> anyhow::Result<String> {
        if self.file.as_os_str() == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
            return Ok(text);
        }
        std::fs::read_to_string(&self.file).map_err(|error| UsageError(argument::cannot_read(&self.file, &error)).into())
    }

    fn output(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| {
            let name = self.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let stem = name.trim_end_matches(".postman_collection.json");
            let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
            PathBuf::from(format!("{}.load.ts", if stem.is_empty() || stem == "-" { "imported" } else { stem }))
        })
    }

    fn report(&self, imported: &ImportedTest, written: &[String]) -> anyhow::Result<()> {
        let mut err = std::io::stderr();
        if self.report == ReportFormat::Json {
            let report = serde_json::json!({ "written": written, "notes": imported.notes });
            writeln!(err, "{}", serde_json::to_string_pretty(&report)?)?;
            return Ok(());
        }
        for path in written {
            writeln!(err, "  written  {path}")?;
        }
        for (kind, title) in
            [(NoteKind::Lost, "Not translated, so the test is incomplete"), (NoteKind::LeftOut, "Left out"), (NoteKind::Changed, "To know")]
        {
            let notes: Vec<_> = imported.notes.iter().filter(|note| note.kind == kind).collect();
            if !notes.is_empty() {
                writeln!(err, "\n{title}:")?;
            }
            for note in notes {
                let line = note.line.map(|line| format!("line {line}: ")).unwrap_or_default();
                writeln!(err, "  {line}{}", note.text)?;
            }
        }
        if let Some(test) = written.first() {
            writeln!(err, "\nNext:\n  loadstone try {test}    # every request and response, once")?;
        }
        Ok(())
    }
}

impl FormatName {
    /// The format of the importer; none for k6 scripts.
    fn format(self) -> Option<Format> {
        Some(match self {
            Self::Har => Format::Har,
            Self::Openapi => Format::OpenApi,
            Self::Postman => Format::Postman,
            Self::Curl => Format::Curl,
            Self::K6 => return None,
            Self::GatlingRecorder => Format::GatlingRecorder,
            Self::Jmeter => Format::Jmeter,
        })
    }
}

fn runs_unchanged(file: &Path) -> String {
    let file = file.display();
    format!(
        "k6 scripts are not imported, because Loadstone runs them unchanged\n  help: loadstone run {file}\n  help: docs/from-k6.md has Loadstone's \
         equivalent of each member, for a test that you write yourself"
    )
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A relative path from one folder to another, in the form that scripts use. Empty if the folders are the same.
fn way(from: &Path, to: &Path) -> anyhow::Result<String> {
    let whole = |path: &Path| {
        std::path::absolute(if path.as_os_str().is_empty() { Path::new(".") } else { path }).context("there is no current folder")
    };
    let (from, to) = (whole(from)?, whole(to)?);
    let plain = |path: &Path| {
        path.components()
            .filter(|part| *part != Component::CurDir)
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect::<Vec<_>>()
    };
    let (from, to) = (plain(&from), plain(&to));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut way = vec!["..".to_owned(); from.len() - common];
    way.extend(to[common..].iter().cloned());
    Ok(way.join("/"))
}

/// A file that the imported one names. The imported file may be from somebody else, and its test may be passed on, so no other folder is read.
fn named_file(folder: &Path, path: &str) -> Option<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize().ok()?;
    let file = folder.join(path).canonicalize().ok()?;
    (file.starts_with(&folder) && file.is_file()).then(|| std::fs::read_to_string(file).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_lead_from_folder_to_folder() {
        for (from, to, expected) in [("/a/b", "/a/b", ""), ("/a/b", "/a/b/c", "c"), ("/a/b", "/a/x/y", "../x/y"), ("/", "/a", "a")] {
            assert_eq!(way(Path::new(from), Path::new(to)).unwrap(), expected, "{from} {to}");
        }
    }

    #[test]
    fn only_files_of_the_folder_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(folder.path().join("secret"), "secret").unwrap();
        std::fs::write(inside.join("data"), "data").unwrap();
        std::os::unix::fs::symlink("../secret", inside.join("link")).unwrap();
        let read = |path: &str| named_file(&inside, path);
        assert_eq!(read("data").as_deref(), Some("data"));
        assert_eq!(read("../inside/data").as_deref(), Some("data"));
        for other in ["../secret", "link", "/etc/passwd", "/dev/zero", ".", "absent"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
