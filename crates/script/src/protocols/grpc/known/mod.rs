//! Services that are known without a file: the health check. Also the messages of server reflection.

use std::path::Path;
use std::sync::OnceLock;

use prost_reflect::DescriptorPool;
use protox::file::{File, FileResolver};
use protox::{Compiler, Error};

const FILES: [(&str, &str); 2] = [("health.proto", include_str!("health.proto")), ("reflection.proto", include_str!("reflection.proto"))];

struct OwnFiles;

impl FileResolver for OwnFiles {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        path.to_str().map(str::to_owned)
    }

    fn open_file(&self, name: &str) -> Result<File, Error> {
        let (name, text) = FILES.iter().find(|(known, _)| *known == name).ok_or_else(|| Error::file_not_found(name))?;
        File::from_source(name, text)
    }
}

/// Compiled on first use.
pub(crate) fn pool() -> &'static DescriptorPool {
    static POOL: OnceLock<DescriptorPool> = OnceLock::new();
    POOL.get_or_init(|| {
        let mut compiler = Compiler::with_file_resolver(OwnFiles);
        for (name, _) in FILES {
            // A test compiles both files. Without one of them, only its service is unknown.
            let _ = compiler.open_file(name);
        }
        compiler.descriptor_pool()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_files_compile() {
        assert!(pool().get_service_by_name("grpc.health.v1.Health").is_some());
        assert!(pool().get_message_by_name("grpc.reflection.v1.ServerReflectionResponse").is_some());
    }
}
