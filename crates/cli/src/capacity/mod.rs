//! The search for a system's capacity: this process runs one probe after another, each an ordinary run. Read [`CapacitySearch`].
//!
//! `analysis` decides the next probe and computes the answer. This module has the load at a level (`load`), one probe (`probe`) and the stored state
//! (`stored`).

mod load;
mod probe;
mod search;
mod stored;

pub(crate) use load::TestLoad;
pub(crate) use search::{CapacityRequest, CapacitySearch};
pub(crate) use stored::answer;
