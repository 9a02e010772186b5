//! Services that every gRPC stub offers in addition to its methods: the description of its services, and its health.

use std::collections::BTreeMap;

use bytes::Bytes;
use loadstone_stub::{Behaviour, GrpcAnswer, GrpcContent, GrpcMethodSpec, GrpcSource, GrpcTurns};
use prost_reflect::prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, FileDescriptor, MessageDescriptor, Value};

use crate::protocols::grpc::known;

/// The versions differ only in their names.
const REFLECTION: [&str; 2] =
    ["grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"];
const HEALTH: &str = "grpc.health.v1.Health/Check";
const HEALTH_WATCH: &str = "grpc.health.v1.Health/Watch";
const HEALTH_SERVICE: &str = "grpc.health.v1.Health";
/// `{ status: SERVING }`
const SERVING: &[u8] = &[8, 1];
/// A gRPC code.
const NOT_FOUND: i32 = 5;
const INVALID_ARGUMENT: u16 = 3;

/// Methods of a stub of these services, unless its test declares one of the same name. `declared`: those of the test.
pub(super) fn methods(pools: &[DescriptorPool], declared: &[GrpcMethodSpec]) -> Vec<(String, Behaviour)> {
    let serving = |turns| GrpcContent { source: GrpcSource::Fixed(GrpcAnswer::message(SERVING)), turns };
    let check = (HEALTH.to_owned(), Behaviour::new().grpc(serving(GrpcTurns::AtEnd)));
    // This health never changes. If the test has its own health check, this one must not contradict it.
    let is_ours = !declared.iter().any(|method| method.method == HEALTH);
    let watch = is_ours.then(|| (HEALTH_WATCH.to_owned(), Behaviour::new().grpc(serving(GrpcTurns::Watch))));
    let reflection = REFLECTION.into_iter().map(|name| {
        let pools = pools.to_vec();
        let source = GrpcSource::Function(Box::new(move |messages| describe(&pools, messages)));
        (name.to_owned(), Behaviour::new().grpc(GrpcContent { source, turns: GrpcTurns::EachMessage }))
    });
    std::iter::once(check).chain(watch).chain(reflection).collect()
}

fn describe(pools: &[DescriptorPool], messages: &[Bytes]) -> GrpcAnswer {
    let answered = messages.iter().map(|message| answer(pools, message)).collect::<Option<Vec<Bytes>>>();
    match answered {
        Some(messages) => GrpcAnswer { messages, ..GrpcAnswer::default() },
        None => GrpcAnswer::status(INVALID_ARGUMENT, "the stub does not support this request of server reflection"),
    }
}

fn answer(pools: &[DescriptorPool], question: &Bytes) -> Option<Bytes> {
    let question = DynamicMessage::decode(message("ServerReflectionRequest")?, question.clone()).ok()?;
    let text = |field: &str| {
        let value = question.has_field_by_name(field).then(|| question.get_field_by_name(field))??;
        value.as_str().map(str::to_owned)
    };
    let mut answer = DynamicMessage::new(message("ServerReflectionResponse")?);
    if let Some(name) = text("file_by_filename") {
        describe_files(&mut answer, pools.iter().find_map(|pool| pool.get_file_by_name(&name)), &name)?;
    } else if let Some(symbol) = text("file_containing_symbol") {
        describe_files(&mut answer, pools.iter().find_map(|pool| file_with(pool, &symbol)), &symbol)?;
    } else if text("list_services").is_some() {
        list_services(&mut answer, pools)?;
    } else {
        return None;
    }
    answer.set_field_by_name("original_request", Value::Message(question));
    Some(answer.encode_to_vec().into())
}

fn message(name: &str) -> Option<MessageDescriptor> {
    known::pool().get_message_by_name(&format!("grpc.reflection.v1.{name}"))
}

fn file_with(pool: &DescriptorPool, symbol: &str) -> Option<FileDescriptor> {
    let service = |name: &str| pool.get_service_by_name(name).map(|found| found.parent_file());
    let message = |name: &str| pool.get_message_by_name(name).map(|found| found.parent_file());
    let numbers = |name: &str| pool.get_enum_by_name(name).map(|found| found.parent_file());
    // The name of a method follows that of its service, the name of a field that of its message.
    let owner = || symbol.rsplit_once('.').and_then(|(owner, _)| service(owner).or_else(|| message(owner)));
    service(symbol).or_else(|| message(symbol)).or_else(|| numbers(symbol)).or_else(owner)
}

/// A file with all its imports.
fn describe_files(answer: &mut DynamicMessage, file: Option<FileDescriptor>, asked: &str) -> Option<()> {
    let Some(file) = file else {
        let mut error = DynamicMessage::new(message("ErrorResponse")?);
        error.set_field_by_name("error_code", Value::I32(NOT_FOUND));
        error.set_field_by_name("error_message", Value::String(format!("{asked} is unknown to this stub")));
        answer.set_field_by_name("error_response", Value::Message(error));
        return Some(());
    };
    let mut files: BTreeMap<String, FileDescriptor> = BTreeMap::new();
    let mut wanted = vec![file.clone()];
    while let Some(next) = wanted.pop() {
        if files.insert(next.name().to_owned(), next.clone()).is_none() {
            wanted.extend(next.dependencies());
        }
    }
    // The requested file comes first.
    let others = files.values().filter(|other| other.name() != file.name());
    let encoded = std::iter::once(&file).chain(others).map(|file| Value::Bytes(file.encode_to_vec().into()));
    let mut description = DynamicMessage::new(message("FileDescriptorResponse")?);
    description.set_field_by_name("file_descriptor_proto", Value::List(encoded.collect()));
    answer.set_field_by_name("file_descriptor_response", Value::Message(description));
    Some(())
}

fn list_services(answer: &mut DynamicMessage, pools: &[DescriptorPool]) -> Option<()> {
    let mut names: Vec<String> = pools.iter().flat_map(DescriptorPool::services).map(|service| service.full_name().to_owned()).collect();
    names.push(HEALTH_SERVICE.to_owned());
    names.sort();
    names.dedup();
    let named = |name: String| {
        let mut service = DynamicMessage::new(message("ServiceResponse")?);
        service.set_field_by_name("name", Value::String(name));
        Some(Value::Message(service))
    };
    let mut list = DynamicMessage::new(message("ListServiceResponse")?);
    list.set_field_by_name("service", Value::List(names.into_iter().map(named).collect::<Option<_>>()?));
    answer.set_field_by_name("list_services_response", Value::Message(list));
    Some(())
}
