//! `loadstone init`: a first test that runs as it is, and types for the editor.

use std::path::Path;

use anyhow::Context;

use crate::args::InitArgs;
use crate::exit::{Exit, UsageError};

const TYPES: &str = include_str!("../../../../types/loadstone.d.ts");
const TEST: &str = include_str!("init/first.load.ts");
const TSCONFIG: &str = include_str!("init/tsconfig.json");

/// Where the first test sends its load unless told otherwise.
const DEFAULT_TARGET: &str = "http://127.0.0.1:8080";

/// Writes the files; one that exists already is left as it is, except the types, which belong to this version.
pub(crate) fn init(args: &InitArgs, out: &mut impl std::io::Write) -> anyhow::Result<Exit> {
    let target = args.target.as_deref().unwrap_or(DEFAULT_TARGET);
    let url = url::Url::parse(target).map_err(|problem| UsageError(format!("--target: \"{target}\" is not a URL: {problem}")))?;
    let target = url.as_str().trim_end_matches('/');
    std::fs::create_dir_all(&args.folder).with_context(|| format!("{} cannot be made", args.folder.display()))?;
    let test = TEST.replace(DEFAULT_TARGET, target);
    for (name, text, replace) in
        [("first.load.ts", test.as_str(), false), ("loadstone.d.ts", TYPES, true), ("tsconfig.json", TSCONFIG, false)]
    {
        let path = args.folder.join(name);
        let existed = path.exists();
        if existed && !replace {
            writeln!(out, "  kept     {}", path.display())?;
            continue;
        }
        std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
        writeln!(out, "  {}  {}", if existed { "updated" } else { "written" }, path.display())?;
    }
    let file = args.folder.join("first.load.ts");
    let file = file.strip_prefix(".").map_or(file.as_path(), Path::new).display();
    writeln!(
        out,
        "\nNext:\n  loadstone try {file}    # every request and response, once\n  loadstone run {file}    # the load, the verdict, a report"
    )?;
    Ok(Exit::Passed)
}
