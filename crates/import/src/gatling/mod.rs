//! Simulations as Gatling's recorder writes them, in Scala, Java, Kotlin or JavaScript.
//!
//! Read [`import`], then `chain` (what is executed) and `request` (one request). Deliberately absent: a simulation as a program. Loops, feeders
//! and functions that its author has added are comments with their reason.

mod chain;
mod expressions;
mod request;
mod simulation;
mod tokens;

use std::collections::HashMap;

use crate::error::ImportError;
use crate::imported::{ImportedTest, Input, Note, NoteKind};
use crate::sent::hide;
use crate::steps::{Action, Journey};
use crate::write::write;
use chain::ChainReader;
use expressions::Source;
use simulation::{Protocol, Simulation};

pub(crate) fn import(input: &Input<'_>) -> Result<ImportedTest, ImportError> {
    let source = Source::read(&tokens::tokens(input.text));
    let mut simulation =
        Simulation { input, values: source.values, protocol: Protocol::default(), notes: Vec::new(), left: HashMap::new() };
    let (title, chain) = simulation.scenario(&source.set_up).ok_or_else(|| {
        ImportError::new(
            input.name,
            None,
            "this is not a Gatling simulation: it has no `scenario(\"name\").exec(…)`",
            "give the file that the recorder wrote: RecordedSimulation.scala, .java, .kt, .js or .ts",
        )
    })?;
    simulation.read_protocol();
    let base = simulation.protocol.base.clone();
    let mut reader = ChainReader::new(&mut simulation);
    reader.chain(&chain);
    let steps = reader.finish();
    let mut journey = Journey {
        format: "gatling-recorder",
        file: input.name.rsplit('/').next().unwrap_or(input.name).to_owned(),
        title,
        base,
        steps,
        ..Journey::default()
    };
    if !journey.steps.iter().any(|step| step.actions.iter().any(|action| !matches!(action, Action::Comment(_)))) {
        let first = simulation.notes.iter().find(|note| note.kind == NoteKind::Lost);
        let why = first.map_or(String::new(), |note| format!(": {}", note.text));
        return Err(ImportError::new(
            input.name,
            first.and_then(|note| note.line),
            format!("the simulation has no request that can be imported{why}"),
            "give the file as the recorder wrote it; docs/from-gatling.md describes how to translate other code",
        ));
    }
    hide(&mut journey);
    let mut left: Vec<_> = std::mem::take(&mut simulation.left).into_iter().collect();
    left.sort_unstable();
    let mut notes = simulation.notes;
    notes.extend(left.into_iter().map(|(reason, count)| Note::left_out(format!("{count} × {reason}"))));
    for parameter in &journey.parameters {
        notes.push(Note::changed(format!("a credential became the secret parameter `{}`", parameter.name)));
    }
    Ok(ImportedTest { text: write(&journey), notes })
}
