//! Any query: one row whose columns that are numbers become signals, or keys of journeys that have come somewhere.

use std::collections::HashSet;

use metrics::{FlowEvent, FlowKey, FlowStep};
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow};

use crate::ObserveError;
use crate::description::Description;
use crate::postgres::Session;
use crate::readings::{Readings, label};

#[derive(Debug)]
pub(crate) struct Sql {
    session: Session,
    query: String,
    journeys: Option<Journeys>,
}

/// The query's rows are keys, and how many seconds ago each came to this step.
#[derive(Debug)]
struct Journeys {
    flow: u32,
    step: FlowStep,
    /// Keys of the last reading: the query's window overlaps from reading to reading.
    seen: HashSet<FlowKey>,
}

impl Sql {
    pub(crate) fn from_description(description: &mut Description<'_>) -> Result<Self, ObserveError> {
        let session = Session::from_description(description)?;
        let query = description.required_text("query")?.to_owned();
        let flow = description.number("flow", 1_000_000)?;
        let step = match description.text("step")? {
            None | Some("finish") => FlowStep::Finish,
            Some("start") => FlowStep::Start,
            Some(stage) => {
                let number = stage.parse().map_err(|_| description.problem(format!("step \"{stage}\" is no number of a stage")))?;
                FlowStep::Stage(number)
            }
        };
        // Numbers in descriptions begin at 1.
        let journeys = flow.map(|flow| Journeys { flow: flow - 1, step, seen: HashSet::new() });
        Ok(Self { session, query, journeys })
    }

    pub(crate) fn reset(&mut self) {
        self.session.reset();
    }

    /// # Errors
    /// When the query fails, or does not give what is asked of it.
    pub(crate) async fn read(&mut self, out: &mut Readings) -> Result<(), String> {
        let client = self.session.client().await?;
        let messages = client.simple_query(&self.query).await.map_err(|problem| crate::postgres::say("the query failed", &problem))?;
        let mut rows = messages.iter().filter_map(|message| if let SimpleQueryMessage::Row(row) = message { Some(row) } else { None });
        match &mut self.journeys {
            None => numbers(rows.next().ok_or("the query has no row")?, out),
            Some(journeys) => journeys.read(rows, out),
        }
    }
}

fn numbers(row: &SimpleQueryRow, out: &mut Readings) -> Result<(), String> {
    let mut any = false;
    for (index, column) in row.columns().iter().enumerate() {
        if let Some(value) = row.get(index).and_then(|text| text.parse::<f64>().ok()) {
            any = true;
            out.gauge(&label(column.name()), "1", "Column of the query", value);
        }
    }
    if any { Ok(()) } else { Err("the query's row has no column that is a number".to_owned()) }
}

impl Journeys {
    /// A row is a key and, in a second column, how many seconds ago it came here by the database's own clock; without one, now.
    fn read<'a>(&mut self, rows: impl Iterator<Item = &'a SimpleQueryRow>, out: &mut Readings) -> Result<(), String> {
        let mut seen = HashSet::new();
        let mut new = 0;
        for row in rows {
            let Some(text) = row.get(0) else { return Err("the query's first column is the key, and is null in a row".to_owned()) };
            let key = FlowKey::of(text);
            let seconds = match (row.len(), row.try_get(1).ok().flatten()) {
                (1, _) => 0.0,
                (_, Some(text)) => {
                    text.parse::<f64>().map_err(|_| format!("the query's second column is seconds ago, and \"{text}\" is no number"))?
                }
                (_, None) => return Err("the query's second column is seconds ago, and is null in a row".to_owned()),
            };
            if !self.seen.contains(&key) && seen.insert(key) {
                new += 1;
                out.journey(FlowEvent { flow: self.flow, key, step: self.step, at: (seconds.max(0.0) * 1e9) as u64 });
            }
            seen.insert(key);
        }
        self.seen = seen;
        out.gauge("keys", "1", "Keys that the query had not given with the reading before", f64::from(new));
        Ok(())
    }
}
