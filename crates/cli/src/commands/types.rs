//! `loadstone types`: writes the declarations of `.proto` files for the editor.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::context::CommandContext;
use crate::exit::Exit;

#[derive(Debug, Args)]
pub(crate) struct TypesArgs {
    /// A `.proto` file, or a folder of them.
    #[arg(value_name = "PROTO")]
    path: PathBuf,
    /// Root folder for imports. Can be repeated.
    #[arg(long = "import", value_name = "FOLDER")]
    imports: Vec<PathBuf>,
    /// Output file. Default: the name of PROTO with `.d.ts`, in the current folder.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl TypesArgs {
    /// Writes the file. An existing file is replaced, as it is generated from the same services.
    pub(crate) fn perform(&self, _context: &CommandContext) -> anyhow::Result<Exit> {
        let types = loadstone_script::grpc_types(&self.path, &self.imports)?;
        let named = || PathBuf::from(self.path.file_stem().unwrap_or(self.path.as_os_str())).with_extension("d.ts");
        let file = self.out.clone().unwrap_or_else(named);
        std::fs::write(&file, types).with_context(|| format!("cannot write {}", file.display()))?;
        writeln!(std::io::stdout(), "  written  {}", file.display())?;
        Ok(Exit::Passed)
    }
}
