//! Values that protocols store in one network, which does not know their types.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// One value of each type, created at its first use.
#[derive(Default)]
pub(crate) struct Extensions(RefCell<Vec<Rc<dyn Any>>>);

impl Extensions {
    /// Searches a short list: call it once for each connection or user, not for each request.
    pub(crate) fn get_or_insert<T: 'static>(&self, make: impl FnOnce() -> T) -> Rc<T> {
        let known = self.0.borrow().iter().find_map(|value| Rc::clone(value).downcast::<T>().ok());
        known.unwrap_or_else(|| {
            let created = Rc::new(make());
            self.0.borrow_mut().push(Rc::clone(&created) as Rc<dyn Any>);
            created
        })
    }
}
