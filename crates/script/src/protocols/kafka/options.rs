//! Reads the options of `user.kafka(…)` and of `produce(…)`.

use metrics::Tags;
use protocol::kafka::KafkaAcks;
use rquickjs::{Ctx, Value};

use crate::protocols::options::{duration, each, not_in, text, wrong};
use crate::tags;
use crate::unknown_options::{OptionSet, OptionsOfVerb};

static CLUSTER: OptionSet = OptionSet::new("a Kafka cluster", &["acks", "timeout"]);
static PRODUCE: OptionSet = OptionSet::new("produce(…)", &["name", "timeout", "tags", "acks"]);
pub(super) static RECORD: OptionSet = OptionSet::new("a record", &["key", "value", "json", "headers", "partition", "timestamp"]);

pub(super) const OPTIONS: &[OptionsOfVerb] = &[OptionsOfVerb { verb: "kafka", argument: 1, options: &CLUSTER }];

/// What `user.kafka` was told beside the URL.
pub(super) struct KafkaOptions {
    pub(super) acks: KafkaAcks,
    pub(super) timeout_ns: Option<u64>,
}

impl KafkaOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, given: &Value<'js>) -> rquickjs::Result<Self> {
        let mut options = Self { acks: KafkaAcks::All, timeout_ns: None };
        each(ctx, Some(given), "kafka(…)", |key, value| {
            match key {
                "acks" => options.acks = acks(ctx, &value)?,
                "timeout" => options.timeout_ns = Some(duration(ctx, &value, "timeout")?),
                other => return Err(not_in(ctx, other, &CLUSTER)),
            }
            Ok(())
        })?;
        Ok(options)
    }
}

/// How records are written and recorded.
#[derive(Default)]
pub(super) struct ProduceOptions {
    pub(super) name: Option<String>,
    pub(super) timeout_ns: Option<u64>,
    pub(super) tags: Tags,
    pub(super) acks: Option<KafkaAcks>,
}

impl ProduceOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, given: Option<&Value<'js>>) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        each(ctx, given, "the options of produce(…)", |key, value| {
            match key {
                "name" => options.name = Some(text(ctx, &value, "name")?),
                "timeout" => options.timeout_ns = Some(duration(ctx, &value, "timeout")?),
                "tags" => options.tags = tags::read(ctx, &value, &PRODUCE.of)?,
                "acks" => options.acks = Some(acks(ctx, &value)?),
                other => return Err(not_in(ctx, other, &PRODUCE)),
            }
            Ok(())
        })?;
        Ok(options)
    }
}

/// As Kafka's own setting is written.
fn acks(ctx: &Ctx<'_>, value: &Value<'_>) -> rquickjs::Result<KafkaAcks> {
    let written = value.as_string().and_then(|text| text.to_string().ok());
    match (written.as_deref(), value.as_number()) {
        (Some("all"), _) => Ok(KafkaAcks::All),
        (_, Some(1.0)) => Ok(KafkaAcks::Leader),
        (_, Some(0.0)) => Ok(KafkaAcks::None),
        _ => Err(wrong(ctx, "acks: expected \"all\", 1 (the leader) or 0 (nobody answers)")),
    }
}

/// As it is shown to people.
pub(super) fn acks_shown(acks: KafkaAcks) -> &'static str {
    match acks {
        KafkaAcks::All => "all",
        KafkaAcks::Leader => "1",
        KafkaAcks::None => "0",
    }
}
