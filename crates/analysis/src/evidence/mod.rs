//! Evidence and alternatives that several rules and the remark share: each file reads facts and renders one kind of evidence.
//!
//! Deliberately absent: rules (`crate::findings`) and anything that several rules only need to know (`crate::facts`).

pub(crate) mod acquiring;
pub(crate) mod added_time;
pub(crate) mod changed_series;
pub(crate) mod common_wait;
pub(crate) mod cpu_demand;
pub(crate) mod examined;
pub(crate) mod failed_calls;
pub(crate) mod failed_objective;
pub(crate) mod failed_place;
pub(crate) mod fixed_pause;
pub(crate) mod growing_level;
pub(crate) mod headroom;
pub(crate) mod next_limit;
pub(crate) mod occupation;
pub(crate) mod round_trips;
pub(crate) mod stated_limit;
pub(crate) mod time_place;
pub(crate) mod transactions;
pub(crate) mod users_time;
