//! What must not be seen: how it is learnt, found in texts, and hidden.
//!
//! Read [`Secrets`] first: it learns values, before a test runs and while it does, and hides them wherever they turn up. Then
//! [`is_credential`] (which names of headers and fields mean a credential), [`exchange`] (what is hidden of a request and its response by
//! name alone) and `description` (the same for JSON that describes an observer or a stub). Deliberately absent: which texts of a plan, a
//! snapshot or a signal may quote a secret. Each of those types says so itself, in a method called `hiding`.

mod description;
pub mod exchange;
mod find;
mod later;
mod mask;
mod names;
mod secrets;
mod url;

pub use mask::MASK;
pub use names::{is_credential, is_password};
pub use secrets::Secrets;
