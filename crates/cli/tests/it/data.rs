//! Feeders, shared values, unique ids and randomness, across several workers.

use std::collections::BTreeSet;

use crate::harness::{Ended, Folder, server};

/// Runs a script with a CSV file of some rows on two workers.
fn run(script: &str) -> Ended {
    run_on("2", script)
}

fn run_on(workers: &str, script: &str) -> Ended {
    let head = "import { test, scenario, once, csv, jsonl, json, rows, generator, shared, \
                uniqueId, iterations, sequence, users, arrivals } from \"loadstone\";\n";
    let numbers: String = std::iter::once("n\n".to_owned()).chain((0..40).map(|n| format!("{n}\n"))).collect();
    let folder =
        Folder::new().file("a.load.ts", &format!("{head}{}", script.replace("TARGET", server::httpbin()))).file("numbers.csv", &numbers);
    folder.run(&["run", "a.load.ts", "--workers", workers])
}

#[test]
fn a_queue_gives_every_row_once_across_workers_and_then_stops() {
    let script = r#"const numbers = csv("numbers.csv").queue();
const take = scenario("Take", async (user) => { const { n } = numbers.next(); await user.get("/get", { query: { n } }); console.log("row", n); });
export default test({ target: "TARGET", load: take.run(users(6).for("60s")) });"#;
    for workers in ["2", "3"] {
        let ended = run_on(workers, script).passes();
        let rows = ended.printed();
        let distinct: BTreeSet<&String> = rows.iter().collect();
        assert_eq!((rows.len(), distinct.len()), (40, 40), "{}", ended.everything());
        let totals = &ended.summary()["totals"];
        assert_eq!((&totals["iterations"], &totals["requests"]), (&40.into(), &40.into()), "{}", ended.everything());
        let seconds = totals["duration_seconds"].as_f64().unwrap();
        assert!(seconds < 30.0, "an exhausted feeder ends its load: {seconds} s");
    }
}

#[test]
fn circular_rows_come_in_turn_exactly() {
    let script = r#"const numbers = csv("numbers.csv").circular();
const take = scenario("Take", async (user) => { const { n } = numbers.next(); console.log("row", n); user.check("given", true); await user.pause("2ms"); });
export default test({ target: "TARGET", load: take.run(iterations(120).users(6)) });"#;
    for workers in ["2", "3"] {
        let ended = run_on(workers, script).passes();
        let rows = ended.printed();
        assert_eq!(rows.len(), 120, "{}", ended.everything());
        for n in 0..40 {
            assert_eq!(rows.iter().filter(|row| **row == n.to_string()).count(), 3, "row {n} on {workers} workers");
        }
    }
}

#[test]
fn shuffled_and_random_rows_are_the_same_ones_on_any_number_of_workers() {
    let rows = |workers: &str, feeder: &str, seed: &str| {
        let script = r#"const numbers = csv("numbers.csv").FEEDER();
const take = scenario("Take", async (user) => { console.log("row", numbers.next().n); user.check("given", true); await user.pause("5ms"); });
export default test({ target: "TARGET", load: take.run(iterations(40).users(6)), options: { seed: SEED } });"#;
        let mut rows = run_on(workers, &script.replace("FEEDER", feeder).replace("SEED", seed)).passes().printed();
        rows.sort();
        assert_eq!(rows.len(), 40, "{feeder} on {workers} workers");
        rows
    };
    let random = rows("1", "random", "7");
    assert_eq!(random, rows("2", "random", "7"));
    assert_eq!(random, rows("3", "random", "7"));
    assert_ne!(random, rows("3", "random", "8"));
    let every: BTreeSet<String> = (0..40).map(|n| n.to_string()).collect();
    assert_eq!(BTreeSet::from_iter(rows("3", "shuffle", "7")), every);
    assert!(BTreeSet::from_iter(random).is_subset(&every));
}

#[test]
fn shuffle_repeats_with_its_seed_and_gives_each_row_once() {
    let script = r#"const numbers = csv("numbers.csv").shuffle();
const take = scenario("Take", async (user) => { console.log("row", numbers.next().n); });
export default test({ target: "TARGET", load: take.run(iterations(40)), options: { seed: SEED } });"#;
    let rows = |seed: &str| run(&script.replace("SEED", seed)).passes().printed();
    let (first, again, other) = (rows("7"), rows("7"), rows("8"));
    assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 40);
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn rows_that_a_run_collected_feed_the_next() {
    let head = r#"import { test, scenario, csv, collect, generator, iterations } from "loadstone";"#;
    let make = r#"const codes = collect("codes.csv");
const numbers = generator((n) => n);
const make = scenario("Make", (user) => { const n = numbers.next(); codes.add({ code: `"${n}", and more`, even: n % 2 === 0 }); });
export default test({ load: make.run(iterations(200).users(8)) });"#;
    let feed = r#"const codes = csv("codes.csv").queue();
const feed = scenario("Feed", (user) => { const { code, even } = codes.next(); console.log("row", code, even); });
export default test({ load: feed.run(iterations(200).users(8)) });"#;
    let folder = Folder::new().file("make.load.ts", &format!("{head}{make}"));
    folder.run(&["try", "make.load.ts"]).code(0);
    assert!(!folder.path().join("codes.csv").exists(), "a try writes nothing");
    folder.run(&["run", "make.load.ts", "--workers", "2"]).passes().says("codes.csv (200 rows)");
    let codes = std::fs::read_to_string(folder.path().join("codes.csv")).expect("what was collected");
    let folder = Folder::new().file("feed.load.ts", &format!("{head}{feed}")).file("codes.csv", &codes);
    let rows = folder.run(&["run", "feed.load.ts", "--workers", "2"]).passes().printed();
    let distinct: BTreeSet<String> = rows.into_iter().collect();
    let expected: BTreeSet<String> = (0..200).map(|n| format!("\"{n}\", and more {}", n % 2 == 0)).collect();
    assert_eq!(distinct, expected);
}

#[test]
fn what_a_set_up_shares_reaches_all_users_and_sums_are_exact() {
    let ended = run(r#"const tokens = shared<string[]>("tokens", []);
const count = shared("count", 0);
const setUp = scenario("Set up", async (user) => { for (const t of ["a", "b"]) tokens.push((await user.get("/get", { query: { t } })).json("$.args.t[0]")); });
const add = scenario("Add", async (user) => { if (tokens.get().join() !== "a,b") user.fail(`tokens are ${tokens.get()}`); count.increment(); });
const tearDown = scenario("Tear down", async (user) => { user.check("exact", count.get() === 200); });
export default test({ target: "TARGET", load: sequence(setUp.run(once()), add.run(iterations(200).users(8)), tearDown.run(once())) });"#)
    .passes();
    let summary = ended.summary();
    assert_eq!(summary["checks"][0]["passed"], 1, "{}", ended.everything());
    assert_eq!(summary["totals"]["iterations_failed"], 0, "{}", ended.everything());
}

#[test]
fn unique_ids_are_unique_within_and_between_runs() {
    let script = r#"const make = scenario("Make", async () => { console.log("row", uniqueId("u")); });
export default test({ target: "TARGET", load: make.run(iterations(50).users(4)) });"#;
    let mut ids = run(script).passes().printed();
    ids.extend(run(script).passes().printed());
    assert_eq!((ids.len(), ids.iter().collect::<BTreeSet<_>>().len()), (100, 100));
    assert!(ids.iter().all(|id| id.starts_with("u-")), "{ids:?}");
}

#[test]
fn other_sources_of_rows_work() {
    let ended = run(r#"const listed = rows([{ a: 1 }, { a: 2 }]).circular();
const made = generator((n) => ({ name: `account-${n}` }));
const only = scenario("Only", async (user) => {
  user.check("rows", listed.next().a + listed.next().a === 3);
  user.check("generator", made.next().name !== made.next().name);
  user.check("length", csv("numbers.csv").length === 40);
});
export default test({ target: "TARGET", load: only.run(once()) });"#)
    .passes();
    assert_eq!(ended.summary()["totals"]["checks_failed"], 0, "{}", ended.everything());
}

#[test]
fn names_are_templated_and_series_are_bounded() {
    let script = r#"const many = scenario("Many", async (user) => {
  await user.get(`/anything/${user.iteration}`);
  await user.get("/get", { name: `Own name ${user.iteration}` });
});
export default test({ target: "TARGET", load: many.run(iterations(60).users(6)), options: { seriesMax: 20 } });"#;
    // The limit applies to the run, not per worker: 20 series, of which one is the scenario's iterations, and `(other)`.
    for workers in ["1", "2", "3"] {
        let ended = run_on(workers, script).passes();
        let summary = ended.summary();
        let rows = summary["requests"].as_array().unwrap();
        let count = |name: &str| rows.iter().filter(|row| row["name"] == name).filter_map(|row| row["count"].as_u64()).sum::<u64>();
        assert_eq!(count("GET /anything/:id"), 60, "{}", ended.everything());
        assert_eq!(rows.len(), 20, "{workers} workers\n{}", ended.everything());
        let total: u64 = rows.iter().map(|row| row["count"].as_u64().unwrap()).sum();
        assert_eq!(total, 120, "the bound merges, it does not lose");
        assert_eq!(count("(other)"), 60 - 18, "{}", ended.everything());
        ended.says("(other)");
    }
}
