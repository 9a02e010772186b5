//! Tags of requests, groups and checks: the whole series has everything, its parts have the entries with their tags.

use loadstone_metrics::{SeriesKind, Snapshot};

use crate::running::{run, scenario};

/// Of the parts of a kind: name, tags, count and failures.
fn parts(snapshot: &Snapshot, kind: SeriesKind) -> Vec<(String, String, u64, u64)> {
    let of_kind = snapshot.tagged.iter().filter(|part| part.series.key.kind == kind);
    let mut parts: Vec<_> =
        of_kind.map(|part| (part.series.key.name.to_string(), part.tags.to_string(), part.series.count, part.series.failed)).collect();
    parts.sort();
    parts
}

fn part(name: &str, tags: &str, count: u64, failed: u64) -> (String, String, u64, u64) {
    (name.to_owned(), tags.to_owned(), count, failed)
}

/// Three iterations of a scenario with this body.
fn measured(body: &str) -> Snapshot {
    run(&scenario(body), async |worker| {
        let mut user = worker.user(0);
        for sequence in 0..3 {
            loadstone_engine::VirtualUser::iterate(&mut user, worker.iteration(sequence, None)).await;
        }
        worker.drain()
    })
}

#[test]
fn a_request_counts_for_its_name_and_for_the_part_with_its_tags() {
    // As a literal (recognised by its address from the second call on), built for each call, and in a group.
    let snapshot = measured(
        r#"await user.get("/echo", { name: "A", tags: { type: "static" } });
           await user.get("/echo", { name: "A", tags: { turn: user.iteration } });
           await user.get("/status/500", { name: "A" });
           await user.group("G", () => user.get("/status/404", { name: "A", tags: { type: "static" } }));"#,
    );
    let whole = snapshot.series.iter().find(|series| &*series.key.name == "A" && series.key.group.is_empty()).unwrap();
    assert_eq!((whole.count, whole.failed), (9, 3));
    assert_eq!(
        parts(&snapshot, SeriesKind::Request),
        [
            part("A", "turn=0", 1, 0),
            part("A", "turn=1", 1, 0),
            part("A", "turn=2", 1, 0),
            part("A", "type=static", 3, 0),
            part("A", "type=static", 3, 3)
        ]
    );
    let in_group = snapshot.tagged.iter().find(|part| &*part.series.key.group == "G").unwrap();
    assert_eq!((in_group.series.statuses.clone(), in_group.series.response.count()), (vec![(404, 3)], 3));
}

#[test]
fn groups_and_checks_have_their_own_tags() {
    let snapshot = measured(
        r#"await user.group("G", async (user) => {
             await user.get("/echo", { name: "A" });
             user.check("even", user.iteration % 2 === 0, { tags: { of: "G" } });
           }, { tags: { path: "short" } });"#,
    );
    assert_eq!(parts(&snapshot, SeriesKind::Group), [part("G", "path=short", 3, 0)]);
    assert_eq!(parts(&snapshot, SeriesKind::Check), [part("even", "of=G", 3, 1)]);
    assert_eq!(parts(&snapshot, SeriesKind::Request), [], "the group's tags are not those of its requests");
}

#[test]
fn invalid_tags_are_errors_that_name_the_call() {
    for (call, expected) in [
        (r#"await user.get("/echo", { tags: "static" })"#, "a request: tags are an object of names and values"),
        (r#"await user.get("/echo", { tags: { type: null } })"#, "a request: the tag `type` must be a string, a number or a boolean"),
        (r#"await user.group("G", () => 1, { ...{ tag: { a: 1 } } })"#, "group(…) has no option `tag` (did you mean `tags`?)"),
        (r#"user.check("c", true, { tags: [] })"#, "check \"c\": tags are an object of names and values"),
        (
            r#"await user.get("/echo", { tags: { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1 } })"#,
            "there are 9 tags, but at most 8 are allowed",
        ),
    ] {
        let snapshot = measured(call);
        assert!(snapshot.errors.iter().any(|error| error.message.contains(expected)), "{call}: {:?}", snapshot.errors);
    }
}
