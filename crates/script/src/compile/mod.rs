//! Compiles a test file and all its imports to JavaScript modules, ahead of any run.
//!
//! Read [`Program`] first: the immutable result that every realm loads. Deliberately absent: running anything, and any file access after
//! [`compile`] has returned. Only this folder uses oxc.

mod call_place;
mod commonjs;
mod computed_reads;
mod constants;
mod graph;
mod guest;
mod members;
mod options;
mod program;
mod resolve;
mod source;
mod stepped;
mod transpile;
mod user_calls;

use std::sync::Arc;

pub(crate) use graph::{compile, compile_guest};
pub use guest::{GuestModules, RemoteModules};
pub(crate) use program::ModuleForm;
pub use program::Program;

const fn assert_shared<T: Send + Sync>() {}
const _: () = assert_shared::<Arc<Program>>();

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    use std::path::Path;

    use super::source::SourceText;
    use super::transpile::{SourceDialect, transpile};
    use crate::known_verbs::KnownVerbs;

    pub(crate) fn file(path: &Path, text: &str) {
        let source = SourceText { file: "a.load.ts".into(), text: text.to_owned() };
        for dialect in [SourceDialect::Loadstone, SourceDialect::Guest] {
            // What is no TypeScript is an error at its place.
            let _ = transpile(path, &source, &KnownVerbs::default(), dialect);
        }
        let _ = crate::named_hosts::in_value(text).count();
    }
}
