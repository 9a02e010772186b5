//! How CommonJS files and JSON take part in a graph of ES modules.
//!
//! A CommonJS file `X` becomes two modules: `X#cjs`, its body as a function expression that `require` evaluates when it is
//! first asked for, and the facade `X`, an ES module that requires it and exports what it exports. ES modules that
//! CommonJS code requires are imported by the facade beforehand.

use std::collections::BTreeSet;

/// Id of the body of a CommonJS file.
pub(super) fn body_id(id: &str) -> String {
    format!("{id}#cjs")
}

/// The body as a function expression. `process` and `global` are there because many packages look at them before they
/// decide to be plain JavaScript; scripts and ES modules do not have them. Its first line holds the head alone, so positions shift by one line.
pub(super) fn body(code: &str) -> String {
    format!("(function (exports, require, module, __filename, __dirname, process, global) {{\n{code}\n}})")
}

/// The facade: `modules` are the ES modules and JSON files that the file or what it requires may ask for.
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
