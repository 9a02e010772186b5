//! The types that the page shares with `loadstone ui`, as TypeScript. `web/src/generated/ui.ts` is generated from them.

use std::path::Path;

use loadstone_report::typescript::PageTypes;

use super::answers::AnswerRow;
use super::catalogue::TestFile;
use super::queue::QueueRow;
use super::routes::RefusedFields;

#[test]
fn the_page_has_the_types_of_the_server() {
    let types = PageTypes::report().module("ui").with::<TestFile>().with::<QueueRow>().with::<AnswerRow>().with::<RefusedFields>();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/generated");
    types.compare(&folder, &["ui"]).unwrap();
}
