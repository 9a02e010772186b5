//! The tests of a folder, each with the data for its form. A test that does not load is listed with its error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use loadstone_plan::{ParameterKind, ParameterOrigin};
use loadstone_script::{Knob, Missing, Permissions, ScriptError};
use loadstone_secrets::Secrets;
use serde::Serialize;

use super::test_to_start::TestToStart;
use super::work::RefusedWork;

/// Maximum number of files that are watched for changes. A folder with more is not a folder of tests.
const FILES_MAX: usize = 10_000;
const DEPTH_MAX: usize = 8;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct TestFile {
    /// Path relative to the folder. Identifies the test when a run is started.
    pub(crate) file: String,
    pub(crate) name: String,
    /// Why it cannot run, in the command line's words.
    pub(crate) error: Option<String>,
    /// The load in words.
    pub(crate) load: Vec<String>,
    pub(crate) parameters: Vec<ParameterField>,
    /// The knobs that an experiment can change.
    pub(crate) knobs: Vec<KnobField>,
    /// Default objectives of a capacity search.
    pub(crate) objectives: Vec<String>,
    /// A k6 script: its parameters are variables of `__ENV`.
    #[serde(skip)]
    pub(crate) is_k6: bool,
}

/// A knob, as shown in its form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct KnobField {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
}

/// A parameter, as shown in its form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct ParameterField {
    pub(crate) name: String,
    pub(crate) kind: ParameterKind,
    pub(crate) help: Option<String>,
    /// The default: the test's, or from the environment of `loadstone ui`. Masked if secret.
    pub(crate) default: Option<String>,
    pub(crate) secret: bool,
}

/// Why there are no tests, or no such test, or why it does not load.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CatalogueError {
    #[error("cannot read {}: {source}", folder.display())]
    Unreadable { folder: PathBuf, source: std::io::Error },
    #[error("{} holds more than {FILES_MAX} files: start `loadstone ui` on the folder of the tests", folder.display())]
    TooManyFiles { folder: PathBuf },
    #[error("there is no test {file} in {}", folder.display())]
    NotFound { file: String, folder: PathBuf },
    /// The command line's message without the source excerpt: place, message, remedy.
    #[error("{}", in_words(.0))]
    Script(#[from] ScriptError),
    /// Values that parameters reject: the reason for each, by parameter name.
    #[error("{}", .0.iter().map(|(name, problem)| format!("{name}: {problem}")).collect::<Vec<_>>().join("\n"))]
    Fields(BTreeMap<String, String>),
    /// The command rejects the form's request for this test.
    #[error("{}", .0.why)]
    Refused(RefusedWork),
}

/// The last known state of a file. It has changed if any field differs.
type FileStamp = (PathBuf, Option<SystemTime>, u64);

/// The tests. They are read again only after a file in the folder changed, because reading evaluates scripts, possibly during a run.
pub(crate) struct TestCatalogue {
    folder: PathBuf,
    /// Changes during tests, and contains no tests.
    runs: PathBuf,
    /// Of all tests.
    permissions: Permissions,
    seen: Mutex<SeenTests>,
    /// Secrets of its tests: from the scripts, the environment, and the forms.
    secrets: Secrets,
}

/// The folder's files at the time when the tests were read, and the tests.
#[derive(Default)]
struct SeenTests {
    stamps: Vec<FileStamp>,
    tests: Option<Arc<[TestFile]>>,
}

impl TestCatalogue {
    pub(crate) fn new(folder: &Path, runs: &Path, permissions: Permissions) -> Self {
        Self { permissions, folder: folder.to_owned(), runs: runs.to_owned(), seen: Mutex::default(), secrets: Secrets::default() }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Secrets that must not appear in notes and tags.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// What the tests may do in addition to the default.
    pub(crate) fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    /// Stores the secrets of a started run.
    pub(crate) fn hide(&self, secrets: &Secrets) {
        self.secrets.extend_later(secrets);
    }

    /// All tests by their path.
    ///
    /// # Errors
    /// The folder cannot be read, or is not a folder of tests.
    pub(crate) fn tests(&self) -> Result<Arc<[TestFile]>, CatalogueError> {
        let mut stamps = Vec::new();
        self.walk(&self.folder, 0, &mut stamps)?;
        stamps.sort();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tests) = &seen.tests
            && seen.stamps == stamps
        {
            return Ok(Arc::clone(tests));
        }
        let files = stamps.iter().map(|(path, ..)| path).filter(|path| is_test(path));
        let tests: Arc<[TestFile]> = files.map(|path| self.read(path)).collect();
        *seen = SeenTests { stamps, tests: Some(Arc::clone(&tests)) };
        Ok(tests)
    }

    /// The path that starts a listed test, and its secrets.
    ///
    /// # Errors
    /// As for [`TestCatalogue::tests`]. Also if there is no such test.
    pub(crate) fn find(&self, file: &str) -> Result<(PathBuf, TestFile), CatalogueError> {
        let tests = self.tests()?;
        let test = tests.iter().find(|test| test.file == file);
        let test = test.ok_or_else(|| CatalogueError::NotFound { file: file.to_owned(), folder: self.folder.clone() })?;
        let path = if self.folder == Path::new(".") { PathBuf::from(file) } else { self.folder.join(file) };
        Ok((path, test.clone()))
    }

    fn walk(&self, folder: &Path, depth: usize, stamps: &mut Vec<FileStamp>) -> Result<(), CatalogueError> {
        let unreadable = |source| CatalogueError::Unreadable { folder: folder.to_owned(), source };
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let (name, path) = (entry.file_name(), entry.path());
            let kind = entry.file_type().map_err(unreadable)?;
            let passed_over = name.to_string_lossy().starts_with('.') || name == "node_modules" || name == "target";
            if passed_over || same(&path, &self.runs) {
                continue;
            }
            if kind.is_dir() && depth < DEPTH_MAX {
                self.walk(&path, depth + 1, stamps)?;
            } else if !kind.is_dir() {
                // A file that disappeared meanwhile is skipped.
                let Ok(facts) = std::fs::metadata(&path) else { continue };
                stamps.push((path, facts.modified().ok(), facts.len()));
            }
            if stamps.len() > FILES_MAX {
                return Err(CatalogueError::TooManyFiles { folder: self.folder.clone() });
            }
        }
        Ok(())
    }

    fn read(&self, path: &Path) -> TestFile {
        let file = path.strip_prefix(&self.folder).unwrap_or(path).display().to_string();
        let test = TestToStart::load(path, &self.permissions, &BTreeMap::new(), Missing::StoodIn);
        let is_k6 = loadstone_k6::is_k6_script(path);
        match test {
            Err(problem) => {
                let (load, parameters, knobs, objectives) = Default::default();
                TestFile { name: file.clone(), file, error: Some(in_words(&problem)), load, parameters, knobs, objectives, is_k6 }
            }
            Ok(TestToStart { plan, knobs, variables }) => {
                self.hide(&plan.secrets);
                let plan = plan.hiding(&plan.all_secrets());
                let load = loadstone_report::load_in_words(&plan);
                let knobs = knobs.iter().map(knob).collect();
                let usable = plan.thresholds.iter().filter(|threshold| loadstone_analysis::objective_problem(threshold).is_none());
                let objectives = usable.map(|threshold| threshold.label.clone()).collect();
                let parameters =
                    if is_k6 { variables.into_iter().map(variable).collect() } else { plan.parameters.into_iter().map(field).collect() };
                TestFile { file, name: plan.name, error: None, load, parameters, knobs, objectives, is_k6 }
            }
        }
    }
}

/// Tests of Loadstone by their name, k6 scripts by what they import and export.
fn is_test(path: &Path) -> bool {
    let name = path.to_string_lossy();
    if name.ends_with(".load.ts") {
        return true;
    }
    let is_script = [".js", ".ts", ".mjs"].iter().any(|end| name.ends_with(end)) && !name.ends_with(".d.ts");
    is_script && loadstone_k6::imports_k6(path) && loadstone_k6::exports_load(path)
}

/// The field of a variable of `__ENV`. The environment's value applies if it stays empty, and is not shown.
fn variable(name: String) -> ParameterField {
    let secret = loadstone_secrets::is_credential(&name) || loadstone_secrets::is_password(&name);
    ParameterField { name, kind: ParameterKind::String, help: Some("variable of __ENV".to_owned()), default: Some(String::new()), secret }
}

fn same(a: &Path, b: &Path) -> bool {
    a.file_name() == b.file_name() && a.canonicalize().ok().is_some_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

fn knob(knob: &Knob) -> KnobField {
    KnobField { name: knob.name.clone(), values: knob.values.iter().map(|value| value.label.clone()).collect() }
}

fn field(parameter: loadstone_plan::Parameter) -> ParameterField {
    let default = if parameter.origin == ParameterOrigin::Environment { Some(parameter.value) } else { parameter.default };
    ParameterField { name: parameter.name, kind: parameter.kind, help: parameter.help, default, secret: parameter.secret }
}

impl TestFile {
    /// Checks a form's values, field by field.
    ///
    /// # Errors
    /// [`CatalogueError::Fields`] if any value is wrong.
    pub(crate) fn check(&self, values: &BTreeMap<String, String>) -> Result<(), CatalogueError> {
        let problem = |field: &ParameterField| {
            let problem = loadstone_script::value_problem(&field.kind, values.get(&field.name)?)?;
            Some((field.name.clone(), if field.secret { "this value is not accepted".to_owned() } else { problem }))
        };
        let problems: BTreeMap<String, String> = self.parameters.iter().filter_map(problem).collect();
        if problems.is_empty() { Ok(()) } else { Err(CatalogueError::Fields(problems)) }
    }
}

fn in_words(error: &ScriptError) -> String {
    match &error.help {
        Some(help) => format!("{error}\n{help}"),
        None => error.to_string(),
    }
}
