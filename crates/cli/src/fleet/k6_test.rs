//! A k6 script as sent to the agents: its files, and its inputs.

use std::path::Path;

use anyhow::bail;
use loadstone_k6::{K6Inputs, K6Test, MovedFolder, SentK6Inputs};
use serde::{Deserialize, Serialize};

use super::sent_files::SentFiles;

#[derive(Serialize, Deserialize)]
pub(super) struct FleetK6Test {
    files: SentFiles,
    inputs: SentK6Inputs,
    /// For verification on the agents: the digest of its modules, and its plan as JSON, which contains no secrets.
    digest: String,
    plan: String,
}

impl FleetK6Test {
    /// # Errors
    /// A file cannot be read, or they are too large.
    pub(super) fn of(test: &K6Test, inputs: &K6Inputs) -> anyhow::Result<Self> {
        Ok(Self {
            files: SentFiles::of(&test.entry(), &test.files())?,
            inputs: SentK6Inputs::of(test, inputs),
            digest: test.digest(),
            plan: serde_json::to_string(&test.plan)?,
        })
    }

    /// Writes its files to `folder`, and loads the script from there.
    ///
    /// # Errors
    /// Loading fails, or the result differs from the controller's.
    pub(super) fn load(self, folder: &Path) -> anyhow::Result<K6Test> {
        let to = folder.join("test");
        let entry = self.files.write(&to)?;
        let moved = MovedFolder { from: self.files.root, to };
        let inputs = self.inputs.received(moved, &folder.join("remote")).map_err(anyhow::Error::msg)?;
        let test = loadstone_k6::load(&entry, &inputs).map_err(|failure| failure.error)?;
        if test.digest() != self.digest {
            bail!(
                "the script's modules differ from those on the controller: import files by relative paths, or packages from node_modules"
            );
        }
        if serde_json::to_string(&test.plan)? != self.plan {
            bail!("the script's options differ from the controller's: they must not depend on the time, the machine or randomness");
        }
        Ok(test)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_and_what_it_opens_load_again_elsewhere() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = here.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let file = root.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("lib/names.js", "export const path = '/buy';");
        write("data/1.json", "[1, 2]");
        write("data/2.csv", "id");
        write("data/unrelated.csv", "not needed");
        write("protos/shop.proto", "syntax = \"proto3\";\nimport \"money.proto\";\nservice Shop { rpc Buy(Money) returns (Money); }");
        write("protos/money.proto", "syntax = \"proto3\";\nmessage Money {}");
        write(
            "tests/shop.js",
            r#"import { path } from "../lib/names.js";
               import grpc from "k6/net/grpc";
               const number = 1;
               const rows = JSON.parse(open(`../data/${number}.json`));
               open(`${__ENV.DATA}/2.csv`, "b");
               new grpc.Client().load(["../protos"], "shop" + ".proto");
               export const options = { vus: rows.length, iterations: Number(__ENV.COUNT) };
               export default function () {}"#,
        );
        let data = root.join("data").display().to_string();
        let variables = [("DATA", data.as_str()), ("COUNT", "7"), ("UNUSED", "of the environment"), ("FLAG", "set")];
        let inputs = K6Inputs {
            variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            set_by_flag: ["FLAG".to_owned()].into(),
            permissions: loadstone_script::Permissions { read: vec![root.clone()], ..Default::default() },
            ..K6Inputs::default()
        };
        let test = loadstone_k6::load(&root.join("tests/shop.js"), &inputs).unwrap();
        let sent = FleetK6Test::of(&test, &inputs).unwrap();
        let expected =
            ["data/1.json", "data/2.csv", "lib/names.js", "protos/money.proto", "protos/shop.proto", "tests/shop.js"].map(str::to_owned);
        assert_eq!(sent.files.paths(), expected);
        let text = serde_json::to_string(&sent).unwrap();
        assert!(!text.contains("of the environment") && text.contains("FLAG"));
        // Only the sent copies can be read.
        std::fs::remove_dir_all(&root).unwrap();
        let again = serde_json::from_str::<FleetK6Test>(&text).unwrap().load(there.path()).unwrap();
        assert_eq!(serde_json::to_string(&again.plan).unwrap(), serde_json::to_string(&test.plan).unwrap());
        std::fs::create_dir_all(&root).unwrap();
    }
}
