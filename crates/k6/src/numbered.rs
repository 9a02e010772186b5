//! Values that a script refers to by number.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Values by number. A number is used once.
pub(crate) struct Numbered<T> {
    values: RefCell<BTreeMap<u32, Rc<T>>>,
    last: Cell<u32>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { values: RefCell::default(), last: Cell::default() }
    }
}

impl<T> Numbered<T> {
    pub(crate) fn add(&self, value: Rc<T>) -> u32 {
        let number = self.last.get().wrapping_add(1);
        self.last.set(number);
        self.values.borrow_mut().insert(number, value);
        number
    }

    pub(crate) fn get(&self, number: u32) -> Option<Rc<T>> {
        self.values.borrow().get(&number).map(Rc::clone)
    }

    pub(crate) fn remove(&self, number: u32) -> Option<Rc<T>> {
        self.values.borrow_mut().remove(&number)
    }

    pub(crate) fn take_all(&self) -> Vec<Rc<T>> {
        std::mem::take(&mut *self.values.borrow_mut()).into_values().collect()
    }
}
