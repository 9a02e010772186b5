//! Any query with one row: each column that is a number becomes a signal.

use tokio_postgres::SimpleQueryMessage;

use crate::ObserveError;
use crate::description::Description;
use crate::postgres::Session;
use crate::readings::{Readings, label};

#[derive(Debug)]
pub(crate) struct Sql {
    session: Session,
    query: String,
}

impl Sql {
    pub(crate) fn from_description(description: &mut Description<'_>) -> Result<Self, ObserveError> {
        let session = Session::from_description(description)?;
        Ok(Self { session, query: description.required_text("query")?.to_owned() })
    }

    pub(crate) fn reset(&mut self) {
        self.session.reset();
    }

    /// # Errors
    /// When the query fails, has no row, or has no column that is a number.
    pub(crate) async fn read(&mut self, out: &mut Readings) -> Result<(), String> {
        let client = self.session.client().await?;
        let messages = client.simple_query(&self.query).await.map_err(|problem| crate::postgres::say("the query failed", &problem))?;
        let row = messages.iter().find_map(|message| if let SimpleQueryMessage::Row(row) = message { Some(row) } else { None });
        let row = row.ok_or("the query has no row")?;
        let mut any = false;
        for (index, column) in row.columns().iter().enumerate() {
            if let Some(value) = row.get(index).and_then(|text| text.parse::<f64>().ok()) {
                any = true;
                out.gauge(&label(column.name()), "1", "Column of the query", value);
            }
        }
        if any { Ok(()) } else { Err("the query's row has no column that is a number".to_owned()) }
    }
}
