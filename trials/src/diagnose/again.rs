//! The stored runs of a benchmark, concluded again by another binary: what a change of the rules gains and loses, run by run.
//!
//! The results of the benchmark stay unchanged, since those rules had not been tuned on these runs. `again.jsonl` next to them has the new
//! conclusions.

use std::path::Path;

use anyhow::{Context, Result};
use checkout::machine;

use super::judging::{Catalogue, Cell, CellConclusion, Rating};
use super::score::{self, Judged};
use super::{results, trial};

pub(super) fn conclude(
    (binary, commit): (&Path, &str),
    catalogue: &Catalogue,
    cells: &[Cell],
    (recorded, runs): (&Path, &Path),
) -> Result<()> {
    let date = machine::today()?;
    let mut before = results::read(recorded)?;
    before.retain(|conclusion| cells.iter().any(|cell| cell.name() == conclusion.cell));
    let again = |conclusion: &CellConclusion| -> Result<CellConclusion> {
        let summary = trial::conclude_again(binary, runs, &conclusion.run).with_context(|| format!("the run of {}", conclusion.cell))?;
        Ok(CellConclusion {
            busy: conclusion.busy,
            command: conclusion.command.clone(),
            ..CellConclusion::of(&conclusion.cell, &summary, &date, commit)
        })
    };
    let now: Vec<CellConclusion> = before.iter().map(again).collect::<Result<_>>()?;
    let kept = recorded.with_file_name("again.jsonl");
    results::write(&kept, &now)?;
    println!("{}", compared(&score::judged(catalogue, &before), &score::judged(catalogue, &now)));
    println!("Recorded: {}; of now: {}.", recorded.display(), kept.display());
    Ok(())
}

/// Both scores by the current expectations, and each run with another rating or another first finding.
fn compared(before: &[Judged<'_>], now: &[Judged<'_>]) -> String {
    let count = |judged: &[Judged<'_>], healthy: bool, rating: Rating| {
        judged.iter().filter(|one| one.is_healthy == healthy && one.rating == rating).count()
    };
    let mut text = "| | recorded | now |\n|---|---|---|\n".to_owned();
    for (healthy, whose) in [(false, "faults"), (true, "healthy")] {
        for rating in Rating::ALL {
            let (recorded, now) = (count(before, healthy, rating), count(now, healthy, rating));
            if recorded + now > 0 {
                text += &format!("| {whose}: {} | {recorded} | {now} |\n", rating.name());
            }
        }
    }
    for (before, now) in before.iter().zip(now) {
        if before.rating != now.rating {
            text += &format!("\n{}: {} → {}\n", now.cell.name(), before.rating.name(), now.rating.name());
        } else if before.conclusion.first() != now.conclusion.first() {
            text += &format!("\n{}: {}, in other words\n", now.cell.name(), now.rating.name());
        } else {
            continue;
        }
        text += &format!("  - {}\n  + {}\n", before.conclusion.first(), now.conclusion.first());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn conclusion(cell: &str, claim: &str) -> CellConclusion {
        let finding = json!({ "rule": "effective-concurrency", "confidence": "low", "claim": claim });
        let findings = if claim.is_empty() { json!([]) } else { json!([finding]) };
        let verdict =
            json!({ "findings": { "findings": findings, "remark": { "kind": "no_limit", "text": "No limit was reached at this load." } } });
        CellConclusion::of(cell, &json!({ "id": "r1", "verdict": verdict }), "", "")
    }

    #[test]
    fn gains_and_losses_of_a_change_are_listed_by_run() {
        let catalogue = Catalogue::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))).unwrap();
        let (workers, healthy) = ("go/workers/gross/closed/process/1", "node/healthy/plain/ramp/all/1");
        let before = [conclusion(workers, ""), conclusion(healthy, "")];
        let now = [conclusion(workers, "\"Buy\" is served about 3 at a time: workers"), conclusion(healthy, "")];
        let (before, now) = (score::judged(&catalogue, &before), score::judged(&catalogue, &now));
        let text = compared(&before, &now);
        assert!(text.contains("| faults: right | 0 | 1 |") && text.contains("| faults: denied | 1 | 0 |"), "{text}");
        assert!(text.contains(&format!("{workers}: denied → right")) && !text.contains(healthy), "{text}");
        assert!(text.contains("| healthy: right | 1 | 1 |"), "{text}");
    }
}
