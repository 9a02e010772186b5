//! Samples as stacks of places in files, until the names of all functions on them are known.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use loadstone_metrics::function_labels;

use super::maps::{CodeFile, CodeFiles, CodeMap, CodePlace};
use super::records::ThreadSample;
use super::symbols::Symbols;
use crate::stacks::functions::FunctionSamples;
use crate::stacks::position::{Frame, Position};

/// Distinct stacks between two reports. Of further ones, only kernel or user mode is recorded.
const STACKS_MAX: usize = 20_000;

#[derive(Debug, PartialEq, Eq, Hash)]
struct NativeStack {
    in_kernel: bool,
    /// Innermost first.
    places: Vec<CodePlace>,
}

#[derive(Default)]
pub(super) struct NativeSamples {
    files: CodeFiles,
    /// By process; `None` if its maps cannot be read, for example because it has ended.
    maps: HashMap<u32, Option<CodeMap>>,
    /// Processes whose maps were read since the last report.
    fresh: HashSet<u32>,
    counts: HashMap<NativeStack, u64>,
    symbols: Symbols,
}

impl NativeSamples {
    /// Discards samples from before a gap, and all maps.
    pub(super) fn reset(&mut self) {
        self.counts.clear();
        self.maps.clear();
        self.fresh.clear();
    }

    /// Reads the maps of processes while they live.
    pub(super) fn know(&mut self, processes: &[u32]) {
        self.maps.retain(|pid, _| processes.contains(pid));
        for pid in processes {
            self.map(*pid);
        }
    }

    fn map(&mut self, pid: u32) -> Option<&CodeMap> {
        let Self { files, maps, fresh, .. } = self;
        let read = || {
            fresh.insert(pid);
            CodeMap::read(pid, files)
        };
        maps.entry(pid).or_insert_with(read).as_ref()
    }

    /// Newly loaded code of a process is searched once between two reports.
    fn place(&mut self, pid: u32, address: u64) -> Option<CodePlace> {
        if let Some(place) = self.map(pid).and_then(|map| map.place(address)) {
            return Some(place);
        }
        if !self.fresh.insert(pid) {
            return None;
        }
        self.maps.remove(&pid);
        self.map(pid)?.place(address)
    }

    pub(super) fn add(&mut self, sample: &ThreadSample) {
        let mut places = Vec::new();
        for (index, address) in sample.addresses.iter().enumerate() {
            // A return address may already belong to the next function.
            let address = if index == 0 { *address } else { address.saturating_sub(1) };
            // Without frame pointers, the rest of the chain is arbitrary stack content.
            let Some(place) = self.place(sample.pid, address) else { break };
            places.push(place);
        }
        let stack = NativeStack { in_kernel: sample.in_kernel, places };
        if self.counts.len() < STACKS_MAX || self.counts.contains_key(&stack) {
            *self.counts.entry(stack).or_default() += 1;
        } else {
            *self.counts.entry(NativeStack { in_kernel: sample.in_kernel, places: Vec::new() }).or_default() += 1;
        }
    }

    /// Requests the names that are not known yet.
    pub(super) fn ask(&mut self) {
        self.symbols.take();
        if self.symbols.is_asking() {
            return;
        }
        let places: HashSet<(u32, u64)> =
            self.counts.keys().flat_map(|stack| &stack.places).map(|place| (place.file, place.offset)).collect();
        let mut unknown = BTreeMap::<u32, Vec<u64>>::new();
        for (file, offset) in places.into_iter().filter(|place| self.symbols.get(*place).is_none()) {
            unknown.entry(file).or_default().push(offset);
        }
        let asked = unknown.into_iter().filter_map(|(file, offsets)| Some((Arc::clone(self.files.get(file)?), offsets)));
        let asked: Vec<(Arc<CodeFile>, Vec<u64>)> = asked.collect();
        if !asked.is_empty() {
            self.symbols.ask(asked);
        }
    }

    /// Waits for the requested names.
    pub(super) async fn named(&mut self) {
        self.symbols.wait().await;
    }

    /// Whether all required names are known.
    pub(super) fn is_named(&self) -> bool {
        !self.symbols.is_asking()
    }

    /// Adds all samples to the functions, each with its seconds, and resets.
    pub(super) fn add_to(&mut self, functions: &mut FunctionSamples, seconds: f64) {
        for (stack, count) in std::mem::take(&mut self.counts) {
            let frames = stack.frames(&self.symbols);
            functions.add(Position::computing(&frames), seconds * count as f64);
        }
        self.fresh.clear();
        self.symbols.bound();
    }
}

impl NativeStack {
    fn frames(&self, symbols: &Symbols) -> Vec<Frame> {
        let kernel = self.in_kernel.then(|| Frame { function: function_labels::KERNEL.to_owned(), is_own: false });
        let nowhere = (self.places.is_empty() && !self.in_kernel).then(|| Frame { function: "(unknown)".to_owned(), is_own: false });
        let named = self.places.iter().map(|place| Frame {
            function: symbols.get((place.file, place.offset)).map_or_else(|| "(unknown)".to_owned(), |name| name.to_string()),
            is_own: place.is_own,
        });
        kernel.into_iter().chain(nowhere).chain(named).collect()
    }
}
