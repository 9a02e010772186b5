//! `cargo xtask days` and `cargo xtask soak`: what hours do to the generator, the run directory and the report.
//!
//! [`days`] makes a run of a day on virtual time (crates/report, the example `days`) and holds its costs against targets; [`soak`] makes
//! real load for real hours. Deliberately absent: whether the numbers are right (`accuracy`), and cost per request (`bench`).

pub(crate) mod days;
mod paint;
mod slope;
pub(crate) mod soak;

use std::fs;
use std::path::Path;

use anyhow::Result;

pub(crate) use self::slope::student_t;

/// Bytes of all files directly in a folder.
fn size_of(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        sum += entry?.metadata()?.len();
    }
    Ok(sum)
}
