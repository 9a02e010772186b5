//! `produce(…)`: records as a measured request.

use std::rc::Rc;

use loadstone_protocol::kafka::KafkaWriting;
use rquickjs::{Ctx, Promise, Value};

use super::conclude::{IssuedRecords, conclude};
use super::options::ProduceOptions;
use super::state::KafkaHandle;
use super::{records, shown};
use crate::protocols::http::state::HttpScenario;
use crate::protocols::messages::receive::AWAIT;
use crate::protocols::options::{text, wrong};
use crate::runtime::refusal::own_name;
use crate::runtime::step::MeasuredStep;

/// Kafka's limit.
const TOPIC_BYTES_MAX: usize = 249;

fn topic_of<'js>(ctx: &Ctx<'js>, topic: &Value<'js>) -> rquickjs::Result<String> {
    let topic = text(ctx, topic, "the topic")?;
    if topic.is_empty() || topic.len() > TOPIC_BYTES_MAX {
        return Err(wrong(ctx, &format!("the name of a topic has 1 to {TOPIC_BYTES_MAX} characters")));
    }
    Ok(topic)
}

/// `kafka.produce("orders", { key, value }, { name })`.
pub(super) fn produce<'js>(
    ctx: &Ctx<'js>,
    on: &KafkaHandle,
    topic: &Value<'js>,
    records: &Value<'js>,
    options: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    let user = &on.user;
    user.check_running(ctx, AWAIT)?;
    let step = || {
        let written = topic.as_string().and_then(|text| text.to_string().ok()).filter(|topic| topic.len() <= TOPIC_BYTES_MAX);
        let default_name = || written.map_or_else(|| "produce".to_owned(), |topic| format!("produce {topic}"));
        let name = own_name(options).unwrap_or_else(default_name);
        MeasuredStep::named(user, on.group.clone().or_else(|| user.group()), &name)
    };
    let read = || Ok((topic_of(ctx, topic)?, ProduceOptions::read(ctx, options)?, records::read(ctx, records)?));
    let (topic, options, records) = user.refusing(ctx, step, read)?;
    let writing = KafkaWriting { acks: options.acks.unwrap_or(on.writing.acks), packing: options.packing.unwrap_or(on.writing.packing) };
    let group = on.group.clone().or_else(|| user.group());
    let name = options.name.unwrap_or_else(|| format!("produce {topic}"));
    let step = MeasuredStep::named(user, group, &name).with_tags(user, &options.tags);
    step.note_place(ctx, user);
    let mut flight = step.in_flight(user);
    let timeout_ns = options.timeout_ns.unwrap_or(on.timeout_ns);
    let bytes_max = HttpScenario::of(user).body_bytes_max;
    let client = Rc::clone(&on.client);
    let network = Rc::clone(&user.worker.network);
    let shown = user.worker.sinks.exchanges.is_some().then(|| shown::records(&topic, &records, writing));
    let issued = IssuedRecords { step, client: Rc::clone(&client), shown };
    let work = async move {
        if network.limits_connections() && !client.is_connected() {
            network.admit().await;
        }
        flight.begin();
        let exchange = client.produce(&topic, &records, writing, timeout_ns, bytes_max).await;
        flight.end(exchange.times.ended);
        Box::new(exchange)
    };
    user.promise(ctx, work, move |ctx, user, exchange| conclude(ctx, user, issued, *exchange))
}
