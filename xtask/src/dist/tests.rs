//! Packages of a program that behaves like the binary, opened with the tools that read them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use checkout::Workspace;
use checkout::process;
use serde_json::Value;

use super::release::Release;
use super::{debian, given, image, linkage};

const BINARY: &str =
    "#!/bin/sh\ncase $1 in\n  man) mkdir -p \"$2\" && echo .TH > \"$2/loadstone.1\" ;;\n  completions) echo \"# $2\" ;;\nesac\n";

/// A folder that is removed at the end of the test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn make(scratch: &Path, name: &str) -> (PathBuf, String) {
    let workspace = Workspace { root: Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), target: scratch.to_owned() };
    let binary = scratch.join("binary");
    fs::write(&binary, BINARY).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
    let release = Release { version: "1.2.3".to_owned(), time: "1000000000".to_owned(), folder: scratch.join(name), binary };
    release.archive(&workspace).unwrap();
    debian::write(&release).unwrap();
    image::write(&release).unwrap();
    release.types(&workspace).unwrap();
    release.checksums().unwrap();
    let sums = fs::read_to_string(release.folder.join("SHA256SUMS")).unwrap();
    (release.folder, sums)
}

fn said(program: &str, arguments: &[&str], folder: &Path) -> String {
    process::output(Command::new(program).args(arguments).current_dir(folder)).unwrap()
}

/// A compiled program, linked in both ways.
#[test]
fn a_binary_that_needs_libraries_is_refused() {
    let scratch = Scratch(std::env::temp_dir().join(format!("loadstone-dist-linkage-{}", std::process::id())));
    fs::create_dir_all(&scratch.0).unwrap();
    fs::write(scratch.0.join("main.c"), "int main(void) { return 0; }\n").unwrap();
    for (name, way) in [("static", "-static"), ("static-pie", "-static-pie"), ("dynamic", "-pie")] {
        said("cc", &["main.c", "-o", name, way], &scratch.0);
    }
    assert_eq!(linkage::problem(&fs::read(scratch.0.join("static")).unwrap()), None);
    assert!(given(&scratch.0.join("static-pie")).is_ok());
    let refused = given(&scratch.0.join("dynamic")).unwrap_err().to_string();
    assert!(
        refused.contains("dynamic cannot be packaged: it is linked dynamically (it is loaded by /lib64/ld-linux-x86-64.so.2)"),
        "{refused}"
    );
    let missing = given(&scratch.0.join("absent")).unwrap_err().to_string();
    assert!(missing.starts_with("cannot find "), "{missing}");
    let other = |change: fn(&mut Vec<u8>)| {
        let mut file = fs::read(scratch.0.join("static")).unwrap();
        change(&mut file);
        linkage::problem(&file).unwrap()
    };
    assert!(other(|file| file[18] = 183).contains("another processor"));
    assert!(other(|file| file[0] = b'#').contains("no program of Linux"));
}

#[test]
fn packages_are_whole_and_the_same_bytes_each_time() {
    let scratch = Scratch(std::env::temp_dir().join(format!("loadstone-dist-{}", std::process::id())));
    fs::create_dir_all(&scratch.0).unwrap();
    let (folder, sums) = make(&scratch.0, "first");
    assert_eq!(sums, make(&scratch.0, "second").1);
    assert_eq!(sums.lines().count(), 4, "{sums}");

    let archive = said("tar", &["-tzf", "loadstone-1.2.3-x86_64-linux.tar.gz"], &folder);
    for file in ["/loadstone\n", "/man/loadstone.1\n", "/completions/_loadstone\n", "/LICENSE\n"] {
        assert!(archive.contains(file), "{file} in {archive}");
    }

    assert_eq!(said("ar", &["t", "loadstone_1.2.3_amd64.deb"], &folder), "debian-binary\ncontrol.tar.gz\ndata.tar.gz\n");
    said("ar", &["x", "loadstone_1.2.3_amd64.deb"], &folder);
    let control = said("tar", &["-xzOf", "control.tar.gz", "./control"], &folder);
    assert!(control.starts_with("Package: loadstone\nVersion: 1.2.3\nArchitecture: amd64\n"), "{control}");
    assert!(control.lines().all(|line| line.starts_with(' ') || line.contains(": ")), "{control}");
    let data = said("tar", &["-tvzf", "data.tar.gz"], &folder);
    assert!(data.contains("0/0") && data.contains("./usr/bin/loadstone") && data.contains("./usr/share/man/man1/loadstone.1"), "{data}");

    let blob = |described: &Value| {
        let digest = described["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let file = format!("layout/blobs/sha256/{digest}");
        assert!(said("sha256sum", &[&file], &folder).starts_with(digest));
        assert_eq!(fs::metadata(folder.join(&file)).unwrap().len(), described["size"].as_u64().unwrap());
        folder.join(file)
    };
    let json = |file: &Path| -> Value { serde_json::from_slice(&fs::read(file).unwrap()).unwrap() };
    fs::create_dir(folder.join("layout")).unwrap();
    said("tar", &["-xf", "loadstone-1.2.3-image.tar", "-C", "layout"], &folder);
    let manifest = json(&blob(&json(&folder.join("layout/index.json"))["manifests"][0]));
    let config = json(&blob(&manifest["config"]));
    assert_eq!(
        (&config["config"]["User"], &config["rootfs"]["diff_ids"][0]),
        (&Value::from("65534:65534"), &manifest["layers"][0]["digest"])
    );
    let layer = said("tar", &["-tvf", &blob(&manifest["layers"][0]).to_string_lossy()], &folder);
    assert!(layer.contains("usr/bin/loadstone"), "{layer}");
}
