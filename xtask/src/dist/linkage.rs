//! The requirements of a binary: a system, a processor, and the libraries that it is linked with.
//!
//! Read [`target`]. Offsets and values are those of the System V ABI, "Object Files", and of `<mach-o/loader.h>`, for files of 64 bits in little-endian order.

use std::ops::Range;

use super::processor::Processor;
use super::target::{ReleaseTarget, TargetSystem};

const ELF_MAGIC: &[u8] = b"\x7fELF\x02\x01";
const ELF_MACHINE: Range<usize> = 18..20;
/// The program headers: offset, size of one, number.
const HEADERS_AT: Range<usize> = 32..40;
const HEADER_BYTES: Range<usize> = 54..56;
const HEADERS: Range<usize> = 56..58;
/// A program header: its type, its segment's offset in the file, its size there.
const TYPE: Range<usize> = 0..4;
const INTERPRETER: u64 = 3;
const SEGMENT_AT: Range<usize> = 8..16;
const SEGMENT_BYTES: Range<usize> = 32..40;

/// `MH_MAGIC_64`.
const MACH_MAGIC: &[u8] = b"\xcf\xfa\xed\xfe";
const MACH_CPU: Range<usize> = 4..8;
/// The load commands: their number, and where they begin.
const COMMANDS: Range<usize> = 16..20;
const COMMANDS_AT: usize = 32;
/// A load command: its type, its size, and for a library the offset of its path.
const COMMAND_BYTES: Range<usize> = 4..8;
const PATH_AT: Range<usize> = 8..12;
/// `LC_LOAD_DYLIB`, `LC_LOAD_WEAK_DYLIB`, `LC_REEXPORT_DYLIB`.
const LIBRARIES: [u64; 3] = [0xc, 0x8000_0018, 0x8000_001f];
/// Where every Mac has libraries.
const OF_THE_SYSTEM: [&str; 2] = ["/usr/lib/", "/System/Library/"];

/// What a file's bytes are a program for, or why they cannot be packaged as the binary.
pub(super) fn target(file: &[u8]) -> Result<ReleaseTarget, String> {
    if file.starts_with(ELF_MAGIC) {
        let processor = processor(file, ELF_MACHINE, Processor::elf_machine)?;
        return match interpreter(file) {
            None => Ok(ReleaseTarget { system: TargetSystem::Linux, processor }),
            Some(loader) => Err(format!(
                "it is linked dynamically (it is loaded by {loader}), so that it would not start in the image, which has no libraries, nor where those are \
                 older; `cargo xtask dist` builds one that is linked statically"
            )),
        };
    }
    if file.starts_with(MACH_MAGIC) {
        let processor = processor(file, MACH_CPU, Processor::mach_cpu)?;
        return match libraries(file).into_iter().find(|library| !OF_THE_SYSTEM.iter().any(|folder| library.starts_with(folder))) {
            None => Ok(ReleaseTarget { system: TargetSystem::Macos, processor }),
            Some(library) => Err(format!("it is linked with {library}, which other Macs lack")),
        };
    }
    Err("it is no program of Linux or macOS for 64 bits".to_owned())
}

fn processor(file: &[u8], at: Range<usize>, of: fn(Processor) -> u64) -> Result<Processor, String> {
    let found = Processor::ALL.into_iter().find(|processor| number(file, at.clone()) == Some(of(*processor)));
    found.ok_or_else(|| format!("it is for another processor than {}", Processor::ALL.map(Processor::name).join(" and ")))
}

/// The loader of a dynamically linked program's libraries; `None` for a statically linked program.
fn interpreter(file: &[u8]) -> Option<String> {
    let [at, bytes, count] = [HEADERS_AT, HEADER_BYTES, HEADERS].map(|range| number(file, range).unwrap_or(0));
    let headers = (0..count).filter_map(|place| file.get(usize::try_from(at.checked_add(place * bytes)?).ok()?..));
    let header = headers.into_iter().find(|header| number(header, TYPE) == Some(INTERPRETER))?;
    let from = usize::try_from(number(header, SEGMENT_AT)?).ok()?;
    Some(text(file.get(from..)?.get(..usize::try_from(number(header, SEGMENT_BYTES)?).ok()?)?))
}

/// The paths of the libraries that a program for macOS is linked with.
fn libraries(file: &[u8]) -> Vec<String> {
    let mut paths = Vec::new();
    let mut rest = file.get(COMMANDS_AT..).unwrap_or_default();
    for _ in 0..number(file, COMMANDS).unwrap_or(0) {
        let bytes = number(rest, COMMAND_BYTES).and_then(|bytes| usize::try_from(bytes).ok()).filter(|bytes| *bytes >= COMMAND_BYTES.end);
        let Some(command) = bytes.and_then(|bytes| rest.get(..bytes)) else { break };
        if number(command, TYPE).is_some_and(|kind| LIBRARIES.contains(&kind)) {
            let at = number(command, PATH_AT).and_then(|at| usize::try_from(at).ok());
            paths.extend(at.and_then(|at| command.get(at..)).map(text));
        }
        rest = &rest[command.len()..];
    }
    paths
}

/// Up to the first zero.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

fn number(file: &[u8], range: Range<usize>) -> Option<u64> {
    Some(file.get(range)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}
