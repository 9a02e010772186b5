//! One run against a lab: the fault, the load, what came out.

use std::fs::{self, File};
use std::mem::MaybeUninit;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// What a generator took of the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    /// Processor time, the kernel's share included.
    pub(crate) cpu_seconds: f64,
    pub(crate) memory_peak_bytes: f64,
}

/// What `loadstone run --json` concluded, and what the run took.
pub(crate) struct Concluded {
    summary: Value,
    pub(crate) used: Used,
}

/// Runs a load test with parameters and keeps its run in `runs`; `workers` where it is not to be one for each core. What a run that missed its
/// thresholds, or is not valid, says counts as well.
pub(crate) fn run(binary: &Path, script: &Path, runs: &Path, parameters: &[(&str, String)], workers: Option<u32>) -> Result<Concluded> {
    let mut command = Command::new(binary);
    command.arg("run").arg(script).arg("--json").arg("--quiet").arg("--runs").arg(runs);
    for (name, value) in parameters {
        command.arg("-p").arg(format!("{name}={value}"));
    }
    if let Some(workers) = workers {
        command.arg("--workers").arg(workers.to_string());
    }
    fs::create_dir_all(runs).with_context(|| format!("creating {}", runs.display()))?;
    let output = runs.join("last.json");
    let used = use_up(command.stdout(File::create(&output)?), &[0, 3, 4])?;
    Ok(Concluded { summary: serde_json::from_slice(&fs::read(&output)?).context("what `loadstone run --json` wrote")?, used })
}

/// Runs a generator to its end; an error unless it ends with one of these codes.
pub(crate) fn use_up(command: &mut Command, codes: &[i32]) -> Result<Used> {
    let child = command.stdin(Stdio::null()).spawn();
    let child = child.with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let (code, usage) = reap(&child)?;
    if !code.is_some_and(|code| codes.contains(&code)) {
        bail!("{command:?} ended with {code:?}");
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Used {
        cpu_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        // Linux counts in kilobytes (getrusage(2)).
        memory_peak_bytes: usage.ru_maxrss as f64 * 1024.0,
    })
}

/// Waits for a child; its exit code, if it ended by itself, and what it used.
fn reap(child: &Child) -> Result<(Option<i32>, libc::rusage)> {
    let pid = libc::pid_t::try_from(child.id()).context("a process id")?;
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both pointers are valid for writes for the time of the call, and a zeroed `rusage` is a valid one.
    let (reaped, usage) = unsafe { (libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()), usage.assume_init()) };
    if reaped != pid {
        bail!("waiting for a run: {}", std::io::Error::last_os_error());
    }
    Ok((libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)), usage))
}

impl Concluded {
    pub(crate) fn id(&self) -> &str {
        self.summary["id"].as_str().unwrap_or_default()
    }

    /// Findings about the system, most important first: those about the generator say nothing of it.
    pub(crate) fn findings(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.summary["verdict"]["findings"]["findings"].as_array().into_iter().flatten();
        all.map(|finding| (text(&finding["rule"]), text(&finding["claim"]))).filter(|(rule, _)| *rule != "generator")
    }

    /// `valid`, `suspect` or `invalid`, as the run calls its own measurement.
    pub(crate) fn grade(&self) -> &str {
        text(&self.summary["verdict"]["validity"]["grade"])
    }

    /// Thresholds that held, of all.
    pub(crate) fn thresholds(&self) -> String {
        let results = self.summary["verdict"]["thresholds"].as_array().map(Vec::as_slice).unwrap_or_default();
        format!("{}/{}", results.iter().filter(|result| result["state"] == "passed").count(), results.len())
    }

    /// The row of that name in `requests`, `flows` or `groups`; of several, in different groups, that with the highest count.
    pub(crate) fn row(&self, list: &str, name: &str) -> Result<&Value> {
        let rows = self.summary[list].as_array().into_iter().flatten();
        rows.filter(|row| row["name"] == name)
            .max_by_key(|row| row["count"].as_u64())
            .with_context(|| format!("the run has no {name:?} among its {list}"))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A percentile: `132 ms`, `≥ 12.0 s` where only a bound is known, `–` where there were too few samples.
pub(crate) fn percentile(times: &Value, quantile: f64) -> String {
    let rows = times["percentiles"].as_array();
    let Some(row) = rows.into_iter().flatten().find(|row| row["quantile"].as_f64() == Some(quantile)) else { return "–".to_owned() };
    match (row["value"].as_f64(), row["low"].as_f64()) {
        (Some(value), _) => seconds(value),
        (None, Some(low)) => format!("≥ {}", seconds(low)),
        (None, None) => "–".to_owned(),
    }
}

/// The 95 % interval of a percentile: `120–141 ms`; `–` where there is none.
pub(crate) fn interval(times: &Value, quantile: f64) -> String {
    let rows = times["percentiles"].as_array();
    let row = rows.into_iter().flatten().find(|row| row["quantile"].as_f64() == Some(quantile));
    match row.map(|row| (row["low"].as_f64(), row["high"].as_f64())) {
        Some((Some(low), Some(high))) => format!("{} to {}", seconds(low), seconds(high)),
        _ => "–".to_owned(),
    }
}

/// A time with three significant digits.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        value if value < 0.001 => format!("{:.0} µs", value * 1e6),
        value if value < 0.01 => format!("{:.2} ms", value * 1e3),
        value if value < 0.1 => format!("{:.1} ms", value * 1e3),
        value if value < 1.0 => format!("{:.0} ms", value * 1e3),
        value if value < 10.0 => format!("{value:.2} s"),
        value if value < 100.0 => format!("{value:.1} s"),
        value => format!("{value:.0} s"),
    }
}

/// A table for the terminal: columns as wide as their widest cell.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_bound_is_not_shown_as_a_value() {
        let times = json!({ "percentiles": [{ "quantile": 0.5, "value": 0.0254, "low": 0.02 }, { "quantile": 0.99, "value": null, "low": 12.04 }, { "quantile": 0.999, "value": null, "low": null }] });
        assert_eq!([0.5, 0.99, 0.999, 0.75].map(|quantile| percentile(&times, quantile)), ["25.4 ms", "≥ 12.0 s", "–", "–"]);
    }

    #[test]
    fn a_finding_about_the_generator_is_none_about_the_system() {
        let summary = json!({ "verdict": { "findings": { "findings": [
            { "rule": "generator", "claim": "The load generator limits the results" },
            { "rule": "effective-concurrency", "claim": "one at a time" },
        ] } } });
        let concluded = Concluded { summary, used: Used { cpu_seconds: 0.0, memory_peak_bytes: 0.0 } };
        assert_eq!(concluded.findings().collect::<Vec<_>>(), [("effective-concurrency", "one at a time")]);
    }

    #[test]
    fn columns_stand_in_line() {
        let rows = [vec!["a".to_owned(), "µs".to_owned(), "x".to_owned()], vec!["long".to_owned(), "1".to_owned(), "y".to_owned()]];
        assert_eq!(table(&rows), "a     µs  x\nlong  1   y\n");
    }
}
