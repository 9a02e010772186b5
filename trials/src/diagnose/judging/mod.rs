//! The planted fault, the findings, and whether they are right: without I/O, so that the tests of `analysis` judge the recorded corpus by the same code.
//!
//! Read [`judge`] first, then [`Catalogue`]. Deliberately absent: running anything, and the tables.

mod catalogue;
mod cell;
mod conclusion;
mod judge;
mod phrase;

pub(crate) use catalogue::{Catalogue, HEALTHY};
pub(crate) use cell::{Cell, all};
pub(crate) use conclusion::CellConclusion;
pub(crate) use judge::{Rating, judge};

/// The root of the repository, for the tests here, which two packages run.
#[cfg(test)]
fn root() -> &'static std::path::Path {
    let mut folders = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.find(|folder| folder.join("labs/diagnose").is_dir()).expect("a package of the workspace")
}
