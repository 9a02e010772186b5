//! Observers of runtimes against real ones.

mod go;
mod jvm;
mod native;
mod node;
mod python;
