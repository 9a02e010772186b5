//! What protocols keep for one network, without the network knowing them.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// One value of each type, made when it is first asked for.
#[derive(Default)]
pub(crate) struct Extensions(RefCell<Vec<Rc<dyn Any>>>);

impl Extensions {
    /// A walk through a short list: ask once for each connection or user, not for each request.
    pub(crate) fn get_or_insert<T: 'static>(&self, make: impl FnOnce() -> T) -> Rc<T> {
        let known = self.0.borrow().iter().find_map(|value| Rc::clone(value).downcast::<T>().ok());
        known.unwrap_or_else(|| {
            let made = Rc::new(make());
            self.0.borrow_mut().push(Rc::clone(&made) as Rc<dyn Any>);
            made
        })
    }
}
