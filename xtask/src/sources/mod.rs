//! Which source files use each other, read from their text: modules and paths of Rust, relative imports of TypeScript and Svelte.
//!
//! [`module_tree`] has the modules of a crate, [`resolve`] finds where a name is defined, [`graph`] finds circles. Deliberately absent: types
//! and methods. A method call names no file, so a dependency by methods alone is not detected.

pub(crate) mod graph;
pub(crate) mod imports;
pub(crate) mod module_tree;
mod paths;
pub(crate) mod resolve;
