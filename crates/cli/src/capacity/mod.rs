//! A search for what a system can take: one probe after another in this process, each an ordinary run. Read [`CapacitySearch`].
//!
//! What to do next and what it comes to stand in `analysis`; here are the load at a level (`load`), one probe (`probe`) and what is kept beside the runs
//! (`kept`).

mod kept;
mod load;
mod probe;
mod search;

pub(crate) use kept::answer;
pub(crate) use load::TestLoad;
pub(crate) use search::{CapacityRequest, CapacitySearch};
