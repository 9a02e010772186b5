//! Rows of data files: read once, stored once for all cores.
//!
//! CSV rows are stored as their fields, JSON rows as their JSON. Each realm creates its own objects from them. Deliberately absent: the
//! distribution of rows (`feeder`), and JavaScript.

use std::ops::Range;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::extract::json::{JsonPath, JsonValue};
use crate::extract::scan::{self, JsonError};

/// A data file that cannot be used. The message names the file, the line and the remedy.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum DataError {
    #[error("{path}: cannot be read: {problem}", path = .path.display())]
    Unreadable { path: PathBuf, problem: String },
    #[error("{path}: {problem}", path = .path.display())]
    Content { path: PathBuf, problem: String },
    #[error("{path}: has no rows: a feeder needs at least one", path = .path.display())]
    Empty { path: PathBuf },
    #[error("{path}:{line}: {problem}", path = .path.display())]
    Line { path: PathBuf, line: u64, problem: String },
}

/// The format of a CSV file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CsvOptions {
    pub(crate) separator: u8,
    /// Names of the columns, when the first line does not have them.
    pub(crate) columns: Option<Vec<String>>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self { separator: b',', columns: None }
    }
}

/// The rows of one file.
#[derive(Debug, PartialEq)]
pub(crate) enum Rows {
    RowTable(RowTable),
    /// One JSON value for each row.
    Json(Vec<Box<str>>),
}

/// Rows with named columns, with all fields in one allocation.
#[derive(Debug, PartialEq)]
pub(crate) struct RowTable {
    columns: Vec<String>,
    text: String,
    /// End of each field in `text`, row by row.
    ends: Vec<u32>,
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        match self {
            Rows::RowTable(table) => table.len(),
            Rows::Json(rows) => rows.len(),
        }
    }

    /// Reads a CSV file.
    pub(crate) fn csv(path: &Path, options: &CsvOptions) -> Result<Self, DataError> {
        let bytes = read(path)?;
        Ok(Rows::RowTable(RowTable::parse(path, &bytes, options)?))
    }

    /// Reads a JSON file that contains a list, at a JSON path or as the whole document.
    pub(crate) fn json(path: &Path, at: Option<&str>) -> Result<Self, DataError> {
        let bytes = read(path)?;
        let text = utf8(path, without_mark(&bytes))?;
        if let Some(at) = at {
            // The whole document first, so that a syntax error is reported with its line.
            scan::check(text.as_bytes()).map_err(|error| json_error(path, error.line, &error))?;
            let found = JsonPath::parse(at).and_then(|at| Ok(at.first(text.as_bytes())?.map(JsonValue::into_owned)));
            let found = found.map_err(|error| DataError::Content { path: path.to_owned(), problem: error.to_string() })?;
            let list = match &found {
                Some(JsonValue::Json(list)) => scan::items(list.as_bytes()).ok().flatten().map(|places| (list, places)),
                _ => None,
            };
            let problem = || DataError::Content { path: path.to_owned(), problem: format!("there is no list of rows at {at}") };
            let (list, places) = list.ok_or_else(problem)?;
            return json_rows(path, places.into_iter().map(|place| list[place].into()).collect());
        }
        let places = scan::items(text.as_bytes()).map_err(|error| json_error(path, error.line, &error))?;
        let places = places.ok_or_else(|| {
            line_error(path, 1, "expected a list of rows, [ … ]; if the document contains one, name its path: json(\"…\", \"$.users\")")
        })?;
        json_rows(path, places.into_iter().map(|place| text[place].into()).collect())
    }

    /// Reads a file with one JSON value per line. Empty lines are skipped.
    pub(crate) fn json_lines(path: &Path) -> Result<Self, DataError> {
        let bytes = read(path)?;
        let mut rows = Vec::new();
        for (index, line) in utf8(path, without_mark(&bytes))?.lines().enumerate() {
            let line = line.trim();
            if !line.is_empty() {
                scan::check(line.as_bytes()).map_err(|error| json_error(path, index + 1, &error))?;
                rows.push(line.into());
            }
        }
        json_rows(path, rows)
    }
}

impl RowTable {
    fn parse(path: &Path, bytes: &[u8], options: &CsvOptions) -> Result<Self, DataError> {
        let bytes = without_mark(bytes);
        if let Some(opened) = unclosed_quote(bytes, options.separator) {
            return Err(line_error(path, line_at(bytes, opened), "a quoted value begins here, and its closing quote is missing"));
        }
        let mut reader = csv::ReaderBuilder::new().delimiter(options.separator).has_headers(false).flexible(true).from_reader(bytes);
        let mut table = RowTable { columns: options.columns.clone().unwrap_or_default(), text: String::new(), ends: Vec::new() };
        let mut named = options.columns.is_some();
        for record in reader.records() {
            let record = record.map_err(|error| csv_error(path, bytes, &error))?;
            // Records that a reader has read always have a position. Counted only for errors.
            let line = || record.position().map_or(0, |position| record_line(bytes, position));
            if !named {
                table.columns = record.iter().map(|name| name.trim().to_owned()).collect();
                check_columns(path, line(), &table.columns)?;
                named = true;
                continue;
            }
            if record.len() != table.columns.len() {
                let (found, columns) = (record.len(), table.columns.len());
                return Err(line_error(
                    path,
                    line(),
                    &format!(
                        "{}, but there are {columns} columns ({})",
                        loadstone_units::counted(found as u64, "value"),
                        table.columns.join(", ")
                    ),
                ));
            }
            for field in &record {
                table.text.push_str(field);
                let end =
                    u32::try_from(table.text.len()).map_err(|_| line_error(path, line(), "the file is larger than 4 GiB: split it"))?;
                table.ends.push(end);
            }
        }
        if table.ends.is_empty() { Err(DataError::Empty { path: path.to_owned() }) } else { Ok(table) }
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len() / self.columns.len()
    }

    /// The values of a row in the order of the columns. `row` is below [`RowTable::len`].
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = &str> {
        let first = row * self.columns.len();
        (first..first + self.columns.len()).map(|field| &self.text[self.field(field)])
    }

    fn field(&self, field: usize) -> Range<usize> {
        let start = if field == 0 { 0 } else { self.ends[field - 1] };
        start as usize..self.ends[field] as usize
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    use super::{CsvOptions, Path, RowTable, json_rows, scan};

    pub(crate) fn table(input: &[u8]) {
        let path = Path::new("a.csv");
        for separator in *b",;" {
            if let Ok(table) = RowTable::parse(path, input, &CsvOptions { separator, columns: None }) {
                let fields: usize = (0..table.len()).map(|row| table.row(row).count()).sum();
                assert_eq!(fields, table.len() * table.columns().len());
            }
        }
        if let Ok(text) = std::str::from_utf8(input)
            && let Ok(Some(places)) = scan::items(input)
        {
            let _ = json_rows(path, places.into_iter().map(|place| text[place].into()).collect());
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, DataError> {
    read_regular(path).map_err(|error| DataError::Unreadable { path: path.to_owned(), problem: error.to_string() })
}

/// Reads a file.
///
/// # Errors
/// It cannot be read, or is not a regular file. Devices and pipes may never end, so that they would fill the memory.
pub fn read_regular(path: &Path) -> std::io::Result<Vec<u8>> {
    if std::fs::metadata(path)?.is_file() { std::fs::read(path) } else { Err(std::io::Error::other("it is not a regular file")) }
}

/// Spreadsheets write a byte-order mark at the start of UTF-8. It is not part of a column's name.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

fn check_columns(path: &Path, line: u64, columns: &[String]) -> Result<(), DataError> {
    for (index, name) in columns.iter().enumerate() {
        if name.is_empty() {
            return Err(line_error(path, line, &format!("column {} has no name", index + 1)));
        }
        if columns[..index].contains(name) {
            return Err(line_error(path, line, &format!("two columns are both named \"{name}\"")));
        }
    }
    Ok(())
}

fn json_rows(path: &Path, rows: Vec<Box<str>>) -> Result<Rows, DataError> {
    if rows.is_empty() { Err(DataError::Empty { path: path.to_owned() }) } else { Ok(Rows::Json(rows)) }
}

fn utf8<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, DataError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        line_error(path, line as u64, NOT_UTF8)
    })
}

fn json_error(path: &Path, line: usize, error: &JsonError) -> DataError {
    line_error(path, line as u64, &format!("not JSON: {} at column {}", error.problem, error.column))
}

const NOT_UTF8: &str = "not UTF-8: save the file in that encoding";

/// Number of the line at an offset, from 1.
fn line_at(bytes: &[u8], offset: usize) -> u64 {
    1 + bytes[..offset.min(bytes.len())].iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Number of a record's first line. The reader's own count omits empty lines, and its offset is that of the empty lines before the record.
fn record_line(bytes: &[u8], position: &csv::Position) -> u64 {
    let begun = usize::try_from(position.byte()).unwrap_or(usize::MAX).min(bytes.len());
    let empty = bytes[begun..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    line_at(bytes, begun + empty)
}

/// Offset of a quote that opens a value and is never closed. The reader would add the rest of the file to that value.
fn unclosed_quote(bytes: &[u8], separator: u8) -> Option<usize> {
    let (mut opened, mut at_start) = (None, true);
    let mut rest = bytes.iter().copied().enumerate().peekable();
    while let Some((offset, byte)) = rest.next() {
        if opened.is_some() {
            // Within quotes, a quote is written twice.
            if byte == b'"' && rest.next_if(|(_, next)| *next == b'"').is_none() {
                opened = None;
            }
        } else if byte == b'"' && at_start {
            opened = Some(offset);
        }
        at_start = opened.is_none() && (byte == separator || matches!(byte, b'\r' | b'\n'));
    }
    opened
}

fn csv_error(path: &Path, bytes: &[u8], error: &csv::Error) -> DataError {
    match (error.kind(), error.position()) {
        (csv::ErrorKind::Utf8 { .. }, Some(position)) => line_error(path, record_line(bytes, position), NOT_UTF8),
        (_, Some(position)) => line_error(path, record_line(bytes, position), &error.to_string()),
        (_, None) => DataError::Unreadable { path: path.to_owned(), problem: error.to_string() },
    }
}

fn line_error(path: &Path, line: u64, problem: &str) -> DataError {
    DataError::Line { path: path.to_owned(), line, problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(content: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        file
    }

    fn csv(content: &[u8], options: &CsvOptions) -> Result<Vec<Vec<(String, String)>>, String> {
        let file = write(content);
        match Rows::csv(file.path(), options) {
            Ok(Rows::RowTable(table)) => {
                Ok((0..table.len()).map(|row| table.columns().iter().cloned().zip(table.row(row).map(str::to_owned)).collect()).collect())
            }
            Ok(Rows::Json(_)) => panic!("a table was asked for"),
            Err(error) => Err(error.to_string().replace(&file.path().display().to_string(), "FILE")),
        }
    }

    fn problem(result: Result<Rows, DataError>, file: &tempfile::NamedTempFile) -> String {
        result.unwrap_err().to_string().replace(&file.path().display().to_string(), "FILE")
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn csv_values_may_contain_quotes_separators_and_line_ends() {
        let rows = csv(b"\xef\xbb\xbfname, note\r\nAda,\"a, \"\"b\"\"\nc\"\r\nBob,\r\n", &CsvOptions::default()).unwrap();
        assert_eq!(rows, [[pair("name", "Ada"), pair("note", "a, \"b\"\nc")], [pair("name", "Bob"), pair("note", "")]]);
    }

    #[test]
    fn quotes_within_values_open_nothing() {
        let rows = csv(b"a,b\n1,6\" pipe\n\"x\"\"\",\"y\nz\"\n\"q\"r,\n", &CsvOptions::default()).unwrap();
        let values: Vec<&str> = rows.iter().flatten().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["1", "6\" pipe", "x\"", "y\nz", "qr", ""]);
    }

    #[test]
    fn csv_accepts_other_separators_and_columns() {
        let options = CsvOptions { separator: b';', columns: Some(vec!["x".to_owned(), "y".to_owned()]) };
        assert_eq!(csv(b"1;2\n", &options).unwrap(), [[pair("x", "1"), pair("y", "2")]]);
    }

    #[test]
    fn bad_csv_names_file_and_line() {
        for (content, message) in [
            (&b""[..], "FILE: has no rows: a feeder needs at least one"),
            (b"a,b\n", "FILE: has no rows: a feeder needs at least one"),
            (b"a,b\n1,2\n3\n", "FILE:3: 1 value, but there are 2 columns (a, b)"),
            (b"a,b\n1,2,3\n", "FILE:2: 3 values, but there are 2 columns (a, b)"),
            (b"a,\n1,2\n", "FILE:1: column 2 has no name"),
            (b"a,a\n1,2\n", "FILE:1: two columns are both named \"a\""),
            (b"a,b\n1,\xff\n", "FILE:2: not UTF-8: save the file in that encoding"),
            (b"a,b\n\n\r\n1,2\n\n3\n", "FILE:6: 1 value, but there are 2 columns (a, b)"),
            (b"\n\na,a\n", "FILE:3: two columns are both named \"a\""),
            (b"\xef\xbb\xbfa,b\n1,2\n3,\"4\n5,6\n", "FILE:3: a quoted value begins here, and its closing quote is missing"),
            (b"a,b\n\n1,\"a \"\"b\"\"\n", "FILE:3: a quoted value begins here, and its closing quote is missing"),
        ] {
            assert_eq!(csv(content, &CsvOptions::default()).unwrap_err(), message);
        }
        let missing = Rows::csv(Path::new("no/such.csv"), &CsvOptions::default()).unwrap_err().to_string();
        assert!(missing.starts_with("no/such.csv: cannot be read: "), "{missing}");
    }

    #[test]
    fn json_rows_are_stored_as_written() {
        let texts = |rows: Rows| match rows {
            Rows::Json(rows) => rows,
            Rows::RowTable(_) => panic!("json was asked for"),
        };
        let list = write(b"[ {\"id\": 1e3}, [2], null ]");
        assert_eq!(texts(Rows::json(list.path(), None).unwrap()), ["{\"id\": 1e3}".into(), "[2]".into(), "null".into()]);
        let lines = write(b"{\"a\":1}\r\n\n  \"b\"\n");
        assert_eq!(texts(Rows::json_lines(lines.path()).unwrap()), ["{\"a\":1}".into(), "\"b\"".into()]);
    }

    #[test]
    fn a_list_deep_in_a_document_is_found_by_its_path() {
        let document = write(b"{\"users\": {\"new\": [{\"id\": 1e3}, \"b\"], \"count\": 2}}");
        let texts = |rows: Rows| match rows {
            Rows::Json(rows) => rows.iter().map(|row| row.to_string()).collect::<Vec<_>>(),
            Rows::RowTable(_) => panic!("json was asked for"),
        };
        assert_eq!(texts(Rows::json(document.path(), Some("$.users.new")).unwrap()), ["{\"id\": 1e3}", "\"b\""]);
        for at in ["$.users", "$.users.count", "$.gone"] {
            assert_eq!(problem(Rows::json(document.path(), Some(at)), &document), format!("FILE: there is no list of rows at {at}"));
        }
        assert!(problem(Rows::json(document.path(), Some("users[")), &document).contains("JSON path"));
    }

    #[test]
    fn bad_json_names_file_and_line() {
        let object = write(b"{\"rows\": []}");
        assert_eq!(
            problem(Rows::json(object.path(), None), &object),
            "FILE:1: expected a list of rows, [ … ]; if the document contains one, name its path: json(\"…\", \"$.users\")"
        );
        let empty = write(b"[]");
        assert_eq!(problem(Rows::json(empty.path(), None), &empty), "FILE: has no rows: a feeder needs at least one");
        let broken = write(b"{\"a\":1}\n{\"a\":}\n");
        assert!(problem(Rows::json_lines(broken.path()), &broken).starts_with("FILE:2: not JSON: expected a value at column 6"));
        let blank = write(b"\n\n");
        assert_eq!(problem(Rows::json_lines(blank.path()), &blank), "FILE: has no rows: a feeder needs at least one");
    }
}
