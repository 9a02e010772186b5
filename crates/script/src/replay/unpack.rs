//! Records that are packed with gzip or Zstandard, such as `access.log.2.gz`: unpacked once into a temporary file, because requests are read again at their
//! places.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Largest record after unpacking. Bytes.
const UNPACKED_BYTES_MAX: u64 = 64 << 30;
const BUFFER_BYTES: usize = 1 << 18;

/// How a file is packed, by its first bytes (RFC 1952, section 2.3.1; RFC 8878, section 3.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordPacking {
    Gzip,
    Zstandard,
}

/// The record itself. A file that is not packed is returned as it is.
///
/// # Errors
/// The file is damaged or too large.
pub(super) fn unpacked(source: File) -> Result<File, String> {
    let failed = |problem: io::Error| format!("cannot be unpacked: {problem}");
    match packing(&source).map_err(failed)? {
        None => Ok(source),
        // Log rotation may append one packed file to another.
        Some(RecordPacking::Gzip) => {
            spool(flate2::read::MultiGzDecoder::new(io::BufReader::with_capacity(BUFFER_BYTES, source)), UNPACKED_BYTES_MAX)
        }
        Some(RecordPacking::Zstandard) => spool(zstd::Decoder::new(source).map_err(failed)?, UNPACKED_BYTES_MAX),
    }
}

/// The file's name without the ending of a packed file.
pub(super) fn plain_name(path: &Path) -> &Path {
    let is_packed = path.extension().is_some_and(|ending| ["gz", "zst"].iter().any(|packed| ending.eq_ignore_ascii_case(packed)));
    if is_packed { path.file_stem().map_or(path, Path::new) } else { path }
}

fn packing(mut source: &File) -> io::Result<Option<RecordPacking>> {
    let mut begin = Vec::with_capacity(4);
    source.take(4).read_to_end(&mut begin)?;
    source.seek(SeekFrom::Start(0))?;
    Ok(match begin.as_slice() {
        [0x1f, 0x8b, ..] => Some(RecordPacking::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd] => Some(RecordPacking::Zstandard),
        _ => None,
    })
}

fn spool(packed: impl Read, bytes_max: u64) -> Result<File, String> {
    let cannot_write =
        |problem: io::Error| format!("cannot write a temporary file: {problem}; unpack the record yourself where there is space");
    let mut file = BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile().map_err(cannot_write)?);
    let (mut packed, mut chunk, mut written) = (packed.take(bytes_max + 1), vec![0; BUFFER_BYTES], 0);
    loop {
        let count = match packed.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(problem) if problem.kind() == io::ErrorKind::Interrupted => continue,
            Err(problem) => return Err(format!("cannot be unpacked: {problem}; check it with `gzip -t` or `zstd -t`")),
        };
        written += count as u64;
        if written > bytes_max {
            return Err(format!("has more than {} after unpacking: split it", loadstone_units::bytes(bytes_max)));
        }
        file.write_all(&chunk[..count]).map_err(cannot_write)?;
    }
    let mut file = file.into_inner().map_err(|problem| cannot_write(problem.into_error()))?;
    file.seek(SeekFrom::Start(0)).map_err(cannot_write)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file
    }

    fn read(bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut text = Vec::new();
        unpacked(file_of(bytes))?.read_to_end(&mut text).map_err(|problem| problem.to_string())?;
        Ok(text)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn packed_and_plain_records_have_the_same_lines() {
        let text = b"a line\nanother\n".repeat(50_000);
        assert_eq!(read(&text).unwrap(), text);
        assert_eq!(read(&gzip(&text)).unwrap(), text);
        assert_eq!(read(&[gzip(b"one\n"), gzip(b"two\n")].concat()).unwrap(), b"one\ntwo\n");
        assert_eq!(read(&zstd::encode_all(&text[..], 1).unwrap()).unwrap(), text);
        assert_eq!(read(b"").unwrap(), b"");
    }

    #[test]
    fn damaged_and_endless_records_are_refused_with_the_remedy() {
        let text: Vec<u8> = (0..100_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let packed = gzip(&text);
        let problem = read(&packed[..packed.len() / 2]).unwrap_err();
        assert!(problem.starts_with("cannot be unpacked") && problem.contains("gzip -t"), "{problem}");
        assert!(spool(io::repeat(b'x'), 1 << 20).unwrap_err().contains("split it"));
    }

    #[test]
    fn the_format_follows_from_the_name_of_the_unpacked_file() {
        for (path, name) in [("logs/shop.har.gz", "shop.har"), ("a.gor.ZST", "a.gor"), ("logs/access.log", "logs/access.log")] {
            assert_eq!(plain_name(Path::new(path)), Path::new(name));
        }
    }
}
