//! The table of all generators: how far each one's percentiles are from the truth, for each published server or setting.

use std::path::{Path, PathBuf};

use anyhow::Result;
use checkout::Workspace;
use checkout::machine;

use super::peers::{GENERATORS, PeerGenerator, PeerRun};
use super::published::{self, PublishedCase};
use super::table::ms;

/// In the table that has one cell for each generator and case.
const SHOWN: [f64; 2] = [0.5, 0.99];
/// In the table of all figures.
const ALL: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// One case, and the runs of all generators, in their order.
struct MeasuredCase {
    case: PublishedCase,
    runs: Vec<Option<PeerRun>>,
}

/// Runs every installed generator once in each wanted case, and returns the page.
pub(super) fn measure(workspace: &Workspace, binary: &Path, server: &Path, wants: &dyn Fn(&str) -> bool) -> Result<String> {
    let mut installed: Vec<(&PeerGenerator, PathBuf)> = Vec::new();
    for generator in GENERATORS {
        installed.extend(generator.find(workspace, binary)?.map(|program| (generator, program)));
    }
    let mut cases = Vec::new();
    for case in published::all().into_iter().filter(|case| wants(case.name)) {
        let mut runs = Vec::new();
        for (generator, program) in &installed {
            let run = generator.run(workspace, program, server, &case)?;
            if let Some(run) = &run {
                println!("{}, {}: {}", case.name, generator.name, cell(&case, Some(run)));
            }
            runs.push(run);
        }
        cases.push(MeasuredCase { case, runs });
    }
    let generators: Vec<&PeerGenerator> = installed.iter().map(|(generator, _)| *generator).collect();
    Ok(page(&machine::today()?, &machine::facts()?, &generators, &cases))
}

fn page(today: &str, facts: &str, generators: &[&PeerGenerator], cases: &[MeasuredCase]) -> String {
    let mut text = format!(
        "# Errors of load generators, {today}\n\n{facts}\n\nEach cell: the error of the reported p50 and p99, relative to the truth. −99 % means \
         that the generator reports a hundredth of the true value. The truth is a formula: the response times that requests on an ideal schedule \
         have. † The generator itself questions this measurement. – It reports no such value, or cannot generate this load.\n\n"
    );
    let names: Vec<String> = generators.iter().map(|g| if g.closed { format!("{} (closed)", g.name) } else { g.name.to_owned() }).collect();
    text += &format!("| case | true p50 | true p99 | {} |\n|---|---|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for MeasuredCase { case, runs } in cases {
        let truths = SHOWN.map(|quantile| ms(Some(case.law.at_s(quantile))));
        let cells: Vec<String> = runs.iter().map(|run| cell(case, run.as_ref())).collect();
        text += &format!("| {} | {} | {} |\n", case.name, truths.join(" | "), cells.join(" | "));
    }
    text += "\n## Cases\n\n";
    for MeasuredCase { case, .. } in cases {
        let (name, origin, setting, differs) = (case.name, case.origin, case.setting, case.differs);
        let (rate, seconds) = (case.rate, case.seconds);
        text += &format!(
            "- **{name}** ({origin}): {setting}. {rate} requests per second for {seconds} s. Different from the original: {differs}.\n"
        );
    }
    text += "\n## All figures\n\nArrived: requests that the server received, relative to the schedule. Away: the share of the time in which a timer \
             at real-time priority did not run.\n\n| case | generator | p50 | p90 | p99 | p99.9 | arrived | away |\n|---|---|---|---|---|---|---|---|\n";
    for MeasuredCase { case, runs } in cases {
        let truths = ALL.map(|quantile| ms(Some(case.law.at_s(quantile))));
        text += &format!("| {} | truth | {} | 100 % | |\n", case.name, truths.join(" | "));
        for (generator, run) in generators.iter().zip(runs).filter_map(|(generator, run)| Some((generator, run.as_ref()?))) {
            let values = ALL.map(|quantile| ms(run.report.at(quantile)));
            let mark = if run.report.questions { " †" } else { "" };
            let (arrived, away) = (run.arrived * 100.0, run.stillness.shown());
            text += &format!("| {} | {}{mark} | {} | {arrived:.1} % | {away} |\n", case.name, generator.name, values.join(" | "));
        }
    }
    text += "\nCommands:\n\n```text\n";
    for MeasuredCase { case, runs } in cases {
        text += &format!("# {}\n", case.name);
        runs.iter().flatten().for_each(|run| text += &format!("{}\n", run.command));
    }
    text + "```\n"
}

/// `+0.4 % · −99 % †`
fn cell(case: &PublishedCase, run: Option<&PeerRun>) -> String {
    let Some(run) = run else { return "–".to_owned() };
    let errors = SHOWN.map(|quantile| {
        let truth = case.law.at_s(quantile);
        run.report.at(quantile).map_or_else(|| "–".to_owned(), |value| percent((value - truth) / truth))
    });
    format!("{}{}", errors.join(" · "), if run.report.questions { " †" } else { "" })
}

/// `+0.4 %`, `−99 %`, `+250 %`
fn percent(share: f64) -> String {
    let (sign, size) = (if share < 0.0 { "−" } else { "+" }, share.abs() * 100.0);
    if size < 9.95 { format!("{sign}{size:.1} %") } else { format!("{sign}{size:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_a_sign_and_two_digits() {
        assert_eq!([0.004, -0.989, 2.5, -0.0996].map(percent), ["+0.4 %", "−99 %", "+250 %", "−10 %"]);
    }
}
