//! Reads the options of `user.kafka(…)` and of `produce(…)`.

use loadstone_metrics::Tags;
use loadstone_protocol::kafka::{KafkaAcks, KafkaPacking, KafkaWriting};
use rquickjs::{Ctx, Value};

use crate::protocols::options::{duration, each, not_in, text, wrong};
use crate::tags;
use crate::unknown_options::{OptionSet, OptionsOfVerb};

static CLUSTER: OptionSet = OptionSet::new("a Kafka cluster", &["acks", "compression", "timeout"]);
static PRODUCE: OptionSet = OptionSet::new("produce(…)", &["name", "timeout", "tags", "acks", "compression"]);
pub(super) static RECORD: OptionSet = OptionSet::new("a record", &["key", "value", "json", "headers", "partition", "timestamp"]);

pub(super) const OPTIONS: &[OptionsOfVerb] = &[OptionsOfVerb { verb: "kafka", argument: 1, options: &CLUSTER }];

/// The options of `user.kafka`.
pub(super) struct KafkaOptions {
    pub(super) writing: KafkaWriting,
    pub(super) timeout_ns: Option<u64>,
}

impl KafkaOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, object: &Value<'js>) -> rquickjs::Result<Self> {
        let writing = KafkaWriting { acks: KafkaAcks::All, packing: KafkaPacking::Plain };
        let mut options = Self { writing, timeout_ns: None };
        each(ctx, Some(object), "kafka(…)", |key, value| {
            match key {
                "acks" => options.writing.acks = acks(ctx, &value)?,
                "compression" => options.writing.packing = packing(ctx, &value)?,
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
    pub(super) packing: Option<KafkaPacking>,
}

impl ProduceOptions {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, object: Option<&Value<'js>>) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        each(ctx, object, "the options of produce(…)", |key, value| {
            match key {
                "name" => options.name = Some(text(ctx, &value, "name")?),
                "timeout" => options.timeout_ns = Some(duration(ctx, &value, "timeout")?),
                "tags" => options.tags = tags::read(ctx, &value, &PRODUCE.of)?,
                "acks" => options.acks = Some(acks(ctx, &value)?),
                "compression" => options.packing = Some(packing(ctx, &value)?),
                other => return Err(not_in(ctx, other, &PRODUCE)),
            }
            Ok(())
        })?;
        Ok(options)
    }
}

/// The values of Kafka's setting of this name.
fn acks(ctx: &Ctx<'_>, value: &Value<'_>) -> rquickjs::Result<KafkaAcks> {
    let written = value.as_string().and_then(|text| text.to_string().ok());
    match (written.as_deref(), value.as_number()) {
        (Some("all"), _) => Ok(KafkaAcks::All),
        (_, Some(1.0)) => Ok(KafkaAcks::Leader),
        (_, Some(0.0)) => Ok(KafkaAcks::None),
        _ => Err(wrong(ctx, "acks: expected \"all\", 1 (the leader) or 0 (no acknowledgement)")),
    }
}

/// The names in Kafka's setting.
const PACKINGS: [(&str, KafkaPacking); 5] = [
    ("none", KafkaPacking::Plain),
    ("gzip", KafkaPacking::Gzip),
    ("snappy", KafkaPacking::Snappy),
    ("lz4", KafkaPacking::Lz4),
    ("zstd", KafkaPacking::Zstd),
];

fn packing(ctx: &Ctx<'_>, value: &Value<'_>) -> rquickjs::Result<KafkaPacking> {
    let written = value.as_string().and_then(|text| text.to_string().ok());
    let known = PACKINGS.iter().find(|(name, _)| written.as_deref() == Some(name));
    known
        .map(|(_, packing)| *packing)
        .ok_or_else(|| wrong(ctx, "compression: expected \"none\", \"gzip\", \"snappy\", \"lz4\" or \"zstd\""))
}

/// As written in a script.
pub(super) fn packing_shown(packing: KafkaPacking) -> &'static str {
    PACKINGS.iter().find(|(_, known)| *known == packing).map_or("", |(name, _)| name)
}

/// For display.
pub(super) fn acks_shown(acks: KafkaAcks) -> &'static str {
    match acks {
        KafkaAcks::All => "all",
        KafkaAcks::Leader => "1",
        KafkaAcks::None => "0",
    }
}
