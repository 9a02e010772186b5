//! The addresses and files of a process's code, from /proc/PID/maps (proc_pid_maps(5)).
//!
//! An address is expressed as an offset in a file, so that its symbol is valid for all processes that run the file at any load address.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use crate::procfs::read;

/// Files whose symbols are read; code of others counts as `(other files)`.
const FILES_MAX: usize = 256;

/// A file with code, or another kind of mapping with code.
#[derive(Debug)]
pub(super) struct CodeFile {
    pub(super) number: u32,
    /// For people: the file's name.
    pub(super) label: String,
    /// Open while its symbols may be needed, so that a replaced file does not matter. `None` if it is not a file.
    pub(super) file: Option<File>,
}

/// A place in a file, by the file's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CodePlace {
    pub(super) file: u32,
    /// Bytes from the file's beginning.
    pub(super) offset: u64,
    /// Whether it belongs to the program itself and not to a library.
    pub(super) is_own: bool,
}

/// All known files, of all processes.
#[derive(Debug, Default)]
pub(super) struct CodeFiles {
    files: Vec<Arc<CodeFile>>,
    /// By device, inode and path as listed in the maps.
    numbers: HashMap<String, u32>,
}

/// The code of one process.
#[derive(Debug)]
pub(super) struct CodeMap {
    mappings: Vec<CodeMapping>,
}

#[derive(Debug)]
struct CodeMapping {
    begin: u64,
    end: u64,
    offset: u64,
    file: u32,
    is_own: bool,
}

/// A line of the maps whose pages can be executed.
#[derive(Debug, PartialEq, Eq)]
struct MapLine<'a> {
    /// The file's entry in its line.
    range: &'a str,
    begin: u64,
    end: u64,
    offset: u64,
    /// Device, inode and path.
    key: &'a str,
    /// Empty for memory without a file.
    path: &'a str,
}

impl<'a> MapLine<'a> {
    /// `begin-end perms offset device inode   path`, numbers in hexadecimal but for the inode. `None` for what is not executable.
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.splitn(4, ' ');
        let (range, permissions, offset) = (fields.next()?, fields.next()?, fields.next()?);
        let key = fields.next()?;
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        let (begin, end) = range.split_once('-')?;
        // A path may contain spaces; the device and the inode precede it.
        let path = key.splitn(3, ' ').nth(2).unwrap_or_default().trim_start();
        let line = Self { range, begin: hexadecimal(begin)?, end: hexadecimal(end)?, offset: hexadecimal(offset)?, key, path };
        permissions.contains('x').then_some(line)
    }

    fn label(&self) -> String {
        match self.path {
            // Code of a JIT compiler.
            "" => "generated code".to_owned(),
            special if special.starts_with('[') || special.starts_with("//anon") => special.trim_matches(['[', ']', '/']).to_owned(),
            path => path.trim_end_matches(" (deleted)").rsplit('/').next().unwrap_or(path).to_owned(),
        }
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn label_of(line: &str) -> Option<String> {
    MapLine::parse(line).map(|line| line.label())
}

impl CodeFiles {
    pub(super) fn get(&self, number: u32) -> Option<&Arc<CodeFile>> {
        self.files.get(number as usize)
    }

    fn number(&mut self, pid: u32, line: &MapLine<'_>, is_own: bool) -> u32 {
        if let Some(number) = self.numbers.get(line.key) {
            return *number;
        }
        let is_full = self.files.len() >= FILES_MAX;
        let number = if is_full { FILES_MAX as u32 } else { self.files.len() as u32 };
        self.numbers.insert(line.key.to_owned(), number);
        if self.files.len() <= FILES_MAX {
            let file = if is_full || !line.path.starts_with('/') { None } else { opened(pid, line, is_own) };
            let label = if is_full { "other files".to_owned() } else { line.label() };
            self.files.push(Arc::new(CodeFile { number, label, file }));
        }
        number
    }
}

/// By the kernel's own links to it, which lead into other mount namespaces and to files that are deleted; the last of them needs root.
fn opened(pid: u32, line: &MapLine<'_>, is_own: bool) -> Option<File> {
    let inside = (!line.path.ends_with(" (deleted)")).then(|| format!("/proc/{pid}/root{}", line.path));
    let program = is_own.then(|| format!("/proc/{pid}/exe"));
    let mapped = format!("/proc/{pid}/map_files/{}", line.range);
    [program, inside, Some(mapped)].into_iter().flatten().find_map(|path| {
        // The path may now refer to anything, for example to a file whose opening blocks.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
        file.metadata().ok()?.is_file().then_some(file)
    })
}

impl CodeMap {
    /// Reads the map of a process; `None` where the process is gone or access is denied.
    pub(super) fn read(pid: u32, files: &mut CodeFiles) -> Option<Self> {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        let program = program.to_string_lossy();
        let text = read(format!("/proc/{pid}/maps")).ok()?;
        let mappings = text.lines().filter_map(MapLine::parse).map(|line| {
            let is_own = line.path == program;
            CodeMapping { begin: line.begin, end: line.end, offset: line.offset, file: files.number(pid, &line, is_own), is_own }
        });
        Some(Self { mappings: mappings.collect() })
    }

    /// `None` for an address without code. The kernel lists mappings by address.
    pub(super) fn place(&self, address: u64) -> Option<CodePlace> {
        let after = self.mappings.partition_point(|mapping| mapping.begin <= address);
        let mapping = self.mappings.get(after.checked_sub(1)?)?;
        (address < mapping.end).then(|| CodePlace {
            file: mapping.file,
            offset: (address - mapping.begin).saturating_add(mapping.offset),
            is_own: mapping.is_own,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_mappings_are_recognised() {
        let line =
            MapLine::parse("55d0a000-55d0b000 r-xp 00002000 fe:01 1234                       /opt/my shop/server (deleted)").unwrap();
        assert_eq!((line.begin, line.end, line.offset), (0x55d0_a000, 0x55d0_b000, 0x2000));
        assert_eq!((line.path, line.label().as_str()), ("/opt/my shop/server (deleted)", "server"));
        let generated = MapLine::parse("7f00-7f10 rwxp 00000000 00:00 0 ").unwrap();
        assert_eq!((generated.path, generated.label().as_str()), ("", "generated code"));
        assert_eq!(MapLine::parse("7f00-7f10 r-xp 00000000 00:00 0                [vdso]").unwrap().label(), "vdso");
        assert_eq!(MapLine::parse("7f00-7f10 rw-p 00000000 00:00 0                [heap]"), None);
        assert_eq!(MapLine::parse("rubbish"), None);
    }

    #[test]
    fn an_address_is_a_place_in_a_file() {
        let mapping = |begin, end, offset, file, is_own| CodeMapping { begin, end, offset, file, is_own };
        let map = CodeMap { mappings: vec![mapping(0x1000, 0x2000, 0x400, 0, true), mapping(0x4000, 0x5000, 0, 1, false)] };
        assert_eq!(map.place(0x1010), Some(CodePlace { file: 0, offset: 0x410, is_own: true }));
        assert_eq!(map.place(0x4fff), Some(CodePlace { file: 1, offset: 0xfff, is_own: false }));
        assert_eq!((map.place(0xfff), map.place(0x2000), map.place(0x5000)), (None, None, None));
    }

    #[test]
    fn our_own_code_is_the_programs() {
        let mut files = CodeFiles::default();
        let map = CodeMap::read(std::process::id(), &mut files).unwrap();
        let place = map.place(CodeMap::read as *const () as u64).unwrap();
        assert!(place.is_own && files.get(place.file).unwrap().file.is_some());
        assert!(CodeMap::read(u32::MAX, &mut files).is_none());
    }

    #[test]
    fn files_have_a_bound() {
        let mut files = CodeFiles::default();
        for number in 0..FILES_MAX + 20 {
            let key = format!("fe:01 {number} [{number}]");
            let line = format!("1000-2000 r-xp 0 {key}");
            files.number(std::process::id(), &MapLine::parse(&line).unwrap(), false);
        }
        assert_eq!((files.files.len(), files.get(FILES_MAX as u32).unwrap().label.as_str()), (FILES_MAX + 1, "other files"));
    }
}
