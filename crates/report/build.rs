//! Lists the documentation pages of the finding rules (docs/findings), so that the report and `loadstone explain` have them without a network.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../docs/findings").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut pages: Vec<_> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    // By name: the path of `cpu.md` is after that of `cpu-growth.md`.
    pages.sort_by_key(|path| path.file_stem().map(std::ffi::OsStr::to_owned));
    let mut table = String::from("&[");
    for path in &pages {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        write!(table, "({name:?}, include_str!({:?})),", path.to_string_lossy())?;
    }
    table.push(']');
    fs::write(Path::new(&env::var("OUT_DIR")?).join("explanations.rs"), table)?;
    Ok(())
}
