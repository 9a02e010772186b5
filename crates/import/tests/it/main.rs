//! What imports read and write, by format. That the results load and run is tested with the binary (crates/cli/tests/it/imports.rs).

mod correlation;
mod gatling;
mod jmeter;
mod sources;

use loadstone_import::{Choices, Format, ImportError, ImportedTest, Input};

/// Imports a text that needs no other file.
fn import(format: Format, text: &str) -> Result<ImportedTest, ImportError> {
    let choices = Choices { pauses: true, assets: true, all_hosts: false };
    loadstone_import::import(format, &Input { name: "source", text, folder: "", read: &|_| None, choices })
}

/// What is written, without its head.
#[track_caller]
fn written(format: Format, text: &str) -> String {
    match import(format, text) {
        Ok(imported) => imported.text,
        Err(error) => panic!("{error}"),
    }
}
