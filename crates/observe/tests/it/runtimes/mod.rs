//! Observers of runtimes against real ones.

mod go;
mod jvm;
mod node;
mod python;
