//! Imports: files of the test, packages, CommonJS, JSON, and imports that fail.

use loadstone_script::Inputs;

use crate::folder::{at, load_error, load_with};

/// The scenario's name has the values of the imports.
fn named(expression: &str, imports: &str, more: &[(&str, &str)]) -> String {
    let text = format!(
        "import {{ test, scenario, once }} from \"loadstone\";\n{imports}\n\
         export default test({{ load: scenario(String({expression}), () => {{}}).run(once()) }});"
    );
    let loaded = load_with(&text, more, &Inputs::default()).unwrap_or_else(|error| panic!("{}", error.render()));
    loaded.plan.scenarios[0].name.clone()
}

#[test]
fn files_with_and_without_extension() {
    let files = [
        ("lib/a.ts", "import { type T, b } from './b';\nexport type Unused = T;\nexport const a: string = `a${b}`;"),
        ("lib/b.js", "export const b = 'b';"),
        ("lib/deep/index.ts", "export default 'deep';\nexport * from '../a.js';"),
        ("data.json", r#"{ "n": [1, 2], "__proto__": 3 }"#),
    ];
    let imports = "import deep, { a } from './lib/deep';\nimport data from './data.json' with { type: 'json' };\nimport type { Gone } from './lib/a';";
    assert_eq!(named("`${deep} ${a} ${data.n[1]}`", imports, &files), "deep ab 2");
}

#[test]
fn packages_by_exports_map_module_and_main() {
    let files = [
        (
            "node_modules/mapped/package.json",
            r#"{ "name": "mapped", "exports": { ".": { "import": "./esm.mjs", "require": "./no.cjs" }, "./sub": "./sub.js" } }"#,
        ),
        ("node_modules/mapped/esm.mjs", "export const way = 'import';"),
        ("node_modules/mapped/sub.js", "module.exports = 'sub';"),
        ("node_modules/@scope/older/package.json", r#"{ "name": "@scope/older", "module": "m.js", "main": "c.js" }"#),
        ("node_modules/@scope/older/m.js", "export default 'module';"),
        ("node_modules/plain/index.js", "exports.one = 1; module.exports.two = 2;"),
    ];
    let imports = "import { way } from 'mapped';\nimport sub from 'mapped/sub';\nimport older from '@scope/older';\nimport plain, { one, two } from 'plain';";
    assert_eq!(named("[way, sub, older, one, two, plain.one]", imports, &files), "import,sub,module,1,2,1");
}

#[test]
fn commonjs_requires_commonjs_json_and_es_modules_and_survives_cycles() {
    let files = [
        (
            "node_modules/c/index.js",
            "'use strict';\nObject.defineProperty(exports, '__esModule', { value: true });\n\
             const other = require('./other');\nconst { v } = require('./package.json');\n\
             let extra; try { extra = require('not-there'); } catch (e) { extra = 'none'; }\n\
             exports.default = function () { return other.name() + v + extra + require('./es.mjs').es; };\nexports.self = 'c';",
        ),
        ("node_modules/c/other.js", "const back = require('./index.js');\nexports.name = () => back.self + typeof module + __filename;"),
        ("node_modules/c/package.json", r#"{ "name": "c", "v": 3 }"#),
        ("node_modules/c/es.mjs", "export const es = 'es';"),
        (
            "node_modules/sloppy/index.js",
            "function f() { return typeof this; }\nwith_undeclared = 1;\nmodule.exports = { f, kind: f() + process.env.NODE_ENV + (global === globalThis) };",
        ),
    ];
    let imports = "import c, { self } from 'c';\nimport { kind } from 'sloppy';";
    assert_eq!(
        named("[c(), self, kind]", imports, &files),
        "cobjectnode_modules/c/index.js".replace("index.js", "other.js") + "3nonees,c,objectproductiontrue"
    );
}

#[test]
fn failed_imports_have_a_remedy() {
    for (line, place, message, help) in [
        ("import x from './gone';\nx;", "t.load.ts:1:15", "cannot find \"./gone\"", "relative to the importing file"),
        ("import x from 'lodash';\nx;", "t.load.ts:1:15", "cannot find \"lodash\"", "npm install lodash"),
        (
            "import x from 'https://esm.sh/lodash@4';\nx;",
            "t.load.ts:1:15",
            "cannot find \"https://esm.sh/lodash@4\"",
            "not fetched over the network",
        ),
        ("import fs from 'node:fs';\nfs;", "t.load.ts:1:16", "part of Node.js", "`csv`"),
        ("import { createHash } from 'crypto';\ncreateHash;", "t.load.ts:1:28", "part of Node.js", "`hash` and `hmac`"),
        ("import { arivals } from 'loadstone';\narivals;", "t.load.ts:1:10", "has no export `arivals`", "it exports"),
        ("import { Scenario } from 'loadstone';\nScenario;", "t.load.ts:1:10", "has no export `Scenario`", "did you mean `scenario`?"),
    ] {
        let error = load_error(line);
        assert_eq!(at(&error), place, "{error}");
        assert!(error.message.contains(message), "{error}");
        assert!(error.help.as_deref().unwrap_or("").contains(help), "{error:?}");
    }
}

#[test]
fn errors_in_imported_files_name_the_file() {
    let error = load_with("import './a';", &[("a.ts", "let x: number = ;")], &Inputs::default()).unwrap_err();
    assert_eq!(at(&error), "a.ts:1:17");
    let thrown = "import 'p';";
    let package = [("node_modules/p/index.js", "// one\n\nmodule.exports = undefined_name;")];
    let error = load_with(thrown, &package, &Inputs::default()).unwrap_err();
    assert_eq!(at(&error), "node_modules/p/index.js:3:18", "{}", error.render());
    let error = load_with("import './d.json';", &[("d.json", "{\n  \"a\": }")], &Inputs::default()).unwrap_err();
    assert_eq!(at(&error), "d.json:2:8", "{error}");
}
