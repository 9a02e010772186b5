//! Names of spans and services, each held once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::collector::label;

/// Stands for all names beyond the limit.
pub(super) const OTHER: &str = "(other)";
/// Distinct names. The limit exists because a name that contains an id differs each time.
const NAMES_MAX: usize = 4_000;

pub(super) struct NameTable {
    numbers: HashMap<Box<[u8]>, u32>,
    names: Vec<Arc<str>>,
}

impl NameTable {
    pub(super) fn new() -> Self {
        Self { numbers: HashMap::new(), names: vec![OTHER.into()] }
    }

    pub(super) fn number(&mut self, name: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        if self.names.len() >= NAMES_MAX {
            return 0;
        }
        let number = self.names.len() as u32;
        self.names.push(label(&String::from_utf8_lossy(name)).into());
        self.numbers.insert(name.into(), number);
        number
    }

    pub(super) fn name(&self, number: u32) -> Arc<str> {
        self.names.get(number as usize).map_or_else(|| OTHER.into(), Arc::clone)
    }
}
