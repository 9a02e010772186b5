//! Values to hide: how they are learnt, found in strings, and masked.
//!
//! Read [`Secrets`] first: it learns values, before and during a test, and hides them wherever they occur. Then read [`is_credential`]: which names
//! of headers and fields mean a credential. [`LearntCredentials`] learns what requests and responses contain. [`exchange`] hides parts of a request
//! and its response by their names alone. `description` hides JSON that describes an observer or a stub. Deliberately absent: which strings of a
//! plan, a snapshot or a signal may contain a secret. Each of those types handles that itself, in a method called `hiding`.

mod description;
pub mod exchange;
mod fields;
mod find;
mod later;
mod learnt;
mod mask;
mod names;
mod secrets;
mod url;

pub use learnt::LearntCredentials;
pub use mask::MASK;
pub use names::{is_credential, is_password};
pub use secrets::Secrets;
