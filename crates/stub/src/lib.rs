//! stub

mod delay;

pub use delay::{Delay, DelayError};
