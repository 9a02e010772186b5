//! `loadstone ui`: the page for a folder of tests.

use crate::args::UiArgs;
use crate::exit::Exit;
use crate::ui;

pub(crate) fn ui(args: &UiArgs) -> anyhow::Result<Exit> {
    ui::serve(&args.folder, &args.runs.runs, args.listen)
}
