//! Writes the views of the recorded runs in `crates/analysis/tests/corpus`, as `NAME.json`, to a folder. The page's tests check that what a finding draws is
//! where its sentence says.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use flate2::read::GzDecoder;
use loadstone_report::ReportView;
use loadstone_run_directory::Reader;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../analysis/tests/corpus");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(folder) = std::env::args_os().nth(1) else { return Err("give a folder to write to".into()) };
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(CORPUS)? {
        let packed = entry?.path();
        let unpacked = tempfile::tempdir()?;
        for file in fs::read_dir(&packed)? {
            let file = file?.path();
            let name = file.file_stem().ok_or("a file without a name")?;
            io::copy(&mut GzDecoder::new(File::open(&file)?), &mut File::create(unpacked.path().join(name))?)?;
        }
        let run = Reader::open(unpacked.path())?.run()?;
        let view = ReportView::build(&run, &loadstone_analysis::conclude(&run));
        let name = packed.file_name().ok_or("a folder without a name")?.to_string_lossy().into_owned();
        fs::write(folder.join(format!("{name}.json")), serde_json::to_vec(&view)?)?;
    }
    Ok(())
}
