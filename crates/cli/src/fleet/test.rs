//! A test as sent to the agents: its files, and its external inputs. It is held in memory and sent. Only the files are written to disk, into a private
//! folder that is deleted with the run.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use loadstone_script::{Inputs, Loaded, Permissions};
use serde::{Deserialize, Serialize};

use crate::exit::UsageError;

/// Maximum total size of a test's files. Bytes.
const FILES_BYTES_MAX: usize = 64 << 20;

#[derive(Serialize, Deserialize)]
pub(super) struct FleetTest {
    /// The test file among `files`.
    entry: PathBuf,
    files: Vec<SentFile>,
    parameters: Vec<(String, String)>,
    environment: Vec<(String, String)>,
    /// Hosts of `--allow-net`.
    allowed_hosts: Vec<String>,
    seed: u64,
    /// Addresses of its stubs, on the controller's machine.
    stub_urls: Vec<String>,
    /// For verification on the agents: the digest of its modules, and its plan as JSON, which contains no secrets.
    digest: String,
    plan: String,
}

/// A file, by its path relative to the common parent folder.
#[derive(Serialize, Deserialize)]
struct SentFile {
    path: PathBuf,
    base64: String,
}

impl FleetTest {
    /// A file cannot be read, or the files are too large.
    /// A file cannot be read, or they are too large.
    pub(super) fn of(loaded: &Loaded, inputs: &Inputs) -> anyhow::Result<Self> {
        let files = loaded.files();
        let root = common_folder(&files);
        let (mut sent, mut bytes) = (Vec::new(), 0);
        for file in &files {
            let content = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            bytes += content.len();
            if bytes > FILES_BYTES_MAX {
                return Err(UsageError(format!(
                    "the test's files are larger than {} MB together: agents get them over NATS",
                    FILES_BYTES_MAX >> 20
                ))
                .into());
            }
            sent.push(SentFile { path: file.strip_prefix(&root)?.to_owned(), base64: STANDARD.encode(content) });
        }
        let declared: Vec<String> =
            loaded.plan.parameters.iter().map(|parameter| loadstone_plan::Parameter::environment_name(&parameter.name)).collect();
        Ok(Self {
            entry: loaded.entry().strip_prefix(&root)?.to_owned(),
            files: sent,
            parameters: inputs.parameters.clone(),
            environment: inputs.environment.iter().filter(|(name, _)| declared.contains(name)).cloned().collect(),
            allowed_hosts: inputs.permissions.net.iter().map(ToString::to_string).collect(),
            seed: loaded.plan.options.seed,
            stub_urls: loaded.stub_urls(),
            digest: loaded.digest(),
            plan: serde_json::to_string(&loaded.plan)?,
        })
    }

    pub(super) fn to_json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    /// # Errors
    /// The message does not come from a controller of this version.
    pub(super) fn parse(json: &str) -> anyhow::Result<Self> {
        serde_json::from_str(json).context("the received test is incomplete")
    }

    /// Writes its files to `folder`, and loads the test from there.
    ///
    /// # Errors
    /// Loading fails, or the result differs from the controller's.
    pub(super) fn load(&self, folder: &Path) -> anyhow::Result<Loaded> {
        for SentFile { path, base64 } in &self.files {
            if path.components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
                bail!("the received test refers to a file outside its folder: {}", path.display());
            }
            let file = folder.join(path);
            if let Some(parent) = file.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&file, STANDARD.decode(base64)?).with_context(|| format!("cannot write {}", file.display()))?;
        }
        let inputs = Inputs {
            parameters: self.parameters.clone(),
            environment: self.environment.clone(),
            seed: Some(self.seed),
            permissions: self.permissions(folder)?,
            stub_urls: Some(self.stub_urls.clone()),
            check_observer: Some(loadstone_session::check_observer),
            ..Inputs::default()
        };
        let loaded = loadstone_script::load(&folder.join(&self.entry), &inputs)?;
        if loaded.digest() != self.digest {
            bail!("the test's modules differ from those on the controller: import files by relative paths, or packages from node_modules");
        }
        if serde_json::to_string(&loaded.plan)? != self.plan {
            bail!("the test's plan differs from the controller's: its load must not depend on the time, the machine or randomness");
        }
        Ok(loaded)
    }
}

impl FleetTest {
    /// The test may read all files that were sent with it. The controller writes the files that it collects, and checks their paths.
    fn permissions(&self, folder: &Path) -> anyhow::Result<Permissions> {
        let net = self.allowed_hosts.iter().map(|host| host.parse()).collect::<Result<_, _>>()?;
        Ok(Permissions { read: vec![folder.to_owned()], write: vec!["/".into()], net, writes: false })
    }
}

/// The deepest folder that contains all files.
fn common_folder(files: &[PathBuf]) -> PathBuf {
    let mut common = files.first().and_then(|file| file.parent()).unwrap_or(Path::new("/")).to_owned();
    while !files.iter().all(|file| file.starts_with(&common)) && common.pop() {}
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_that_all_files_are_in() {
        let common = |files: &[&str]| common_folder(&files.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(common(&["/a/b/c.ts"]), Path::new("/a/b"));
        assert_eq!(common(&["/a/b/c.ts", "/a/b/d/e.csv", "/a/bc/f.ts"]), Path::new("/a"));
        assert_eq!(common(&["/a/c.ts", "/b/c.ts"]), Path::new("/"));
    }

    #[test]
    fn a_test_and_its_data_load_again_elsewhere() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |path: &str, text: &str| {
            let file = here.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("lib/names.ts", "export const name = \"Buy\";");
        write("lib/rows.csv", "id\n1\n2\n");
        write("tests/body.txt", "hello");
        write("tests/unrelated.txt", "not needed");
        write(
            "tests/shop.load.ts",
            r#"import { test, scenario, arrivals, csv, param, template } from "loadstone";
               import { name } from "../lib/names";
               const rate = param.number("rate", { default: 1 });
               const rows = csv("../lib/rows.csv").queue();
               const buy = scenario(name, async (user) => { await user.post(`/${rows.next().id}`, { body: template("body.txt") }); });
               export default test({ target: "http://127.0.0.1:1", load: buy.run(arrivals(rate).for("1s")) });"#,
        );
        let permissions = Permissions { read: vec![here.path().join("lib")], ..Permissions::default() };
        let inputs = Inputs { parameters: vec![("rate".to_owned(), "7".to_owned())], permissions, ..Inputs::default() };
        let loaded = loadstone_script::load(&here.path().join("tests/shop.load.ts"), &inputs).unwrap();
        let sent = FleetTest::of(&loaded, &inputs).unwrap();
        let mut paths: Vec<String> = sent.files.iter().map(|file| file.path.display().to_string()).collect();
        paths.sort();
        assert_eq!(paths, ["lib/names.ts", "lib/rows.csv", "tests/body.txt", "tests/shop.load.ts"]);
        let again = FleetTest::parse(&sent.to_json().unwrap()).unwrap().load(there.path()).unwrap();
        assert_eq!(serde_json::to_string(&again.plan).unwrap(), serde_json::to_string(&loaded.plan).unwrap());
    }

    #[test]
    fn a_file_outside_of_the_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = |path: &str| SentFile { path: path.into(), base64: String::new() };
        for path in ["../x.ts", "/tmp/x.ts"] {
            let test = FleetTest {
                entry: path.into(),
                files: vec![file(path)],
                parameters: Vec::new(),
                environment: Vec::new(),
                allowed_hosts: Vec::new(),
                seed: 1,
                stub_urls: Vec::new(),
                digest: String::new(),
                plan: String::new(),
            };
            assert!(test.load(folder.path()).unwrap_err().to_string().contains("outside"), "{path}");
        }
    }
}
