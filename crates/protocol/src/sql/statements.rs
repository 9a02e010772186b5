//! Statements that a connection has prepared, by their text.

use std::collections::HashMap;

/// More than scripts use. Statements with embedded values would be unlimited.
const STATEMENTS_MAX: usize = 256;

/// The statements that the server stores for one connection, with information about each.
#[derive(Debug)]
pub(super) struct Statements<T> {
    known: HashMap<Box<str>, Prepared<T>>,
    last: u32,
    /// Statements to close with the next request.
    unwanted: Vec<u32>,
}

/// A statement that need not be parsed again.
#[derive(Debug, Clone)]
pub(super) struct Prepared<T> {
    /// Increases with each statement.
    pub(super) number: u32,
    pub(super) about: T,
}

impl<T> Default for Statements<T> {
    fn default() -> Self {
        Self { known: HashMap::new(), last: 0, unwanted: Vec::new() }
    }
}

impl<T> Statements<T> {
    pub(super) fn get(&self, text: &str) -> Option<&Prepared<T>> {
        self.known.get(text)
    }

    /// A number for the next statement to prepare, if the client assigns numbers.
    pub(super) fn next_number(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.last
    }

    pub(super) fn insert(&mut self, text: &str, prepared: Prepared<T>) {
        if self.known.len() >= STATEMENTS_MAX {
            let oldest = self.known.iter().min_by_key(|(_, known)| known.number).map(|(text, _)| text.clone());
            oldest.iter().for_each(|text| self.forget(text));
        }
        self.known.insert(text.into(), prepared);
    }

    pub(super) fn forget(&mut self, text: &str) {
        self.unwanted.extend(self.known.remove(text).map(|prepared| prepared.number));
    }

    pub(super) fn take_unwanted(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.unwanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_statement_is_closed_beyond_the_limit() {
        let mut statements = Statements::default();
        for text in 0..STATEMENTS_MAX + 2 {
            let number = statements.next_number();
            statements.insert(&text.to_string(), Prepared { number, about: () });
        }
        assert_eq!((statements.known.len(), statements.take_unwanted()), (STATEMENTS_MAX, vec![1, 2]));
        assert!(statements.get("1").is_none() && statements.get("2").is_some());
        statements.forget("2");
        assert_eq!((statements.get("2").is_none(), statements.take_unwanted()), (true, vec![3]));
    }
}
