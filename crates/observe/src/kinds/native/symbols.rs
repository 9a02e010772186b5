//! Names of functions, resolved on a separate thread, because reading the symbols of a large program takes time.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolizer};
use tokio::sync::oneshot;

use super::maps::CodeFile;
use super::name::readable;

/// Places whose names are cached; beyond that, the cache is cleared.
const NAMES_MAX: usize = 50_000;

/// A place in a file.
pub(super) type FilePlace = (u32, u64);
type FoundNames = Vec<(FilePlace, Arc<str>)>;

/// One request: places by file.
struct SymbolQuestion {
    places: Vec<(Arc<CodeFile>, Vec<u64>)>,
    answer: oneshot::Sender<FoundNames>,
}

/// Known names, and names being looked up. The thread ends with this value.
#[derive(Default)]
pub(super) struct Symbols {
    names: HashMap<FilePlace, Arc<str>>,
    thread: Option<SyncSender<SymbolQuestion>>,
    asked: Option<AskedNames>,
}

struct AskedNames {
    answer: oneshot::Receiver<FoundNames>,
    places: Vec<(Arc<CodeFile>, Vec<u64>)>,
}

impl Symbols {
    pub(super) fn get(&self, place: FilePlace) -> Option<&Arc<str>> {
        self.names.get(&place)
    }

    /// Whether names are being looked up.
    pub(super) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// Requests the names of these places, none of which is known. Only one request may be in progress.
    pub(super) fn ask(&mut self, places: Vec<(Arc<CodeFile>, Vec<u64>)>) {
        let (sender, answer) = oneshot::channel();
        let thread = self.thread.get_or_insert_with(started);
        // If the thread has ended, its sender is dropped, and these names remain unknown.
        let _ = thread.try_send(SymbolQuestion { places: places.clone(), answer: sender });
        self.asked = Some(AskedNames { answer, places });
    }

    /// Takes the requested names, if all are available.
    pub(super) fn take(&mut self) {
        let Some(asked) = &mut self.asked else { return };
        match asked.answer.try_recv() {
            Ok(names) => self.learn(names),
            Err(oneshot::error::TryRecvError::Empty) => {}
            Err(oneshot::error::TryRecvError::Closed) => self.give_up(),
        }
    }

    /// Waits for the requested names.
    pub(super) async fn wait(&mut self) {
        let Some(asked) = &mut self.asked else { return };
        match (&mut asked.answer).await {
            Ok(names) => self.learn(names),
            Err(_) => self.give_up(),
        }
    }

    fn learn(&mut self, names: FoundNames) {
        self.asked = None;
        self.names.extend(names);
    }

    /// A file whose look-up fails loses only its own names.
    fn give_up(&mut self) {
        let Some(AskedNames { places, .. }) = self.asked.take() else { return };
        for (file, offsets) in places {
            let name: Arc<str> = unknown_in(&file).into();
            self.names.extend(offsets.into_iter().map(|offset| ((file.number, offset), Arc::clone(&name))));
        }
        self.thread = None;
    }

    /// Forgets all names once there are too many. Must not run while a report still needs them.
    pub(super) fn bound(&mut self) {
        if self.names.len() > NAMES_MAX {
            self.names.clear();
        }
    }
}

/// `(unknown in libc.so.6)`, without the address, which differs after each start.
fn unknown_in(file: &CodeFile) -> String {
    format!("(unknown in {})", file.label)
}

fn started() -> SyncSender<SymbolQuestion> {
    let (sender, questions) = sync_channel(1);
    // If the thread does not start, its receiver is dropped, and all names remain unknown.
    let _ = std::thread::Builder::new().name("symbols".to_owned()).spawn(move || look_up(&questions));
    sender
}

fn look_up(questions: &Receiver<SymbolQuestion>) {
    let symbolizer = Symbolizer::builder().enable_demangling(false).enable_auto_reload(false).build();
    while let Ok(SymbolQuestion { places, answer }) = questions.recv() {
        let names = places.iter().flat_map(|(file, offsets)| names_in(&symbolizer, file, offsets)).collect();
        // The requester may have gone.
        let _ = answer.send(names);
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn names_of(program: &[u8]) {
    let Ok(descriptor) = rustix::fs::memfd_create("program", rustix::fs::MemfdFlags::CLOEXEC) else { return };
    let file = std::fs::File::from(descriptor);
    if std::os::unix::fs::FileExt::write_all_at(&file, program, 0).is_ok() {
        let symbolizer = Symbolizer::builder().enable_demangling(false).enable_auto_reload(false).build();
        let file = CodeFile { number: 0, label: "program".to_owned(), file: Some(file) };
        let names = names_in(&symbolizer, &file, &[0, 64, 4_096, program.len() as u64, u64::MAX]);
        assert_eq!(names.len(), 5);
    }
}

fn names_in(symbolizer: &Symbolizer, file: &CodeFile, offsets: &[u64]) -> FoundNames {
    let found = file.file.as_ref().and_then(|opened| {
        let mut path = "/proc/self/fd/".to_owned();
        // Writing to a string does not fail.
        let _ = write!(path, "{}", opened.as_raw_fd());
        let mut source = Elf::new(path);
        source.debug_syms = false;
        // The library adds the sizes in a program's headers unchecked: with overflow checks, a damaged program makes it panic.
        let found = catch_unwind(AssertUnwindSafe(|| symbolizer.symbolize(&Source::Elf(source), Input::FileOffset(offsets))));
        found.ok()?.ok()
    });
    let found = found.unwrap_or_default();
    let unknown: Arc<str> = unknown_in(file).into();
    let names = offsets.iter().enumerate().map(|(index, offset)| {
        let symbol = found.get(index).and_then(|symbolized| symbolized.as_sym());
        let name = symbol.map_or_else(|| Arc::clone(&unknown), |symbol| readable(&symbol.name).into());
        ((file.number, *offset), name)
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::native::maps::{CodeFiles, CodeMap};

    /// Must not be inlined or merged with another function.
    #[unsafe(no_mangle)]
    extern "C" fn loadstone_symbol_of_a_test() -> u32 {
        std::hint::black_box(424_242)
    }

    /// Found by fuzzing: the end of the only segment lies beyond the largest offset.
    #[test]
    fn a_program_with_an_endless_segment_has_no_names() {
        let header = [
            0x0001_0102_464c_457f_u64,
            0,
            0x0000_0001_003e_0002,
            0x0040_1000,
            64,
            0x0400_00e8,
            0x0038_0040_0000_0000,
            0x0003_0005_0040_0001,
        ];
        let segment = [0x0005_0000_0001, 0x0040_0d00_0000_0000, 0x0010_0000_0000, 0, u64::MAX - 1, 0, 0, 0];
        let program: Vec<u8> = header.into_iter().chain(segment).flat_map(u64::to_le_bytes).collect();
        names_of(&program);
    }

    #[tokio::test]
    async fn functions_of_this_program_have_their_names_and_others_say_where_they_are() {
        let mut files = CodeFiles::default();
        let map = CodeMap::read(std::process::id(), &mut files).unwrap();
        let place = map.place(loadstone_symbol_of_a_test as *const () as u64).unwrap();
        let file = Arc::clone(files.get(place.file).unwrap());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("text"), "no program").unwrap();
        let text = std::fs::File::open(folder.path().join("text")).ok();
        let odd = Arc::new(CodeFile { number: 900, label: "libodd.so".to_owned(), file: text });
        let nothing = Arc::new(CodeFile { number: 901, label: "vdso".to_owned(), file: None });
        let mut symbols = Symbols::default();
        symbols.ask(vec![(file, vec![place.offset, u64::MAX]), (odd, vec![0]), (nothing, vec![5])]);
        assert!(symbols.is_asking());
        symbols.wait().await;
        let name = |place| symbols.get(place).map(|name| name.to_string()).unwrap();
        assert_eq!(name((place.file, place.offset)), "loadstone_symbol_of_a_test");
        assert!(name((place.file, u64::MAX)).starts_with("(unknown in "));
        assert_eq!((name((900, 0)).as_str(), name((901, 5)).as_str()), ("(unknown in libodd.so)", "(unknown in vdso)"));
        assert!(!symbols.is_asking());
        assert_eq!(loadstone_symbol_of_a_test(), 424_242);
    }
}
