//! Reads the Turing Change Point Dataset: `annotations.json`, and `datasets/NAME/NAME.json` for each series.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::agreement::Labels;

/// A series with the change points of its annotators.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LabelledSeries {
    pub(super) name: String,
    /// `None`: the value is absent.
    pub(super) values: Vec<Option<f64>>,
    pub(super) annotators: Vec<Labels>,
}

/// All series of the folder.
#[derive(Debug, Default)]
pub(super) struct LabelledFolder {
    pub(super) series: Vec<LabelledSeries>,
    /// Names of those whose file is not in the folder, and of those with several values at a time.
    pub(super) absent: Vec<String>,
    pub(super) multivariate: Vec<String>,
}

#[derive(Deserialize)]
struct SeriesFile {
    n_obs: usize,
    n_dim: usize,
    series: Vec<SeriesColumn>,
}

#[derive(Deserialize)]
struct SeriesColumn {
    raw: Vec<Option<f64>>,
}

impl LabelledFolder {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let file = folder.join("annotations.json");
        let text = fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}: name the folder of a checkout of alan-turing-institute/TCPD", file.display()))?;
        let annotations: BTreeMap<String, BTreeMap<String, Labels>> =
            serde_json::from_str(&text).with_context(|| format!("{} is not in the format of the data set", file.display()))?;
        let mut found = Self::default();
        for (name, annotators) in annotations {
            let file = folder.join("datasets").join(&name).join(format!("{name}.json"));
            if !file.exists() {
                found.absent.push(name);
                continue;
            }
            let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
            let SeriesFile { n_obs, n_dim, series } = serde_json::from_str(&text).with_context(|| format!("reading {}", file.display()))?;
            if n_dim > 1 {
                found.multivariate.push(name);
                continue;
            }
            let Some(column) = series.into_iter().next() else { bail!("{} has no values", file.display()) };
            ensure!(column.raw.len() == n_obs && n_obs > 0, "{} has {} values instead of {n_obs}", file.display(), column.raw.len());
            found.series.push(LabelledSeries { name, values: column.raw, annotators: annotators.into_values().collect() });
        }
        Ok(found)
    }
}
