//! The script crate from outside: files on disk in, plans, errors and runs out.

mod folder;
mod loading;
mod modules;
mod running;
