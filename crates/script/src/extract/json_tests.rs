//! Compares the scan with `serde_json` and `serde_json_path`, which build a tree.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::extract::scan;

fn first(path: &str, body: &str) -> Option<Value> {
    let value = JsonPath::parse(path).unwrap().first(body.as_bytes()).unwrap();
    value.map(|value| serde_json::from_str(&value.to_json()).unwrap())
}

#[test]
fn paths_of_members_and_indices_are_scanned() {
    for path in ["$", "$.a", "$.a.b[0].c_d", "$['a b'][\"c.d\"]", "$.größe", "$[12]", "$.a1"] {
        assert!(matches!(JsonPath::parse(path).unwrap().form, PathForm::Simple(_)), "{path}");
    }
    for path in ["$.*", "$..a", "$.a[-1]", "$.a[0:2]", "$.a[?@.b == 1]", "$['a','b']", "$['a\\'b']", "$ .a"] {
        assert!(matches!(JsonPath::parse(path).unwrap().form, PathForm::Full(_)), "{path}");
    }
    for path in ["", "a", "$.", "$.1a", "$[01]", "$[a]", "$.a[", "$['a", "$.a b", "$[?]"] {
        let message = JsonPath::parse(path).unwrap_err().to_string();
        assert!(message.starts_with(&format!("\"{path}\" is not a valid JSON path: ")), "{message}");
    }
}

#[test]
fn paths_find_their_values() {
    let body = r#" {"id": 7, "a": {"b": [{"c": "x"}, null, [true]]}, "we\"ird": "q\n", "é": 1.5e2, "id": 8} "#;
    assert_eq!(first("$.id", body), Some(json!(8)), "of equal names the last counts");
    assert_eq!(first("$.a.b[0].c", body), Some(json!("x")));
    assert_eq!(first("$.a.b[1]", body), Some(json!(null)));
    assert_eq!(first("$.a.b[2]", body), Some(json!([true])));
    assert_eq!(first("$.a.b[3]", body), None);
    assert_eq!(first("$.a.b.c", body), None);
    assert_eq!(first("$.é", body), Some(json!(150)));
    assert_eq!(first("$..c", body), Some(json!("x")));
    assert_eq!(first("$.a.b[?@.c == 'x'].c", body), Some(json!("x")));
    assert_eq!(first("$[0]", body), None);
    assert_eq!(first("$['we\"ird']", body), Some(json!("q\n")));
    assert_eq!(first("$[\"we\\\"ird\"]", body), Some(json!("q\n")));
    assert_eq!(JsonPath::parse("$.a.b[*]").unwrap().all(body.as_bytes()).unwrap(), r#"[{"c":"x"},null,[true]]"#);
    assert_eq!(JsonPath::parse("$.id").unwrap().all(body.as_bytes()).unwrap(), "[8]");
    assert_eq!(JsonPath::parse("$.no").unwrap().all(body.as_bytes()).unwrap(), "[]");
}

#[test]
fn a_broken_body_is_an_error_at_any_place() {
    for (body, message) in [
        ("", "not JSON: the text ends too early at line 1, column 1"),
        ("{\"id\": 1,\n \"x\": }", "not JSON: expected a value at line 2, column 7"),
        ("{\"id\": 1", "not JSON: the text ends too early at line 1, column 9"),
        ("{\"id\": 1} x", "not JSON: text after the value at line 1, column 11"),
        ("<html>", "not JSON: expected a value at line 1, column 1"),
    ] {
        assert_eq!(JsonPath::parse("$.id").unwrap().first(body.as_bytes()).unwrap_err().to_string(), message);
    }
    assert!(JsonPath::parse("$.id").unwrap().first(b"{\"id\": \"\xff\"}").is_err());
    assert!(JsonPath::parse("$..id").unwrap().first(b"{\"id\": ").is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c\"\\\\\n é\u{1F600}]{0,6}".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[abcé\"\\\\ ]{0,2}", inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_step() -> impl Strategy<Value = String> {
    prop_oneof![
        (0usize..4).prop_map(|index| format!("[{index}]")),
        "[abcé]{1,2}".prop_map(|name| format!(".{name}")),
        "[abcé ]{0,2}".prop_map(|name| format!("['{name}']"))
    ]
}

/// Bytes similar to JSON: a document with a few bytes changed, removed or added.
fn near_json() -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<prop::sample::Index>(), prop::sample::select(b" {}[]\",:\\u0123456789eE+-.tfn/\n\x01\xff".to_vec()), 0..3u8);
    (any_json(), any::<bool>(), prop::collection::vec(edit, 0..3)).prop_map(|(value, pretty, edits)| {
        let mut text = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) }.unwrap();
        for (at, byte, kind) in edits {
            let at = at.index(text.len().max(1));
            match kind {
                0 if at < text.len() => text[at] = byte,
                1 if at < text.len() => drop(text.remove(at)),
                _ => text.insert(at.min(text.len()), byte),
            }
        }
        text
    })
}

/// Checks only the grammar, as `serde_json` does: numbers of any size and unpaired surrogates are JSON.
fn serde_accepts(text: &[u8]) -> Option<bool> {
    match serde_json::from_slice::<Value>(text) {
        Ok(_) => Some(true),
        Err(error) => {
            let message = error.to_string();
            let beyond_grammar = ["number out of range", "surrogate", "unexpected end of hex escape"];
            (!beyond_grammar.iter().any(|part| message.contains(part))).then_some(false)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_scan_finds_the_values_of_the_tree(value in any_json(), steps in prop::collection::vec(any_step(), 0..4), pretty in any::<bool>()) {
        let path = format!("${}", steps.concat());
        let body = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let compiled = JsonPath::parse(&path).unwrap();
        prop_assert!(matches!(compiled.form, PathForm::Simple(_)));
        let found = compiled.first(body.as_bytes()).unwrap().map(|value| value.to_json().into_owned());
        let found: Option<Value> = found.map(|text| serde_json::from_str(&text).unwrap());
        let tree: Value = serde_json::from_str(&body).unwrap();
        let expected = serde_json_path::JsonPath::parse(&path).unwrap().query(&tree).first().cloned();
        // Numbers reach scripts as doubles. serde_json's result for long numbers may differ in the last digit.
        prop_assert_eq!(found.map(doubles), expected.map(doubles));
    }

    #[test]
    fn the_scan_and_serde_accept_the_same_input(text in near_json()) {
        let utf8 = std::str::from_utf8(&text).is_ok();
        if let Some(accepted) = serde_accepts(&text) {
            prop_assert_eq!(scan::check(&text).is_ok() && utf8, accepted, "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn items_match_those_of_the_tree(values in prop::collection::vec(any_json(), 0..6)) {
        let text = serde_json::to_string_pretty(&values).unwrap();
        let places = scan::items(text.as_bytes()).unwrap().unwrap();
        let found: Vec<Value> = places.into_iter().map(|place| serde_json::from_str(&text[place]).unwrap()).collect();
        prop_assert_eq!(found, serde_json::from_str::<Vec<Value>>(&text).unwrap());
    }
}

fn doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(format!("{:.14e}", number.as_f64().unwrap())),
        Value::Array(items) => items.into_iter().map(doubles).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, doubles(value))).collect(),
        other => other,
    }
}

#[test]
fn scan_and_tree_have_the_same_depth_limit() {
    for depth in [1usize, 126, 127, 128, 129, 10_000] {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(scan::check(text.as_bytes()).is_ok(), serde_json::from_str::<Value>(&text).is_ok(), "{depth}");
    }
}
