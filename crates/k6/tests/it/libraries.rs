//! The libraries of k6 that scripts import by URL.

use loadstone_engine::IterationEnd;
use loadstone_k6::K6Inputs;
use loadstone_metrics::Outcome;

use crate::harness::{Bench, refused};

/// The lines that one iteration prints: expressions over what a library exports.
fn printed(imports: &str, expressions: &[&str]) -> Vec<String> {
    let lines: String = expressions.iter().map(|expression| format!("console.log({expression});\n")).collect();
    let bench = Bench::new(&format!("{imports}\nimport 'k6/http';\nexport default function () {{ {lines} }}"));
    let end = bench.run(&mut bench.user(), 0);
    let printed = bench.printed();
    assert_eq!(end, IterationEnd::Ended(Outcome::Passed), "{printed:?}");
    printed
}

#[test]
fn utilities_of_k6_utils() {
    let lines = printed(
        "import * as u from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';",
        &[
            "/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(u.uuidv4())",
            "Array.from({ length: 100 }, () => u.randomIntBetween(2, 4)).every((n) => n >= 2 && n <= 4)",
            "[u.randomString(5, 'z'), u.randomItem(['x'])]",
            "[u.parseDuration('1d5h31m20s7ms'), u.parseDuration('250')]",
            "[u.findBetween('<a>1</a><a>2</a>', '<a>', '</a>'), u.findBetween('<a>1</a><a>2</a>', '<a>', '</a>', true)]",
            "u.normalDistributionStages(10, 60, 3)",
        ],
    );
    assert_eq!(lines[..5], ["true", "true", r#"["zzzzz","x"]"#, "[106280007,250]", r#"["1",["1","2"]]"#]);
    assert!(lines[5].ends_with(r#""target":0}]"#), "{}", lines[5]);
}

#[test]
fn tables_are_parsed_and_written() {
    let lines = printed(
        "import papaparse from 'https://jslib.k6.io/papaparse/5.1.1/index.js';",
        &[
            r#"papaparse.parse('a,b\n1,"x, ""y"""\n2,z\n', { header: true, skipEmptyLines: true }).data"#,
            r#"papaparse.parse('1;true\n2.5;\n', { dynamicTyping: true }).data"#,
            r#"papaparse.parse('1;2\n3;4').meta.delimiter"#,
            r#"papaparse.parse('a,b\n1', { header: true, delimiter: ',' }).errors[0].code"#,
            r#"papaparse.parse('# no\r\na\r\nb', { comments: '#', preview: 1 }).data"#,
            r#"papaparse.unparse([{ a: 1, b: 'x,"y"' }, { a: null, b: ' z' }])"#,
        ],
    );
    let expected = [
        r#"[{"a":"1","b":"x, \"y\""},{"a":"2","b":"z"}]"#,
        r#"[[1,true],[2.5,null],[null]]"#,
        ";",
        "TooFewFields",
        r#"[["a"]]"#,
        "a,b\r\n1,\"x,\"\"y\"\"\"\r\n,\" z\"",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn urls_are_parsed_without_new_globals() {
    let lines = printed(
        "import { URL, URLSearchParams } from 'https://jslib.k6.io/url/1.0.0/index.js';",
        &[
            "(() => { const url = new URL('/b?x=1', 'https://h:8443/a'); url.searchParams.append('y', 'a b'); return url.toString(); })()",
            "new URLSearchParams([['a', '1'], ['a', '2']]).toString()",
            "typeof globalThis.URL",
        ],
    );
    assert_eq!(lines, ["https://h:8443/b?x=1&y=a+b", "a=1&a=2", "undefined"]);
}

#[test]
fn forms_are_written_part_by_part() {
    let lines = printed(
        "import { FormData } from 'https://jslib.k6.io/formdata/0.0.2/index.js'; import http from 'k6/http';",
        &["(() => { const form = new FormData(); form.append('a', 1); form.append('f', http.file('xyz', 'n.txt', 'text/plain')); \
           return __k6.text(form.body()).replaceAll(form.boundary, 'B'); })()"],
    );
    let expected = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n.txt\"\r\n\
                    Content-Type: text/plain\r\n\r\nxyz\r\n--B--\r\n";
    assert_eq!(lines, [expected]);
}

#[test]
fn other_libraries_are_refused_with_the_place_of_the_import() {
    let error =
        refused("import http from 'k6/http';\nimport x from 'https://jslib.k6.io/ajv/6.12.5/index.js';\nexport default function () {}");
    assert!(error.contains("script.js:2") && error.contains("--allow-remote-imports"), "{error}");
}

#[test]
fn files_and_rows_of_csv_are_read_by_each_vu() {
    let script = r#"import { open, SeekMode } from "k6/experimental/fs"; import csv from "k6/experimental/csv";
        const file = await open("users.csv");
        const rows = await csv.parse(await open("users.csv"), { skipFirstLine: true, toLine: 2 });
        const objects = await csv.parse(await open("users.csv"), { asObjects: true });
        const parser = new csv.Parser(await open("users.csv"), { delimiter: ",", fromLine: 2 });
        export default async function () {
          console.log(JSON.stringify(await file.stat()));
          const buffer = new Uint8Array(4);
          console.log(await file.read(buffer), String.fromCharCode(...buffer), await file.seek(-1, SeekMode.End),
            await file.read(buffer), await file.read(buffer));
          console.log(JSON.stringify(rows), objects[2].name, Object.isFrozen(rows));
          for (;;) { const { done, value } = await parser.next(); if (done) break; console.log(value.join("|")); }
        }"#;
    let users = "name,age\nann,1\n\n\"a \"\"b\"\", x\",2\r\ncy,3\n";
    let bench = Bench::with(&[("script.js", script), ("users.csv", users)], K6Inputs::default());
    bench.run(&mut bench.user(), 0);
    assert_eq!(
        bench.printed(),
        [r#"{"name":"users.csv","size":37}"#, "4 name 36 1 null", r#"[["ann","1"],["a \"b\", x","2"]] cy true"#, "a \"b\", x|2", "cy|3",]
    );
}
