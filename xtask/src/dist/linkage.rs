//! The requirements of a binary: a processor, and the loader of its libraries if it is linked dynamically.
//!
//! Read [`problem`]. Offsets and values are those of the System V ABI, "Object Files", for files of 64 bits in little-endian order.

use std::ops::Range;

use super::processor::Processor;

const MAGIC: &[u8] = b"\x7fELF\x02\x01";
const MACHINE: Range<usize> = 18..20;
/// The program headers: offset, size of one, number.
const HEADERS_AT: Range<usize> = 32..40;
const HEADER_BYTES: Range<usize> = 54..56;
const HEADERS: Range<usize> = 56..58;
/// A program header: its type, its segment's offset in the file, its size there.
const TYPE: Range<usize> = 0..4;
const INTERPRETER: u64 = 3;
const SEGMENT_AT: Range<usize> = 8..16;
const SEGMENT_BYTES: Range<usize> = 32..40;

/// The processor of a program; `None` if no package is for it.
pub(super) fn processor(file: &[u8]) -> Option<Processor> {
    let machine = number(file, MACHINE)?;
    Processor::ALL.into_iter().find(|processor| file.starts_with(MAGIC) && processor.elf_machine() == machine)
}

/// Why a file's bytes cannot be packaged as the binary: the image has no libraries, and the other packages require none.
pub(super) fn problem(file: &[u8]) -> Option<String> {
    if !file.starts_with(MAGIC) {
        return Some("it is no program of Linux for 64 bits".to_owned());
    }
    if processor(file).is_none() {
        return Some(format!("it is for another processor than {}", Processor::ALL.map(Processor::name).join(" and ")));
    }
    let loader = interpreter(file)?;
    Some(format!(
        "it is linked dynamically (it is loaded by {loader}), so that it would not start in the image, which has no libraries, nor where those are older; \
         `cargo xtask dist` builds one that is linked statically"
    ))
}

/// The loader of a dynamically linked program's libraries; `None` for a statically linked program.
fn interpreter(file: &[u8]) -> Option<String> {
    let [at, bytes, count] = [HEADERS_AT, HEADER_BYTES, HEADERS].map(|range| number(file, range).unwrap_or(0));
    let headers = (0..count).filter_map(|place| file.get(usize::try_from(at.checked_add(place * bytes)?).ok()?..));
    let header = headers.into_iter().find(|header| number(header, TYPE) == Some(INTERPRETER))?;
    let from = usize::try_from(number(header, SEGMENT_AT)?).ok()?;
    let name = file.get(from..)?.get(..usize::try_from(number(header, SEGMENT_BYTES)?).ok()?)?;
    Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned())
}

fn number(file: &[u8], range: Range<usize>) -> Option<u64> {
    Some(file.get(range)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}
