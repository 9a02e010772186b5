//! A Python process's threads as `py-spy dump --json` writes them.
//!
//! Python has no frames for C code: a thread that waits in `lock.acquire()` or `time.sleep()` is at the calling line. The source of that line shows what
//! the thread waits for.

use std::collections::HashMap;

use serde::Deserialize;

use crate::stacks::functions::FunctionSamples;
use crate::stacks::position::{Frame, Position};
use crate::stacks::threads::{Doing, ThreadSamples};

/// Maximum number of cached files, and the maximum size of a file in bytes.
const FILES_MAX: usize = 200;
const FILE_MAX: u64 = 4 << 20;
/// Files and functions of libraries in which threads wait, and for what. Without a function, any function of the file. py-spy reports no classes.
const WAITS: &[(&str, &str, Doing)] = &[
    ("pool.py", "getconn", Doing::Member),
    // `Lock.acquire` is written in C: this is a semaphore's.
    ("threading.py", "acquire", Doing::Member),
    ("socket.py", "", Doing::Io),
    ("ssl.py", "", Doing::Io),
    ("selectors.py", "", Doing::Io),
    ("subprocess.py", "", Doing::Io),
    ("http/client.py", "", Doing::Io),
];
/// The wait that the source line of a thread in C code indicates.
const LINES: &[(&str, Doing)] = &[
    ("sleep(", Doing::Timer),
    ("execute(", Doing::Io),
    ("commit(", Doing::Io),
    ("recv", Doing::Io),
    ("connect(", Doing::Io),
    ("semaphore", Doing::Member),
    ("pool", Doing::Member),
    ("getconn(", Doing::Member),
    ("_lock", Doing::Lock),
    ("lock:", Doing::Lock),
    ("mutex", Doing::Lock),
    (".acquire(", Doing::Lock),
];

#[derive(Debug, Deserialize)]
pub(super) struct PythonThread {
    #[serde(default)]
    thread_name: Option<String>,
    /// Whether it runs or is ready to run.
    active: bool,
    owns_gil: bool,
    frames: Vec<PythonFrame>,
}

#[derive(Debug, Deserialize)]
struct PythonFrame {
    name: String,
    filename: String,
    #[serde(default)]
    short_filename: Option<String>,
    line: i64,
}

/// Cached lines of source files.
#[derive(Debug, Default)]
pub(super) struct Sources {
    files: HashMap<String, Vec<String>>,
}

/// Adds the threads of one process to a sample. Returns whether one of them had the interpreter's lock.
pub(super) fn add_to(threads: &mut ThreadSamples, functions: &mut FunctionSamples, dump: &[PythonThread], sources: &mut Sources) -> bool {
    for thread in dump {
        let stack: Vec<Frame> = thread.frames.iter().map(PythonFrame::named).collect();
        let doing = thread.doing(sources);
        if doing == Doing::Computes {
            functions.add(Position::computing(&stack), 1.0);
        }
        threads.add(doing, thread.thread_name.as_deref().unwrap_or_default(), &stack, 1.0);
    }
    dump.iter().any(|thread| thread.owns_gil)
}

impl PythonThread {
    fn doing(&self, sources: &mut Sources) -> Doing {
        let Some(innermost) = self.frames.first() else { return Doing::Other };
        if self.active || self.owns_gil {
            return Doing::Computes;
        }
        let library = self.frames.iter().take_while(|frame| !frame.is_own());
        let named = |frame: &PythonFrame| {
            let found =
                WAITS.iter().find(|(file, name, _)| frame.filename.ends_with(file) && (name.is_empty() || frame.name.ends_with(name)));
            found.map(|(_, _, doing)| *doing)
        };
        if let Some(doing) = library.map(named).find_map(std::convert::identity) {
            return doing;
        }
        let line = if innermost.is_own() { sources.line(&innermost.filename, innermost.line) } else { String::new() };
        let line = line.to_lowercase();
        LINES.iter().find(|(part, _)| line.contains(part)).map_or(Doing::Other, |(_, doing)| *doing)
    }
}

impl PythonFrame {
    fn is_own(&self) -> bool {
        let foreign = ["/site-packages/", "/dist-packages/", "/lib/python", "<frozen"];
        !foreign.iter().any(|part| self.filename.contains(part))
    }

    fn named(&self) -> Frame {
        let file = self.short_filename.as_deref().unwrap_or(&self.filename);
        Frame { function: format!("{} {}", self.name, file.rsplit('/').next().unwrap_or(file)), is_own: self.is_own() }
    }
}

impl Sources {
    /// Empty if the file cannot be read, for example for a process in a container.
    fn line(&mut self, file: &str, line: i64) -> String {
        if !self.files.contains_key(file) {
            if self.files.len() >= FILES_MAX {
                return String::new();
            }
            let is_short = std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= FILE_MAX);
            let text = if is_short { std::fs::read_to_string(file).unwrap_or_default() } else { String::new() };
            self.files.insert(file.to_owned(), text.lines().map(str::to_owned).collect());
        }
        let index = usize::try_from(line.saturating_sub(1)).ok();
        index.and_then(|index| self.files.get(file)?.get(index).cloned()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Line numbers are the dump's word: the smallest one once overflowed.
    #[test]
    fn a_line_that_no_file_has_is_empty() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"first\nsecond\n").unwrap();
        let path = file.path().to_str().unwrap();
        let mut sources = Sources::default();
        let lines = [i64::MIN, -1, 0, 1, 2, 3, i64::MAX].map(|line| sources.line(path, line));
        assert_eq!(lines, ["", "", "", "first", "second", "", ""]);
    }
}
