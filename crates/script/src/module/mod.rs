//! The `"loadstone"` module: the parts written in TypeScript, compiled like any scenario and loaded into every realm.
//!
//! How a part written in Rust shows in it. Every realm has a hidden global object, `__loadstone`. A part has an `install`, which
//! puts its functions and prototypes on it (parts that are globals, such as `URL`, put them on the global object). A TypeScript
//! file of this folder, listed in [`SOURCES`] as `loadstone:NAME`, gives them the shapes of `types/loadstone.d.ts`; `index.ts` is the
//! module itself and exports them. Errors are thrown as ordinary `Error`s: the report names the first frame that is not
//! Loadstone's own. A feeder that is exhausted throws an error named `Exhausted`.
//!
//! What is built of load, thresholds and observers here is the data of the `plan` crate as it serialises; `test.ts` puts it
//! together when the host calls `__loadstone.describe`.

/// Module ids and their sources.
pub(crate) const SOURCES: &[(&str, &str)] = &[
    ("loadstone", include_str!("index.ts")),
    ("loadstone:commonjs", include_str!("commonjs.ts")),
    ("loadstone:data", include_str!("data.ts")),
    ("loadstone:encoding", include_str!("encoding.ts")),
    ("loadstone:flows", include_str!("flows.ts")),
    ("loadstone:load", include_str!("load.ts")),
    ("loadstone:response", include_str!("response.ts")),
    ("loadstone:socket", include_str!("socket.ts")),
    ("loadstone:stubs", include_str!("stubs.ts")),
    ("loadstone:test", include_str!("test.ts")),
    ("loadstone:thresholds", include_str!("thresholds.ts")),
    ("loadstone:user", include_str!("user.ts")),
    ("loadstone:values", include_str!("values.ts")),
];
