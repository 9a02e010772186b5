//! The test from docs/tutorial.md, against the shop that the tutorial describes.

use loadstone_stub::demo::{DemoOptions, DemoShop};

use crate::harness::Folder;

const TUTORIAL: &str = include_str!("../../../../docs/tutorial.md");

#[test]
fn the_tutorials_test_runs_against_its_shop() {
    let test = TUTORIAL.split("```ts\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the tutorial has a test");
    let shop = DemoShop::start(DemoOptions::default()).expect("the shop starts");
    let target = format!("target={}", shop.url());
    let folder = Folder::new().file("buy.load.ts", test);
    folder.run(&["try", "buy.load.ts", "-p", &target]).code(0).says("✓ check \"order is paid\"");
    let ended = folder.run(&["run", "buy.load.ts", "-p", &target, "-p", "runTime=2s"]);
    assert_eq!(ended.summary()["checks"][0]["failed"], 0, "{}", ended.everything());
}
