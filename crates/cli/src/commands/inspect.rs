//! `loadstone inspect`: the resolved plan and parameters as JSON.

use std::io::Write;

use script::Inputs;

use crate::args::InspectArgs;
use crate::exit::Exit;

pub(crate) fn inspect(args: &InspectArgs, out: &mut impl Write) -> anyhow::Result<Exit> {
    let inputs = Inputs { check_observer: Some(crate::signals::check_observer), ..Inputs::from_process(&args.params.params)? };
    let loaded = script::load(&args.file, &inputs)?;
    crate::signals::observers(&loaded.plan)?;
    let masked = loaded.plan.hiding(&loaded.plan.all_secrets());
    serde_json::to_writer_pretty(&mut *out, &masked)?;
    writeln!(out)?;
    Ok(Exit::Passed)
}
