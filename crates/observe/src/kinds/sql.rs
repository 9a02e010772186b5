//! Any query: one row whose numeric columns become signals, or rows of keys of journeys that have reached a step.

use std::collections::HashSet;
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{FlowEvent, FlowKey, FlowStep, Nanos, unit};
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow};

use super::postgres::connection::{PostgresConnection, PostgresError};
use crate::collector::{MetricSpec, SignalCollector, label};
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::kind::{MacSupport, ObserverKind};
use crate::option::{ObserverOption, OptionValue};
use crate::pools;
use crate::reader::{PendingRead, SignalReader};

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "sql",
    watches: "a queue in a table, or another value in PostgreSQL",
    example: "observe.sql({ name: \"jobs\", url, query: \"select count(*) as pending from jobs where …\" })",
    alternatives: "",
    reports: "a signal for each numeric column: `jobs/pending`",
    options: &[
        ObserverOption { name: "url", takes: OptionValue::RequiredText, help: "the database" },
        ObserverOption { name: "query", takes: OptionValue::RequiredText, help: "one row of numbers, or rows of keys" },
        ObserverOption { name: "start", takes: OptionValue::Flow, help: "its rows are keys of journeys that have started" },
        ObserverOption { name: "stage", takes: OptionValue::FlowStage, help: "its rows are keys of journeys that have reached it" },
        ObserverOption { name: "finish", takes: OptionValue::Flow, help: "its rows are keys of journeys that have finished" },
    ],
    on_macos: MacSupport::Full,
    make: |description| Ok(Box::new(Sql::from_description(description)?)),
};

const NEW_KEYS: MetricSpec<'_> = MetricSpec::gauge("keys", unit::COUNT, "Keys that the previous reading did not return");

#[derive(Debug, thiserror::Error)]
enum SqlError {
    #[error(transparent)]
    Server(#[from] PostgresError),
    #[error("the query returned no row")]
    NoRow,
    #[error("the query's row has no numeric column")]
    NoNumber,
    #[error("the query's first column is the key, and is null in a row")]
    NullKey,
    #[error("the query's second column is seconds ago, and is null in a row")]
    NullSeconds,
    #[error("the query's second column is seconds ago: expected a number, got \"{0}\"")]
    NotSeconds(String),
}

#[derive(Debug)]
struct Sql {
    connection: PostgresConnection,
    query: String,
    keys: Option<JourneyKeys>,
}

/// The query's rows are keys, and how many seconds ago each came to this step.
#[derive(Debug)]
struct JourneyKeys {
    flow: u32,
    step: FlowStep,
    /// Keys of the last reading: the query's window overlaps from reading to reading.
    seen: HashSet<FlowKey>,
}

impl SignalReader for Sql {
    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        Box::pin(async { Ok(self.look(out).await?) })
    }

    /// The query searches keys of a fixed time window; a gap longer than the window would lose some.
    fn keeps_time(&self) -> bool {
        self.keys.is_some()
    }

    fn reset(&mut self) {
        self.connection.reset();
    }
}

impl Sql {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        let of = |option: &str, step: Option<FlowStep>| Some((description.flow(option)?, step?));
        let stage = description.flow_stage("stage").map(FlowStep::Stage);
        let given = [of("start", Some(FlowStep::Start)), of("stage", stage), of("finish", Some(FlowStep::Finish))];
        let mut given = given.into_iter().flatten();
        let step = given.next();
        if given.next().is_some() {
            return Err(description.problem("give one of start, stage and finish"));
        }
        Ok(Self {
            connection: PostgresConnection::from_description(description)?,
            query: description.required_text("query").to_owned(),
            keys: step.map(|(flow, step)| JourneyKeys { flow, step, seen: HashSet::new() }),
        })
    }

    /// # Errors
    /// When the query fails, or its result has the wrong form.
    async fn look(&mut self, out: &mut SignalCollector) -> Result<(), SqlError> {
        let client = self.connection.client().await?;
        let asked = Monotonic::start();
        let messages = client.simple_query(&self.query).await.map_err(PostgresError::doing("the query failed"))?;
        let mut rows = messages.iter().filter_map(|message| if let SimpleQueryMessage::Row(row) = message { Some(row) } else { None });
        match &mut self.keys {
            None => numbers(rows.next().ok_or(SqlError::NoRow)?, out),
            Some(keys) => keys.read(rows, asked, out),
        }
    }
}

fn numbers(row: &SimpleQueryRow, out: &mut SignalCollector) -> Result<(), SqlError> {
    let mut any = false;
    for (index, column) in row.columns().iter().enumerate() {
        if let Some(value) = row.get(index).and_then(|text| text.parse::<f64>().ok()) {
            any = true;
            let name = label(column.name());
            out.put_described(MetricSpec::gauge(&name, unit::COUNT, "Column of the query"), &[], value, pools::with_meaning);
        }
    }
    if any { Ok(()) } else { Err(SqlError::NoNumber) }
}

impl JourneyKeys {
    /// A row has a key and, in an optional second column, its age in seconds by the database's own clock; the default is 0. The age is
    /// relative to the instant when the query was `asked`, because a database's `now()` is the begin of the statement.
    fn read<'a>(
        &mut self,
        rows: impl Iterator<Item = &'a SimpleQueryRow>,
        asked: Monotonic,
        out: &mut SignalCollector,
    ) -> Result<(), SqlError> {
        let mut seen = HashSet::new();
        let mut new = 0;
        for row in rows {
            let key = FlowKey::of(row.get(0).ok_or(SqlError::NullKey)?);
            let seconds = match (row.len(), row.try_get(1).ok().flatten()) {
                (1, _) => 0.0,
                (_, Some(text)) => text.parse::<f64>().map_err(|_| SqlError::NotSeconds(text.to_owned()))?,
                (_, None) => return Err(SqlError::NullSeconds),
            };
            if !self.seen.contains(&key) && seen.insert(key) {
                new += 1;
                let ago = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX).as_nanos();
                let ago = Nanos::try_from(ago).unwrap_or(Nanos::MAX).saturating_add(asked.now());
                out.journey(FlowEvent { flow: self.flow, key, step: self.step, at: ago });
            }
            seen.insert(key);
        }
        self.seen = seen;
        out.put(NEW_KEYS, f64::from(new));
        Ok(())
    }
}
