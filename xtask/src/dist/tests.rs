//! Packages of a program that behaves like the binary, opened with the tools that read them.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use checkout::Workspace;
use checkout::process;
use serde_json::{Value, json};

use super::processor::Processor;
use super::release::Release;
use super::target::{ReleaseTarget, TargetSystem};
use super::{given, linkage, packages, sources, write};

const BINARY: &str = "#!/bin/sh\ncase $1 in\n  man) mkdir -p \"$2\" && echo .TH > \"$2/loadstone.1\" ;;\n  completions) echo \"# $2\" ;;\n  \
    fail) exit 7 ;;\n  *) echo \"loadstone $*\" ;;\nesac\n# GNU C Library (Test) stable release version 2.99.\n";

const REPOSITORY: &str = "https://example.com/owner/repository";

/// A folder that is removed at the end of the test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn make(scratch: &Path, name: &str) -> (PathBuf, String) {
    let workspace = Workspace { root: Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), target: scratch.to_owned() };
    let nfpm = packages::nfpm(&Workspace::find().unwrap()).unwrap();
    let binary = scratch.join("binary");
    fs::write(&binary, BINARY).unwrap();
    fs::set_permissions(&binary, Permissions::from_mode(0o755)).unwrap();
    let release = Release {
        version: "1.2.3".to_owned(),
        time: "1000000000".to_owned(),
        repository: Some(REPOSITORY.to_owned()),
        folder: scratch.join(name),
    };
    let own = ReleaseTarget { system: TargetSystem::Linux, processor: Processor::own().unwrap() };
    write(&workspace, &release, &[(own, binary)], &nfpm, Some("http://127.0.0.1:1/releases/")).unwrap();
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
    assert_eq!(linkage::target(&fs::read(scratch.0.join("static")).unwrap()), Ok(ReleaseTarget::ALL[0]));
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
        linkage::target(&file).unwrap_err()
    };
    assert!(other(|file| file[18] = 243).contains("it is for another processor than x86_64 and aarch64"));
    assert!(other(|file| file[0] = b'#').contains("no program of Linux or macOS"));
}

/// The beginning of a program for macOS that is linked with one library.
fn mach_program(cpu: u32, library: &str) -> Vec<u8> {
    let mut path = library.as_bytes().to_vec();
    path.resize(path.len().next_multiple_of(8) + 8, 0);
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    // Header: magic, processor, subtype, executable, two commands, their size, flags, reserved. Commands: `LC_UUID` and `LC_LOAD_DYLIB`.
    let header = words(&[0xfeed_facf, cpu, 0, 2, 2, 24 + 24 + path.len() as u32, 0, 0]);
    let uuid = words(&[0x1b, 24, 0, 0, 0, 0]);
    let dylib = words(&[0xc, 24 + path.len() as u32, 24, 0, 0, 0]);
    [header, uuid, dylib, path].concat()
}

#[test]
fn a_program_for_macos_may_be_linked_with_the_systems_libraries_only() {
    let target = |cpu, library| linkage::target(&mach_program(cpu, library));
    assert_eq!(
        target(0x0100_000c, "/usr/lib/libSystem.B.dylib"),
        Ok(ReleaseTarget { system: TargetSystem::Macos, processor: Processor::Aarch64 })
    );
    assert_eq!(
        target(0x0100_0007, "/usr/lib/libSystem.B.dylib"),
        Ok(ReleaseTarget { system: TargetSystem::Macos, processor: Processor::X86_64 })
    );
    let refused = target(0x0100_000c, "/opt/homebrew/lib/libzstd.1.dylib").unwrap_err();
    assert_eq!(refused, "it is linked with /opt/homebrew/lib/libzstd.1.dylib, which other Macs lack");
    assert!(target(7, "/usr/lib/libSystem.B.dylib").unwrap_err().contains("another processor"));
    // A file that is cut off.
    let whole = mach_program(0x0100_000c, "/opt/x.dylib");
    (4..whole.len()).for_each(|length| drop(linkage::target(&whole[..length])));
}

/// A release of all targets, whose archives contain a program that reports its target.
fn release_of_all(scratch: &Path) -> Release {
    let release = Release {
        version: "1.2.3".to_owned(),
        time: "1000000000".to_owned(),
        repository: Some(REPOSITORY.to_owned()),
        folder: scratch.join("all"),
    };
    for target in ReleaseTarget::ALL {
        let tree = release.tree(target);
        fs::create_dir_all(&tree).unwrap();
        fs::write(tree.join("loadstone"), format!("#!/bin/sh\necho {}\n", target.name())).unwrap();
        fs::set_permissions(tree.join("loadstone"), Permissions::from_mode(0o755)).unwrap();
        let name = release.archive_name(target);
        release.tar(&release.folder, &[&name], &release.folder.join(format!("{name}.tar.gz"))).unwrap();
    }
    sources::write(&release, &ReleaseTarget::ALL, "http://127.0.0.1:1").unwrap();
    release.checksums().unwrap();
    release
}

#[test]
fn the_script_and_the_formula_choose_the_archive_by_system_and_processor() {
    let scratch = Scratch(std::env::temp_dir().join(format!("loadstone-dist-all-{}", std::process::id())));
    let release = release_of_all(&scratch.0);
    let programs = scratch.0.join("programs");
    fs::create_dir_all(&programs).unwrap();
    let install = |system: &str, machine: &str| {
        let uname = programs.join("uname");
        fs::write(&uname, format!("#!/bin/sh\ncase $1 in -s) echo {system} ;; -m) echo {machine} ;; esac\n")).unwrap();
        fs::set_permissions(&uname, Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.arg(release.folder.join("install.sh")).env("PATH", path).env("HOME", &scratch.0);
        shell.env("LOADSTONE_RELEASES", format!("file://{}", release.folder.display()));
        let output = shell.output().unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    for (system, machine, name) in [
        ("Linux", "x86_64", "x86_64-linux"),
        ("Linux", "aarch64", "aarch64-linux"),
        ("Darwin", "x86_64", "x86_64-macos"),
        ("Darwin", "arm64", "aarch64-macos"),
    ] {
        let output = install(system, machine);
        assert!(output.starts_with(&format!("installed {name} in ")), "{output}");
    }
    assert!(install("MINGW64", "x86_64").contains("run this in WSL2"));

    let formula = fs::read_to_string(release.folder.join("loadstone.rb")).unwrap();
    let (mac, linux) = formula.split_once("  on_linux do\n").unwrap();
    for (part, system) in [(mac.split_once("  on_macos do\n").unwrap().1, "macos"), (linux, "linux")] {
        let (intel, arm) = part.split_once("    on_arm do\n").unwrap();
        assert!(
            intel.contains(&format!("on_intel do\n      url \"http://127.0.0.1:1/loadstone-1.2.3-x86_64-{system}.tar.gz\"")),
            "{formula}"
        );
        assert!(arm.contains(&format!("loadstone-1.2.3-aarch64-{system}.tar.gz")), "{formula}");
    }
    assert_eq!(formula.matches("sha256 \"").count(), 4);
    assert!(formula.contains(&format!("homepage \"{REPOSITORY}\"\n")));
}

/// Alpine's `sha256sum` refuses long options, and macOS before version 15 has `shasum` only.
#[test]
fn the_script_checks_the_sum_with_the_program_that_the_system_has() {
    let scratch = Scratch(std::env::temp_dir().join(format!("loadstone-dist-sums-{}", std::process::id())));
    let release = release_of_all(&scratch.0);
    let sum = process::find("sha256sum").unwrap();
    for (name, program) in [
        ("sha256sum", format!("#!/bin/sh\ncase $1 in --*) echo unknown option >&2; exit 1 ;; esac\nexec {} \"$@\"\n", sum.display())),
        ("shasum", format!("#!/bin/sh\n[ \"$1 $2\" = \"-a 256\" ] && exec {} \"$3\"\n", sum.display())),
    ] {
        let programs = scratch.0.join(format!("programs with {name}"));
        fs::create_dir_all(&programs).unwrap();
        for needed in ["uname", "mktemp", "rm", "curl", "grep", "tar", "gzip", "mkdir", "cp", "mv"] {
            std::os::unix::fs::symlink(process::find(needed).unwrap(), programs.join(needed)).unwrap();
        }
        fs::write(programs.join(name), program).unwrap();
        fs::set_permissions(programs.join(name), Permissions::from_mode(0o755)).unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.arg(release.folder.join("install.sh")).env("PATH", &programs).env("HOME", &scratch.0);
        let output = shell.env("LOADSTONE_RELEASES", format!("file://{}", release.folder.display())).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && printed.starts_with("installed "), "with {name}: {printed}");
    }
}

#[test]
fn packages_are_whole_and_the_same_bytes_each_time() {
    let scratch = Scratch(std::env::temp_dir().join(format!("loadstone-dist-{}", std::process::id())));
    fs::create_dir_all(&scratch.0).unwrap();
    let (folder, sums) = make(&scratch.0, "first");
    assert_eq!(sums, make(&scratch.0, "second").1);
    assert_eq!(sums.lines().count(), 9, "{sums}");

    let archive = said("tar", &["-tzf", "loadstone-1.2.3-x86_64-linux.tar.gz"], &folder);
    for file in ["/loadstone\n", "/man/loadstone.1\n", "/completions/_loadstone\n", "/LICENSE\n", "/THIRD-PARTY-LICENSES\n"] {
        assert!(archive.contains(file), "{file} in {archive}");
    }

    let control = said("dpkg-deb", &["--field", "loadstone_1.2.3_amd64.deb"], &folder);
    assert!(control.starts_with("Package: loadstone\nVersion: 1.2.3\n") && control.contains("Architecture: amd64\n"), "{control}");
    let data = said("dpkg-deb", &["--contents", "loadstone_1.2.3_amd64.deb"], &folder);
    assert!(data.contains("-rwxr-xr-x root/root"), "{data}");
    for file in [
        "./usr/bin/loadstone\n",
        "./usr/share/man/man1/loadstone.1\n",
        "./usr/share/doc/loadstone/THIRD-PARTY-LICENSES\n",
        "./usr/share/zsh/vendor-completions/_loadstone\n",
    ] {
        assert!(data.contains(file), "{file} in {data}");
    }
    // The lead of an RPM: its magic number, version 3.0, a binary package (rpm's lib/rpmlead.c).
    assert_eq!(fs::read(folder.join("loadstone-1.2.3-1.x86_64.rpm")).unwrap()[..8], [0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0]);

    let blob = |described: &Value| {
        let digest = described["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let file = format!("layout/blobs/sha256/{digest}");
        assert!(said("sha256sum", &[&file], &folder).starts_with(digest));
        assert_eq!(fs::metadata(folder.join(&file)).unwrap().len(), described["size"].as_u64().unwrap());
        folder.join(file)
    };
    let read = |file: &Path| -> Value { serde_json::from_slice(&fs::read(file).unwrap()).unwrap() };
    fs::create_dir(folder.join("layout")).unwrap();
    said("tar", &["-xf", "loadstone-1.2.3-x86_64-image.tar", "-C", "layout"], &folder);
    let manifest = read(&blob(&read(&folder.join("layout/index.json"))["manifests"][0]));
    let config = read(&blob(&manifest["config"]));
    assert_eq!(
        (&config["config"]["User"], &config["rootfs"]["diff_ids"][0]),
        (&Value::from("65534:65534"), &manifest["layers"][0]["digest"])
    );
    // The release's time, as `date --utc --date @1000000000` writes it.
    let created = "2001-09-09T01:46:40Z";
    assert_eq!((&config["created"], config["history"].as_array().unwrap().len()), (&Value::from(created), 1));
    assert_eq!(config["history"][0]["created"], created);
    // `docker load` finds the same files by their paths in the archive.
    let path = |described: &Value| described["digest"].as_str().unwrap().replace("sha256:", "blobs/sha256/");
    let listed =
        json!([{ "Config": path(&manifest["config"]), "RepoTags": ["loadstone:1.2.3"], "Layers": [path(&manifest["layers"][0])] }]);
    assert_eq!(read(&folder.join("layout/manifest.json")), listed);
    let layer = said("tar", &["-tvf", &blob(&manifest["layers"][0]).to_string_lossy()], &folder);
    for file in ["usr/bin/loadstone", "usr/share/doc/loadstone/LICENSE", "usr/share/doc/loadstone/THIRD-PARTY-LICENSES"] {
        assert!(layer.contains(file), "{layer}");
    }
    let licences =
        said("tar", &["-xOf", "loadstone-1.2.3-x86_64-linux.tar.gz", "loadstone-1.2.3-x86_64-linux/THIRD-PARTY-LICENSES"], &folder);
    for part in ["\ntokio 1.", "Permission is hereby granted", "\nuplot 1.6", "\nglibc 2.99 (in the binary for x86_64-linux)"] {
        assert!(licences.contains(part), "{part} in {}", licences.len());
    }
    let bill = read(&folder.join("loadstone-1.2.3.cdx.json"));
    let listed = |url: &str| bill["components"].as_array().unwrap().iter().any(|component| component["purl"] == url);
    assert!(listed("pkg:generic/glibc@2.99") && listed("pkg:npm/uplot@1.6.32"), "{bill}");
    let temporary = layer.lines().find(|line| line.ends_with(" tmp/"));
    assert!(temporary.is_some_and(|line| line.starts_with("drwxrwxrwt 0/0")), "{layer}");
}

#[test]
fn the_script_installs_what_has_the_right_checksum_only() {
    let scratch = Scratch(std::env::temp_dir().join(format!("loadstone-dist-install-{}", std::process::id())));
    fs::create_dir_all(&scratch.0).unwrap();
    let (folder, _) = make(&scratch.0, "release");
    let home = scratch.0.join("home");
    let install = || {
        let mut shell = Command::new("sh");
        shell.arg(folder.join("install.sh")).env("HOME", &home).env("LOADSTONE_RELEASES", format!("file://{}", folder.display()));
        shell.output().unwrap()
    };
    let output = String::from_utf8(install().stdout).unwrap();
    assert!(output.starts_with("installed loadstone --version in ") && output.contains("export PATH="), "{output}");
    fs::remove_file(home.join(".local/bin/loadstone")).unwrap();
    fs::write(folder.join("loadstone-1.2.3-x86_64-linux.tar.gz"), "something else").unwrap();
    let refused = install();
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && error.contains("the checksum of loadstone-1.2.3-x86_64-linux.tar.gz is wrong"), "{error}");
    assert!(!home.join(".local/bin/loadstone").exists());

    // A binary that does not start on this machine.
    let (name, archive) = ("loadstone-1.2.3-x86_64-linux", "loadstone-1.2.3-x86_64-linux.tar.gz");
    fs::create_dir(folder.join(name)).unwrap();
    fs::write(folder.join(name).join("loadstone"), "#!/nowhere\n").unwrap();
    fs::set_permissions(folder.join(name).join("loadstone"), Permissions::from_mode(0o755)).unwrap();
    said("tar", &["-czf", archive, name], &folder);
    fs::write(folder.join("SHA256SUMS"), said("sha256sum", &[archive], &folder)).unwrap();
    let failed = install();
    let error = String::from_utf8(failed.stderr).unwrap();
    assert!(!failed.status.success() && error.contains("/loadstone does not start on this machine"), "{error}");
    assert!(failed.stdout.is_empty());
}

/// A registry that serves the packages of a folder until it is dropped.
struct Registry {
    server: Child,
    address: String,
}

impl Registry {
    fn start(packages: &Path) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dist/registry.mjs");
        let mut server = Command::new("node").arg(script).arg(packages).stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { server, address: address.trim().to_owned() }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The package of the processor whose binary is missing here cannot be found in the registry: it is optional.
#[test]
fn npm_installs_a_command_with_the_exit_code_of_the_binary() {
    let scratch = Scratch(std::env::temp_dir().join(format!("loadstone-dist-npm-{}", std::process::id())));
    fs::create_dir_all(&scratch.0).unwrap();
    let (folder, _) = make(&scratch.0, "release");
    let registry = Registry::start(&folder);
    let project = scratch.0.join("project");
    fs::create_dir(&project).unwrap();
    let npmrc = format!(
        "registry={}\ncache={}\naudit=false\nfund=false\nupdate-notifier=false\n",
        registry.address,
        scratch.0.join("npm").display()
    );
    fs::write(project.join(".npmrc"), npmrc).unwrap();
    assert_eq!(said("npx", &["--yes", "loadstone", "run", "a b"], &project), "loadstone run a b\n");
    fs::write(project.join("package.json"), "{}").unwrap();
    said("npm", &["install", "--save-dev", "loadstone"], &project);
    let failed = Command::new(project.join("node_modules/.bin/loadstone")).arg("fail").status().unwrap();
    assert_eq!(failed.code(), Some(7));
    assert!(project.join("node_modules/loadstone/index.d.ts").is_file());
    for package in ["loadstone", "loadstone-linux-x64"] {
        let manifest = fs::read(project.join("node_modules").join(package).join("package.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        assert_eq!(manifest["repository"]["url"], format!("git+{REPOSITORY}.git"));
    }
    fs::remove_dir_all(project.join("node_modules/loadstone-linux-x64")).unwrap();
    let missing = Command::new(project.join("node_modules/.bin/loadstone")).output().unwrap();
    let error = String::from_utf8(missing.stderr).unwrap();
    assert!(error.contains("the package loadstone-linux-x64 is not installed") && missing.status.code() == Some(1), "{error}");
}
