//! Kafka: `user.kafka(…)`, which writes records, and `kafka.consume(…)`, whose functions receive the records that any client writes.
//!
//! Read `object` (what a script has of a cluster), then `produce` (records as a measured request) and `result`. Consumers belong to a test, not to
//! its users: `consumer` reads for them, and `stubs::handlers` calls their functions. Deliberately absent: the format on the wire
//! (`loadstone_protocol::kafka`).

mod conclude;
mod consumed;
mod consumer;
mod object;
mod open;
mod options;
mod produce;
mod records;
mod result;
mod shown;
mod state;

use rquickjs::{Class, Ctx, Function};

use consumed::ConsumedRecordObject;

use crate::inbound::ConsumerKind;
use crate::known_verbs::AddressOfVerb;
use crate::runtime::capability::{Capability, ModuleSource, Natives};
use crate::runtime::verb;
use crate::unknown_options::OptionsOfVerb;

pub(crate) struct KafkaClusters;

impl Capability for KafkaClusters {
    fn sources(&self) -> &'static [ModuleSource] {
        &[ModuleSource { id: "loadstone:kafka", text: include_str!("consume.ts"), exports: &["kafka"] }]
    }

    fn options(&self) -> &'static [OptionsOfVerb] {
        options::OPTIONS
    }

    fn addresses(&self) -> &'static [AddressOfVerb] {
        std::slice::from_ref(&open::ADDRESS)
    }

    fn consumers(&self) -> Option<&'static ConsumerKind> {
        Some(&consumer::CONSUMERS)
    }

    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        if let Some(record) = Class::<ConsumedRecordObject>::prototype(ctx)? {
            natives.extractable(record)?;
        }
        natives.native.set("kafkaAddress", Function::new(ctx.clone(), open::check)?)?;
        verb::install::<open::OpenKafka>(ctx, &natives.users)
    }
}
