//! A test as sent to the agents: its files, and its external inputs. It is held in memory and sent. Only the files are written to disk.

use std::path::Path;

use anyhow::bail;
use loadstone_script::{Inputs, Loaded, Permissions};
use serde::{Deserialize, Serialize};

use super::sent_files::SentFiles;

#[derive(Serialize, Deserialize)]
pub(super) struct FleetTest {
    files: SentFiles,
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

impl FleetTest {
    /// # Errors
    /// A file cannot be read, or they are too large.
    pub(super) fn of(loaded: &Loaded, inputs: &Inputs) -> anyhow::Result<Self> {
        let declared: Vec<String> =
            loaded.plan.parameters.iter().map(|parameter| loadstone_plan::Parameter::environment_name(&parameter.name)).collect();
        Ok(Self {
            files: SentFiles::of(&loaded.entry(), &loaded.files())?,
            parameters: inputs.parameters.clone(),
            environment: inputs.environment.iter().filter(|(name, _)| declared.contains(name)).cloned().collect(),
            allowed_hosts: inputs.permissions.net.iter().map(ToString::to_string).collect(),
            seed: loaded.plan.options.seed,
            stub_urls: loaded.stub_urls(),
            digest: loaded.digest(),
            plan: serde_json::to_string(&loaded.plan)?,
        })
    }

    /// Writes its files to `folder`, and loads the test from there.
    ///
    /// # Errors
    /// Loading fails, or the result differs from the controller's.
    pub(super) fn load(&self, folder: &Path) -> anyhow::Result<Loaded> {
        let entry = self.files.write(folder)?;
        let inputs = Inputs {
            parameters: self.parameters.clone(),
            environment: self.environment.clone(),
            seed: Some(self.seed),
            permissions: self.permissions(folder)?,
            stub_urls: Some(self.stub_urls.clone()),
            check_observer: Some(loadstone_session::check_observer),
            ..Inputs::default()
        };
        let loaded = loadstone_script::load(&entry, &inputs)?;
        if loaded.digest() != self.digest {
            bail!("the test's modules differ from those on the controller: import files by relative paths, or packages from node_modules");
        }
        if serde_json::to_string(&loaded.plan)? != self.plan {
            bail!("the test's plan differs from the controller's: its load must not depend on the time, the machine or randomness");
        }
        Ok(loaded)
    }

    /// The test may read all files that were sent with it. The controller writes the files that it collects, and checks their paths.
    fn permissions(&self, folder: &Path) -> anyhow::Result<Permissions> {
        let net = self.allowed_hosts.iter().map(|host| host.parse()).collect::<Result<_, _>>()?;
        Ok(Permissions { read: vec![folder.to_owned()], write: vec!["/".into()], net, writes: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(sent.files.paths(), ["lib/names.ts", "lib/rows.csv", "tests/body.txt", "tests/shop.load.ts"]);
        let again = serde_json::from_str::<FleetTest>(&serde_json::to_string(&sent).unwrap()).unwrap().load(there.path()).unwrap();
        assert_eq!(serde_json::to_string(&again.plan).unwrap(), serde_json::to_string(&loaded.plan).unwrap());
    }
}
