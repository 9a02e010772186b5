//! All disk access of this crate. Every error names the operation and the file.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::RunError;

/// Limit on a file that is read at once.
const WHOLE_BYTES_MAX: u64 = 64 << 20;

/// Creates `folder/name`, or `folder/name-2`, `-3`, … if it exists. Never reuses an existing directory.
pub(crate) fn make_new_directory(folder: &Path, name: &str) -> Result<(PathBuf, String), RunError> {
    fs::create_dir_all(folder).map_err(|source| RunError::io("create", folder, source))?;
    for attempt in 1..=1000 {
        let unique = if attempt == 1 { name.to_owned() } else { format!("{name}-{attempt}") };
        let path = folder.join(&unique);
        match fs::create_dir(&path) {
            Ok(()) => return Ok((path, unique)),
            Err(source) if source.kind() == ErrorKind::AlreadyExists => {}
            Err(source) => return Err(RunError::io("create", &path, source)),
        }
    }
    Err(RunError::io("create", &folder.join(name), ErrorKind::AlreadyExists.into()))
}

/// Replaces a file atomically: a reader sees the old or the new content, never a part.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    let partial = path.with_extension("partial");
    let written = File::create(&partial).and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_data()));
    let renamed = written.and_then(|()| fs::rename(&partial, path));
    renamed.map_err(|source| {
        // The disk may be full, so free the space of the failed attempt. An error here changes nothing.
        let _ = fs::remove_file(&partial);
        RunError::io("write", path, source)
    })
}

/// A run directory may come from anybody: its files are read within limits.
pub(crate) fn read_whole(path: &Path) -> Result<Option<Vec<u8>>, RunError> {
    let Some(file) = open_regular(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(WHOLE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|source| RunError::io("read", path, source))?;
    if bytes.len() as u64 > WHOLE_BYTES_MAX {
        return Err(RunError::io("read", path, std::io::Error::new(ErrorKind::FileTooLarge, "it has more than 64 MiB")));
    }
    Ok(Some(bytes))
}

/// Neither a device nor a pipe: opening a pipe could wait forever. `None`: there is no file.
fn open_regular(path: &Path) -> Result<Option<File>, RunError> {
    let facts = match fs::metadata(path) {
        Ok(facts) => facts,
        Err(source) if source.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(RunError::io("read", path, source)),
    };
    if !facts.is_file() {
        return Err(RunError::io("read", path, std::io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")));
    }
    File::open(path).map(Some).map_err(|source| RunError::io("open", path, source))
}

/// When a file was last written; `None` when that is unknown.
pub(crate) fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|facts| facts.modified()).ok()
}

pub(crate) fn remove_file(path: &Path) -> Result<(), RunError> {
    fs::remove_file(path).map_err(|source| RunError::io("delete", path, source))
}

pub(crate) fn remove_directory(path: &Path) -> Result<(), RunError> {
    fs::remove_dir_all(path).map_err(|source| RunError::io("delete", path, source))
}

pub(crate) fn open_lines(path: &Path) -> Result<Option<BufReader<File>>, RunError> {
    Ok(open_regular(path)?.map(|file| BufReader::with_capacity(1 << 18, file)))
}

/// Names of the folders directly inside `folder`, unsorted; none when it does not exist.
pub(crate) fn folders_in(folder: &Path) -> Result<Vec<String>, RunError> {
    names_in(folder, Path::is_dir)
}

/// The same for files.
pub(crate) fn files_in(folder: &Path) -> Result<Vec<String>, RunError> {
    names_in(folder, Path::is_file)
}

fn names_in(folder: &Path, is_wanted: impl Fn(&Path) -> bool) -> Result<Vec<String>, RunError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(source) if source.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(RunError::io("list", folder, source)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| RunError::io("list", folder, source))?;
        if is_wanted(&entry.path())
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    Ok(names)
}

/// Appends to a file that another process may have written.
pub(crate) fn append(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    let mut file = OpenOptions::new().append(true).create(true).open(path).map_err(|source| RunError::io("open", path, source))?;
    file.write_all(bytes).and_then(|()| file.sync_data()).map_err(|source| RunError::io("append to", path, source))
}

/// Appends after the last complete line; removes a truncated line first.
pub(crate) fn append_after_last_line(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    let known = match fs::read(path) {
        Ok(known) => known,
        Err(source) if source.kind() == ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(RunError::io("read", path, source)),
    };
    let whole = known.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole < known.len() {
        let file = OpenOptions::new().write(true).open(path).map_err(|source| RunError::io("open", path, source))?;
        file.set_len(whole as u64).map_err(|source| RunError::io("cut", path, source))?;
    }
    append(path, bytes)
}

/// Bytes that are copied at a time.
const CHUNK_BYTES: usize = 1 << 16;

/// A file that only grows, by complete lines.
#[derive(Debug)]
pub(crate) struct Lines {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Lines {
    pub(crate) fn create(path: PathBuf) -> Result<Self, RunError> {
        let opened = OpenOptions::new().read(true).append(true).create_new(true).open(&path);
        let file = opened.map_err(|source| RunError::io("create", &path, source))?;
        Ok(Self { path, file, length: 0 })
    }

    /// Whether the file is still where it was created.
    pub(crate) fn is_in_place(&self) -> bool {
        self.path.exists()
    }

    /// Continues in another directory, with the content so far. The file may have been deleted: its content exists as long as it is open.
    pub(crate) fn move_to(&mut self, directory: &Path) -> Result<(), RunError> {
        let path = directory.join(self.path.file_name().unwrap_or_default());
        let opened = OpenOptions::new().read(true).append(true).create_new(true).open(&path);
        let mut copy = opened.map_err(|source| RunError::io("create", &path, source))?;
        self.copy_to(&mut copy).map_err(|source| RunError::io("copy to", &path, source))?;
        (self.path, self.file) = (path, copy);
        Ok(())
    }

    fn copy_to(&self, copy: &mut File) -> std::io::Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut position = 0;
        loop {
            match self.file.read_at(&mut chunk, position)? {
                0 => return Ok(()),
                count => {
                    copy.write_all(&chunk[..count])?;
                    position += count as u64;
                }
            }
        }
    }

    /// Appends lines with one write. Once this returns, they survive the end of the process.
    /// After an error, the file's length is unchanged.
    pub(crate) fn append(&mut self, line: &[u8]) -> Result<(), RunError> {
        match self.file.write_all(line) {
            Ok(()) => {
                self.length += line.len() as u64;
                Ok(())
            }
            Err(source) => {
                self.cut_back();
                Err(RunError::io("append to", &self.path, source))
            }
        }
    }

    /// A full disk may have stored half a line. Removes it, so that later lines do not follow it. The reader tolerates a
    /// truncated last line, so an error here loses nothing.
    fn cut_back(&self) {
        let _ = self.file.set_len(self.length);
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn sync(&self) -> Result<(), RunError> {
        self.file.sync_data().map_err(|source| RunError::io("flush", &self.path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error_that_says_so_and_advises() {
        let path = PathBuf::from("/dev/full");
        let file = OpenOptions::new().append(true).open(&path).unwrap();
        let error = Lines { path, file, length: 0 }.append(b"{}\n").unwrap_err();
        assert!(error.is_disk_full());
        assert!(error.to_string().contains("Free some space"), "{error}");
    }

    #[test]
    fn a_part_of_a_line_that_was_taken_is_cut_off_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let mut lines = Lines::create(path.clone()).unwrap();
        lines.append(b"whole\n").unwrap();
        // The state after a failed write: bytes beyond the recorded length, and a handle that refuses further writes.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"to").unwrap();
        lines.cut_back();
        assert_eq!(fs::read(&path).unwrap(), b"whole\n");
    }
}
