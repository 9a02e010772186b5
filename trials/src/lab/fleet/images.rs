//! Images of the lab's pods, made here and brought to the nodes: no registry is asked.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use checkout::image::{Image, LOADSTONE, lay_out};
use checkout::process;

use super::node::{Node, PAUSE};
use super::programs::Programs;

/// What `fleet up` takes where no image is named.
const AGENT: &str = concat!("loadstone:", env!("CARGO_PKG_VERSION"));
/// Of the files in an image.
const TIME: &str = "1000000000";

/// Makes all, and gives them to each node.
pub(super) fn bring(programs: &Programs, binary: &Path, folder: &Path, nodes: &[Node]) -> Result<()> {
    // The name that `fleet up` pins; the server is the same version, built from its module.
    let nats = format!("docker.io/library/nats:{}-alpine", programs.nats.trim_start_matches('v'));
    let work = folder.join("images");
    let agent = work.join("agent");
    lay_out(&agent, binary)?;
    for library in libraries(binary)? {
        let to = agent.join(library.strip_prefix("/").context("libraries have whole paths")?);
        fs::create_dir_all(to.parent().context("a library is in a folder")?)?;
        fs::copy(&library, to)?;
    }
    let archives = [
        archive(&work, AGENT, &agent, LOADSTONE)?,
        archive(&work, &nats, &alone(&work, &programs.path("nats-server"))?, "/nats-server")?,
        archive(&work, PAUSE, &alone(&work, &programs.path("pause"))?, "/pause")?,
    ];
    for node in nodes {
        for archive in &archives {
            process::run_aside(node.ctr().args(["images", "import"]).arg(archive))?;
        }
    }
    Ok(fs::remove_dir_all(work)?)
}

/// A folder with a static program.
fn alone(work: &Path, program: &Path) -> Result<PathBuf> {
    let name = program.file_name().context("a program has a name")?;
    let root = work.join(name);
    fs::create_dir_all(&root)?;
    fs::copy(program, root.join(name))?;
    Ok(root)
}

fn archive(work: &Path, name: &str, root: &Path, entry: &str) -> Result<PathBuf> {
    let (parts, archive) = (root.with_extension("parts"), root.with_extension("tar"));
    fs::create_dir_all(&parts).with_context(|| format!("creating a folder in {}", work.display()))?;
    Image { name, architecture: "amd64", root, entry, time: TIME }.write(&parts, &archive)?;
    Ok(archive)
}

/// What a binary of this machine is linked with; none of a static one, which a release is.
fn libraries(binary: &Path) -> Result<BTreeSet<PathBuf>> {
    match process::attempt(Command::new("ldd").arg(binary)) {
        Some(output) => Ok(linked(&output)),
        // "not a dynamic executable"
        None => Ok(BTreeSet::new()),
    }
}

fn linked(ldd: &str) -> BTreeSet<PathBuf> {
    let paths = ldd.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    paths.map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_those_that_the_loader_finds() {
        let output = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert!(linked(output).iter().eq(&expected));
        assert!(linked("\tstatically linked\n").is_empty());
    }
}
