//! From a frozen plan to a finished run directory.
//!
//! Read [`Session`] first (the inputs of a run, and [`Session::run`]), then [`RunEvent`] and [`Subscriber`]. Subscribers receive events one after another,
//! in listed order. `run_feed` derives these events from the coordinator's, in steps with one file each: `system_signals` and `stub_signals` (readings of
//! the system), `trace_names` (request names of traces), `flow_tracking` (journeys), `judgement` (thresholds and validity so far), `provisional_findings`
//! (findings so far). This crate's own subscribers are `directory_writer`, which every run has, and [`OutputFeed`]. Deliberately absent: command lines,
//! terminals, pages, exit codes, and conclusions, which are computed from the directory.

mod descriptor_room;
mod directory_writer;
mod error;
mod event;
mod fixed_request;
mod flow_tracking;
mod judgement;
mod machine;
mod output_feed;
mod printed_lines;
mod provisional_findings;
mod rate_room;
mod reach;
mod run_feed;
mod session;
mod source_state;
mod stub_signals;
mod subscribers;
mod system_signals;
mod trace_names;

pub use descriptor_room::{RoomError, check_descriptors, descriptor_tables};
pub use error::SessionError;
pub use event::{RunEvent, RunRequests, Subscriber, SubscriberError};
pub use fixed_request::{FixedRequest, FixedRequestUsers};
pub use flow_tracking::FlowTracking;
pub use loadstone_engine::{LoadControl, LoadControls, LoadEnding, LoadEvent, LoadHandle, StopReason};
pub use loadstone_observe::processes_on;
pub use machine::{cores, hostname, machine_cores};
pub use output_feed::{OutputFeed, OutputSettings};
pub use printed_lines::{LineSender, PrintedLines};
pub use rate_room::RateError;
pub use reach::{Unreachable, reach};
pub use session::{FinishedRun, FleetOfRun, Session, now};
pub use system_signals::{check_observer, observers};
