//! The statement that the machine had no idle core, although no request was observed to wait for one.

use crate::ResourceKind;
use crate::facts::Facts;
use crate::facts::readings::longest_run;
use crate::facts::search::{FULL_PART_MIN, LENGTH_MIN_S, READINGS_MIN};
use crate::finding::RemarkKind;
use crate::instant::clock;

/// `kind`: of the remark before it. Next to the answer that no limit was reached, this is no objection: it states what that answer does not cover.
pub(super) fn sentence(facts: &Facts<'_>, kind: RemarkKind) -> Option<String> {
    let is_answered = matches!(kind, RemarkKind::NoLimit | RemarkKind::Steady);
    let (machine, cores) = (facts.path.of_kind(ResourceKind::Machine).next()?, facts.path.machine_cores);
    let (from, to) = longest_run(machine.used.as_ref()?.points(), READINGS_MIN, LENGTH_MIN_S, |used| used >= FULL_PART_MIN * cores)?;
    let processes = facts.path.of_kind(ResourceKind::Process);
    let observed: Vec<(&str, f64)> =
        processes.filter_map(|process| Some((process.part.observer, process.used.as_ref()?.mean(from, to)?))).collect();
    let used: f64 = observed.iter().map(|(_, cores)| cores).sum();
    let most = observed.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let (who, so) = match most {
        Some((observer, own)) if used >= cores / 2.0 => {
            (format!(", most of them by \"{observer}\" ({})", loadstone_units::number(*own)), "A higher load has no idle core to use.")
        }
        _ => (": other programs use the rest".to_owned(), "Without them, times may be shorter."),
    };
    let (begin, end) = if is_answered { ("From", format!(" {so}")) } else { ("But from", String::new()) };
    Some(format!(
        "{begin} {} to {} all {} cores of the machine were busy, {} of them for the observed processes{who}.{end}",
        clock(from),
        clock(to),
        loadstone_units::number(cores),
        loadstone_units::number(used)
    ))
}
