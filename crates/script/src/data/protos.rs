//! Services declared in `.proto` files: compiled once for all cores, without `protoc`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use prost_reflect::DescriptorPool;
use protox::Compiler;
use thiserror::Error;

/// Maximum number of files in one folder. A folder with more is probably the wrong one.
const FILES_MAX: usize = 10_000;

/// What a test asks to compile: files or folders, and the folders of imports.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ProtoSource {
    pub(crate) path: PathBuf,
    pub(crate) imports: Vec<PathBuf>,
}

/// A `.proto` file that cannot be used.
#[derive(Debug, Error)]
pub(crate) enum ProtoError {
    #[error("{path}: cannot be read: {problem}", path = .path.display())]
    Unreadable { path: PathBuf, problem: String },
    #[error("{path}: contains no .proto file", path = .path.display())]
    Empty { path: PathBuf },
    #[error("{path}: contains more than {FILES_MAX} .proto files: name the folder of this service", path = .path.display())]
    TooMany { path: PathBuf },
    #[error("{0}")]
    Compile(String),
}

/// Compiles a file, or every file in a folder and below it.
pub(crate) fn compile(source: &ProtoSource) -> Result<DescriptorPool, ProtoError> {
    let ProtoSource { path, imports } = source;
    let unreadable = |path: &Path, error: std::io::Error| ProtoError::Unreadable { path: path.to_owned(), problem: error.to_string() };
    let is_folder = fs::metadata(path).map_err(|error| unreadable(path, error))?.is_dir();
    let mut files = Vec::new();
    if is_folder {
        collect(path, &mut files).map_err(|error| unreadable(path, error))?;
    } else {
        files.push(path.clone());
    }
    if files.is_empty() {
        return Err(ProtoError::Empty { path: path.clone() });
    }
    if files.len() > FILES_MAX {
        return Err(ProtoError::TooMany { path: path.clone() });
    }
    files.sort();
    let own = if is_folder { path.as_path() } else { path.parent().unwrap_or(Path::new(".")) };
    // The specified roots come first: a file below one of them is named relative to it, as other files import it.
    let roots: Vec<&Path> = imports.iter().map(PathBuf::as_path).chain([own]).collect();
    let mut compiler = Compiler::new(&roots).map_err(|error| described(&error, path))?;
    for file in &files {
        compiler.open_file(file).map_err(|error| described(&error, file))?;
    }
    Ok(compiler.descriptor_pool())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "proto") && files.len() <= FILES_MAX {
            files.push(path);
        }
    }
    Ok(())
}

/// The compiler's message, with the place in the file if it names one.
fn described(error: &protox::Error, asked: &Path) -> ProtoError {
    let file = error.file().map(str::to_owned).unwrap_or_default();
    let mut text = format!("{error:?}");
    if text.contains('\n') || text.is_empty() {
        text = error.to_string();
    }
    if error.is_file_not_found() {
        let _ = write!(text, " (for {}): add the folder that imports start from: `proto(\"…\", {{ imports: [\"…\"] }})`", asked.display());
    } else if !file.is_empty() && !text.contains(&file) {
        text = format!("{file}: {text}");
    }
    ProtoError::Compile(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = "syntax = \"proto3\";\npackage shop.v1;\nimport \"shop/v1/money.proto\";\n\
        service Shop { rpc Buy(Money) returns (Money); }\n";
    const MONEY: &str = "syntax = \"proto3\";\npackage shop.v1;\nmessage Money { int64 units = 1; }\n";

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn source(path: PathBuf) -> ProtoSource {
        ProtoSource { path, imports: Vec::new() }
    }

    #[test]
    fn a_folder_and_a_file_with_its_imports_are_compiled() {
        let folder = folder(&[("shop/v1/shop.proto", SHOP), ("shop/v1/money.proto", MONEY), ("README.md", "x")]);
        let services = |pool: &DescriptorPool| pool.services().map(|service| service.full_name().to_owned()).collect::<Vec<_>>();
        assert_eq!(services(&compile(&source(folder.path().to_owned())).unwrap()), ["shop.v1.Shop"]);
        let file = ProtoSource { path: folder.path().join("shop/v1/shop.proto"), imports: vec![folder.path().to_owned()] };
        assert_eq!(services(&compile(&file).unwrap()), ["shop.v1.Shop"]);
    }

    #[test]
    fn errors_have_a_place_and_a_remedy() {
        let folder = folder(&[("shop.proto", SHOP), ("bad.proto", "syntax = \"proto3\";\nmessage A { int32 a = ; }\n"), ("x/y.txt", "")]);
        let problem = |path: &str| compile(&source(folder.path().join(path))).unwrap_err().to_string();
        assert!(problem("bad.proto").contains("bad.proto:2:23"), "{}", problem("bad.proto"));
        let missing = problem("shop.proto");
        assert!(missing.contains("shop/v1/money.proto") && missing.contains("imports: ["), "{missing}");
        assert!(problem("none.proto").contains("none.proto: cannot be read"));
        assert!(problem("x").contains("contains no .proto file"));
    }
}
