//! VUs on virtual time: iterations, and what happens when they are cut off.

mod harness;
mod interruptions;
mod requests;
mod scripts;
mod stacks;
