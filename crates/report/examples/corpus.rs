//! Writes the views of recorded runs, as `NAME.json`, to a folder: those of the corpus, and as `rule.PAGE.json` the example of each rule. `rules.json`
//! lists the examples. The page's tests check that what a finding draws is where its sentence says, and draw the gallery of findings from them.

use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use flate2::read::GzDecoder;
use loadstone_analysis::rules;
use loadstone_report::ReportView;
use loadstone_run_directory::Reader;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../analysis/tests");

fn main() -> Result<(), Box<dyn Error>> {
    let Some(folder) = std::env::args_os().nth(1) else { return Err("give a folder to write to".into()) };
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(Path::new(RECORDED).join("corpus"))? {
        let packed = entry?.path();
        let name = packed.file_name().ok_or("a folder without a name")?.to_string_lossy().into_owned();
        fs::write(folder.join(format!("{name}.json")), view(&packed)?)?;
    }
    let mut listed = Vec::new();
    for rule in rules() {
        fs::write(folder.join(format!("rule.{}.json", rule.page)), view(&Path::new(RECORDED).join(rule.example.run))?)?;
        listed.push(serde_json::json!({ "page": rule.page, "claim": rule.example.claim }));
    }
    fs::write(folder.join("rules.json"), serde_json::to_vec(&listed)?)?;
    Ok(())
}

/// The view of a packed run, as JSON.
fn view(packed: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let unpacked = tempfile::tempdir()?;
    for file in fs::read_dir(packed)? {
        let file = file?.path();
        let name = file.file_stem().ok_or("a file without a name")?;
        io::copy(&mut GzDecoder::new(File::open(&file)?), &mut File::create(unpacked.path().join(name))?)?;
    }
    let run = Reader::open(unpacked.path())?.run()?;
    Ok(serde_json::to_vec(&ReportView::build(&run, &loadstone_analysis::conclude(&run)))?)
}
