//! The lines of a record while it is written: from a named pipe, or from a file that grows, is rotated or is truncated.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flate2::read::MultiGzDecoder;

use crate::record_format::RecordPart;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 256 * 1024;
/// Longest line. Longer ones are skipped and counted. Bytes.
const LINE_BYTES_MAX: usize = 4 << 20;

/// Size up to which the lines that a file has at the start are counted, for the numbers of later ones. It delays the start. Bytes.
const COUNTED_BYTES_MAX: u64 = 32 << 20;

/// Reads without a result after which nobody writes to a rotated file any more: nginx's workers reopen their log some time after the new file exists.
const SILENT_READS_MAX: u32 = 50;

/// Where the record is.
#[derive(Debug)]
pub(crate) enum RecordPlace {
    /// A named pipe, which exists.
    Pipe(PathBuf),
    /// A file. Only what is written from now on counts; `has_header`: and its first line.
    File { path: PathBuf, has_header: bool },
    /// A file that is compressed with gzip. It is read from its beginning when nobody writes to it any more.
    Compressed(PathBuf),
    /// A folder in which the tool creates a folder for each run, with a file of this name.
    /// Only files that were written since this time count.
    NewestIn { folder: PathBuf, file: &'static str, since: SystemTime },
}

/// What a read found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineSourceState {
    Lines,
    /// Nothing new.
    Nothing,
    /// A new file has replaced the old one, to which the writer may still write for a moment.
    Rotating,
    /// The file was rotated or truncated, and the new content is read from now on.
    Rotated,
}

/// Reads lines from a [`RecordPlace`].
pub(crate) struct LineSource {
    place: RecordPlace,
    file: Option<File>,
    compressed: Option<MultiGzDecoder<File>>,
    writer_has_ended: bool,
    position: u64,
    /// The number of the line that was read last, counted from 1. `None`: unknown.
    line: Option<u64>,
    buffer: Vec<u8>,
    chunk: Vec<u8>,
    skips_line: bool,
    /// The record has no lines: bytes are passed on as they come.
    is_stream: bool,
    /// Reads of the old file without a result since a new file has replaced it.
    silent_reads: u32,
}

impl LineSource {
    /// Opens the place. A file may appear later.
    ///
    /// # Errors
    /// The pipe or the existing file cannot be opened.
    pub(crate) fn open(place: RecordPlace, is_stream: bool) -> io::Result<Self> {
        let mut source = Self {
            place,
            file: None,
            compressed: None,
            writer_has_ended: false,
            position: 0,
            line: (!is_stream).then_some(0),
            buffer: Vec::new(),
            chunk: vec![0; CHUNK_BYTES],
            skips_line: false,
            is_stream,
            silent_reads: 0,
        };
        match &source.place {
            RecordPlace::Pipe(path) => {
                let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
                source.file = Some(OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?);
            }
            RecordPlace::File { path, has_header } => {
                let has_header = *has_header;
                match File::open(path) {
                    Ok(file) => source.start_at_end(file, has_header)?,
                    Err(problem) if problem.kind() == io::ErrorKind::NotFound => {}
                    Err(problem) => return Err(problem),
                }
            }
            RecordPlace::Compressed(_) | RecordPlace::NewestIn { .. } => {}
        }
        Ok(source)
    }

    fn start_at_end(&mut self, mut file: File, has_header: bool) -> io::Result<()> {
        if self.line.is_some() {
            self.line = if file.metadata()?.len() <= COUNTED_BYTES_MAX { Some(self.lines_of(&mut file)?) } else { None };
        }
        if has_header {
            file.rewind()?;
            let read = file.read(&mut self.chunk)?;
            if let Some(end) = memchr::memchr(b'\n', &self.chunk[..read]) {
                self.buffer.extend_from_slice(&self.chunk[..=end]);
                // The header is passed on in place of the last line before the start.
                self.line = self.line.map(|line| line.saturating_sub(1));
            }
        }
        self.position = file.seek(SeekFrom::End(0))?;
        self.file = Some(file);
        Ok(())
    }

    fn lines_of(&mut self, file: &mut File) -> io::Result<u64> {
        let mut lines = 0;
        loop {
            match file.read(&mut self.chunk)? {
                0 => return Ok(lines),
                read => lines += memchr::memchr_iter(b'\n', &self.chunk[..read]).count() as u64,
            }
        }
    }

    /// Nobody writes any more.
    pub(crate) fn writer_has_ended(&mut self) {
        self.writer_has_ended = true;
    }

    /// The file, as the user named it.
    pub(crate) fn file(&self) -> Option<String> {
        match &self.place {
            RecordPlace::File { path, .. } | RecordPlace::Compressed(path) => Some(path.display().to_string()),
            RecordPlace::Pipe(_) | RecordPlace::NewestIn { .. } => None,
        }
    }

    /// Reads what is there, and passes on its complete lines without their ends, or a stream's bytes. Lines that are too long are skipped.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(&mut self, part: &mut dyn FnMut(RecordPart<'_>)) -> io::Result<LineSourceState> {
        self.appear();
        let read = match (&mut self.compressed, &mut self.file) {
            (Some(compressed), _) => compressed.read(&mut self.chunk),
            (None, Some(file)) => file.read(&mut self.chunk),
            (None, None) => return Ok(LineSourceState::Nothing),
        };
        let read = match read {
            Ok(read) => read,
            Err(problem) if matches!(problem.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => 0,
            Err(problem) => return Err(problem),
        };
        if read == 0 && self.buffer.last() != Some(&b'\n') {
            return self.look_for_rotation();
        }
        self.position += read as u64;
        if self.is_stream {
            part(RecordPart { content: Ok(&self.chunk[..read]), line: None });
            return Ok(LineSourceState::Lines);
        }
        self.split(read, part);
        Ok(LineSourceState::Lines)
    }

    /// Passes on the last line, which has no end.
    pub(crate) fn finish(&mut self, part: &mut dyn FnMut(RecordPart<'_>)) {
        let rest = std::mem::take(&mut self.buffer);
        if !rest.is_empty() {
            part(RecordPart { content: Ok(&rest), line: self.line.map(|line| line + 1) });
        }
    }

    fn split(&mut self, read: usize, part: &mut dyn FnMut(RecordPart<'_>)) {
        self.buffer.extend_from_slice(&self.chunk[..read]);
        let mut begin = 0;
        for end in memchr::memchr_iter(b'\n', &self.buffer) {
            self.line = self.line.map(|line| line + 1);
            if !std::mem::take(&mut self.skips_line) {
                part(RecordPart { content: Ok(&self.buffer[begin..end]), line: self.line });
            }
            begin = end + 1;
        }
        self.buffer.drain(..begin);
        if self.buffer.len() > LINE_BYTES_MAX {
            self.buffer.clear();
            if !std::mem::replace(&mut self.skips_line, true) {
                part(RecordPart { content: Err("a line of more than 4 MiB"), line: self.line.map(|line| line + 1) });
            }
        }
    }

    /// Opens a file that did not exist.
    fn appear(&mut self) {
        if self.file.is_some() || self.compressed.is_some() {
            return;
        }
        let path = match &self.place {
            RecordPlace::Compressed(path) => {
                self.compressed = File::open(path).ok().filter(|_| self.writer_has_ended).map(MultiGzDecoder::new);
                return;
            }
            RecordPlace::Pipe(path) | RecordPlace::File { path, .. } => Some(path.clone()),
            RecordPlace::NewestIn { folder, file, since } => newest(folder, file, *since),
        };
        self.file = path.and_then(|path| File::open(path).ok());
    }

    fn look_for_rotation(&mut self) -> io::Result<LineSourceState> {
        let (RecordPlace::File { path, .. }, Some(file)) = (&self.place, &mut self.file) else { return Ok(LineSourceState::Nothing) };
        let Ok(there) = std::fs::metadata(path) else { return Ok(LineSourceState::Nothing) };
        let mine = file.metadata()?;
        if (mine.dev(), mine.ino()) != (there.dev(), there.ino()) {
            self.silent_reads += 1;
            if self.silent_reads <= SILENT_READS_MAX {
                return Ok(LineSourceState::Rotating);
            }
            *file = File::open(path)?;
        } else if there.len() < self.position {
            file.rewind()?;
        } else {
            return Ok(LineSourceState::Nothing);
        }
        self.position = 0;
        self.line = Some(0);
        self.silent_reads = 0;
        self.buffer.clear();
        self.skips_line = false;
        Ok(LineSourceState::Rotated)
    }
}

/// The file of this name in the folder's newest folder.
fn newest(folder: &Path, file: &str, since: SystemTime) -> Option<PathBuf> {
    let found = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path().join(file));
    let written = found.filter_map(|path| Some((std::fs::metadata(&path).ok()?.modified().ok()?, path)));
    written.filter(|(at, _)| *at >= since).max().map(|(_, path)| path)
}
