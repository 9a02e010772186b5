//! The tests and the outputs of README.md and docs/tutorial.md, against the shop that they describe.

use loadstone_stub::demo::{DemoOptions, DemoShop};

use crate::harness::{Folder, fairly};

const TUTORIAL: &str = include_str!("../../../../docs/tutorial.md");
const README: &str = include_str!("../../../../README.md");

/// The content of the first block of a language that contains a string.
fn block<'a>(document: &'a str, language: &str, with: &str) -> &'a str {
    let opening = format!("```{language}\n");
    let mut blocks = document.split(opening.as_str()).skip(1).filter_map(|rest| rest.split("```").next());
    blocks.find(|block| block.contains(with)).expect("the document has the block")
}

/// Words alone: any number is `#`, any unit of time is `s`, any white space is one space.
fn shape(text: &str) -> String {
    let word = |word: &str| {
        let digits = word.trim_matches(|c: char| !c.is_ascii_digit());
        let unit = |rest: &str| matches!(rest.trim_matches(['(', ')', ',', ';', ':']), "ms" | "s" | "µs");
        match digits {
            "" if unit(word) => word.replace("ms", "s").replace("µs", "s"),
            "" => word.to_owned(),
            digits => word.replace(digits, "#"),
        }
    };
    text.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// Without the rest of a claim up to its confidence. On a busy machine, a finding names more causes and is less certain.
fn without_causes(text: &str) -> String {
    let cut = || {
        let (before, rest) = text.split_once("at a time:")?;
        let (_, after) = rest.split_once("confidence)")?;
        Some(format!("{before}at a time: … {after}"))
    };
    cut().unwrap_or_else(|| text.to_owned())
}

/// Whether an output has the shown parts in this order; `…` stands for anything.
fn assert_printed(shown: &str, printed: &str) {
    let shown = if printed.contains("high confidence") { shown.to_owned() } else { without_causes(shown) };
    let printed = shape(printed);
    let mut rest = printed.as_str();
    for part in shown.split('…').map(shape).filter(|part| !part.is_empty()) {
        let at = rest.find(part.as_str()).unwrap_or_else(|| panic!("the document shows\n{part}\nbut the command prints\n{printed}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn the_readme_shows_what_the_demo_prints() {
    let ended = Folder::new().run(&["demo"]).code(0);
    assert_printed(block(README, "", "Findings"), &ended.stdout);
}

#[test]
fn the_tutorial_shows_what_its_last_run_prints() {
    let shop = DemoShop::start(DemoOptions::default()).expect("the shop starts");
    let target = format!("target={}", shop.url());
    let folder = Folder::new().file("buy.load.ts", block(TUTORIAL, "ts", "buyers"));
    let ended = fairly(|| folder.run(&["run", "buy.load.ts", "-p", &target, "-p", "buyers=130"])).code(3);
    assert_printed(block(TUTORIAL, "text", "Findings"), &ended.stdout);
}

#[test]
fn the_readme_passes_the_parameters_that_its_test_declares() {
    let shop = DemoShop::start(DemoOptions::default()).expect("the shop starts");
    let test = block(README, "ts", "export default").replace("http://127.0.0.1:8080", &shop.url());
    let folder = Folder::new().file("first.load.ts", &test);
    assert!(README.contains("loadstone run first.load.ts -p rate=20 -p runTime=1m"));
    folder.run(&["inspect", "first.load.ts", "-p", "rate=20", "-p", "runTime=1m"]).code(0);
    folder.run(&["try", "first.load.ts"]).code(0);
}

#[test]
fn shapes_differ_in_words_only() {
    assert_printed("p95 was 9.52 ms (12 samples)\n  …  rises by 4.0", "x p95 was 1.14 s (585 samples) and rises by 3");
    let differs = std::panic::catch_unwind(|| assert_printed("p95 was 9.52 ms", "p99 is 9.52 ms"));
    assert!(differs.is_err());
}

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
