//! The `"loadstone"` module: the parts written in TypeScript, compiled like any scenario and loaded into every realm.
//!
//! How a part written in Rust shows in it. Every realm has a hidden global object, `__loadstone`. A part has
//! `pub(crate) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, world: &Rc<World>) -> rquickjs::Result<()>`, which puts its
//! functions and classes on `native` (parts that are globals, such as `URL`, put them on `ctx.globals()`). A TypeScript file of
//! this folder, listed in [`SOURCES`] as `loadstone:NAME`, gives them the shapes of `types/loadstone.d.ts` and exports them;
//! `index.ts` is the module itself and holds `export * from "loadstone:NAME"` for each. Errors are thrown as ordinary `Error`s: the
//! report names the first frame that is not Loadstone's own. A feeder that is exhausted throws an error named `Exhausted`.
//!
//! What differs from run to run or realm to realm stands in `realm::World { folder, seed, worker, workers, planning, store }`: the
//! test file's folder, the run's seed, which worker of how many, whether the file is only evaluated for its plan, and the
//! `Arc<data::Store>` that all workers share. `realm::caller_folder(ctx)` is the folder of the file that called. What takes
//! values out of a body (`extract`) is pure Rust over bytes and knows no JavaScript; the response object calls it.

/// Module ids and their sources.
pub(crate) const SOURCES: &[(&str, &str)] = &[
    ("loadstone", include_str!("index.ts")),
    ("loadstone:commonjs", include_str!("commonjs.ts")),
    ("loadstone:data", include_str!("data.ts")),
    ("loadstone:encoding", include_str!("encoding.ts")),
    ("loadstone:load", include_str!("load.ts")),
    ("loadstone:response", include_str!("response.ts")),
    ("loadstone:test", include_str!("test.ts")),
    ("loadstone:thresholds", include_str!("thresholds.ts")),
    ("loadstone:user", include_str!("user.ts")),
    ("loadstone:values", include_str!("values.ts")),
];
