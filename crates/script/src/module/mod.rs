//! The `"loadstone"` module: its parts in TypeScript, compiled like a scenario and loaded into every realm.
//!
//! How the module exposes Rust code. Every realm has a hidden global object, `__loadstone`. The `install` of each Rust part puts its
//! functions and prototypes on it (globals, such as `URL`, go on the global object). A TypeScript file of this folder, listed in `SOURCES`
//! as `loadstone:NAME`, gives them the interfaces of `types/loadstone.d.ts`. A protocol may bring such a file (`Capability::sources`).
//! `index.ts` is the module and exports them. Errors are ordinary `Error`s: the report names the first frame outside Loadstone. An
//! exhausted feeder throws an error named `Exhausted`.
//!
//! Load, thresholds and observers are built as the serialised data of the `plan` crate. `test.ts` combines them when the host calls
//! `__loadstone.describe`.

use crate::runtime::capability::ModuleSource;

/// The module that users import as "loadstone".
const INDEX: &str = include_str!("index.ts");

/// Module ids and their sources, without the index.
const SOURCES: &[(&str, &str)] = &[
    ("loadstone:answers", include_str!("answers.ts")),
    ("loadstone:commonjs", include_str!("commonjs.ts")),
    ("loadstone:consumers", include_str!("consumers.ts")),
    ("loadstone:data", include_str!("data.ts")),
    ("loadstone:encoding", include_str!("encoding.ts")),
    ("loadstone:extract", include_str!("extract.ts")),
    ("loadstone:flows", include_str!("flows.ts")),
    ("loadstone:grpc-stubs", include_str!("grpc-stubs.ts")),
    ("loadstone:knobs", include_str!("knobs.ts")),
    ("loadstone:lenient", include_str!("lenient.ts")),
    ("loadstone:load", include_str!("load.ts")),
    ("loadstone:metrics", include_str!("metrics.ts")),
    ("loadstone:names", include_str!("names.ts")),
    ("loadstone:proxies", include_str!("proxies.ts")),
    ("loadstone:stubs", include_str!("stubs.ts")),
    ("loadstone:tcp-stubs", include_str!("tcp-stubs.ts")),
    ("loadstone:test", include_str!("test.ts")),
    ("loadstone:thresholds", include_str!("thresholds.ts")),
    ("loadstone:values", include_str!("values.ts")),
];

/// Loadstone's modules: those of this folder, and those that capabilities add. The index imports the latter and passes their exports on.
pub(crate) fn sources(added: &[ModuleSource]) -> Vec<(&'static str, String)> {
    let imports: String = added.iter().map(import).collect();
    let of_capabilities = added.iter().map(|module| (module.id, module.text));
    let rest = SOURCES.iter().copied().chain(of_capabilities).map(|(id, text)| (id, text.to_owned()));
    rest.chain([("loadstone", imports + INDEX)]).collect()
}

/// Evaluates a module, and passes its exports on.
fn import(ModuleSource { id, exports, .. }: &ModuleSource) -> String {
    if exports.is_empty() { format!("import \"{id}\";\n") } else { format!("export {{ {} }} from \"{id}\";\n", exports.join(", ")) }
}
