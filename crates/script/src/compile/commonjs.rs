//! CommonJS files and JSON in a graph of ES modules.
//!
//! A CommonJS file `X` becomes two modules. `X#cjs` has its body as a function expression, which the first `require` evaluates. The facade
//! `X` is an ES module that requires it and exports the same names. The facade also imports the ES modules that CommonJS code requires.

use std::collections::BTreeSet;

/// Id of the body of a CommonJS file.
pub(super) fn body_id(id: &str) -> String {
    format!("{id}#cjs")
}

/// The body as a function expression. It receives `process` and `global` because many packages test for them before they decide to run as
/// plain JavaScript; scripts and ES modules do not have them. The first line holds only the head, so positions shift by one line.
pub(super) fn body(code: &str) -> String {
    format!("(function (exports, require, module, __filename, __dirname, process, global) {{\n{code}\n}})")
}

/// The facade. `modules` are the ES modules and JSON files that the file, or a file that it requires, may request.
pub(super) fn facade(id: &str, names: &BTreeSet<String>, modules: &BTreeSet<String>) -> String {
    let mut code = String::from("import { load, provide, pick } from \"loadstone:commonjs\";\n");
    for (index, module) in modules.iter().enumerate() {
        let specifier = quoted(module);
        code.push_str(&format!("import * as m{index} from {specifier};\nprovide({specifier}, m{index});\n"));
    }
    code.push_str(&format!("const exported = load({});\nexport default pick(exported);\n", quoted(id)));
    for (index, name) in names.iter().filter(|name| *name != "default").enumerate() {
        code.push_str(&format!("const e{index} = exported?.[{name}];\nexport {{ e{index} as {name} }};\n", name = quoted(name)));
    }
    code
}

/// A JSON file as a module. JSON is a subset of JavaScript's expressions since ES2019.
pub(super) fn json_module(text: &str) -> String {
    format!("export default JSON.parse({});\n", quoted(text))
}

/// A JavaScript string literal.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
