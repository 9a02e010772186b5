//! script

mod module;
